"""Where a park goes whose window costs idle slots below it their state, and the rows put low."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from slotd.core.history import History
from slotd.policy.pad_rows import survives, value_lost
from slotd.policy.park import Park, admits_park, park
from slotd.policy.place import Placement, place
from slotd.policy.table import EngineShape, SlotRow, Table, group, protected, slot_value
from slotd.policy.table_json import table_from_json, table_to_json
from tests.core.transcript import ids
from tests.emulated_park.transcript import HELD, LONG, parking
from tests.policy.builders import LONG_AGO, PADDED, busy, gen, main_row, row, table

PARKS = evolve(PADDED, park_admits=True)
"""Six slots in three groups whose windows pad rows; parks are admissions of slotd's own."""
LOW = evolve(PARKS, low_rows=True)
MAIN = main_row(40_000)
NOWHERE = Placement(None, "solo", None, 0, None)
FULL = [row(slot, 30_000) for slot in range(6)]
"""Every slot holds a protected history."""


def parked(*rows: SlotRow, placement: Placement = NOWHERE, main: int = 40_000) -> Park | None:
    return park(table(*rows, engine=PARKS, main=main_row(main)), placement)


def into(slot: int) -> Placement:
    return Placement(slot, "reclaim", None, 0, 1.0)


def others(*given: SlotRow) -> list[SlotRow]:
    """Slots a test does not mention hold a protected history."""
    said = {each.slot for each in given}
    return [*given, *(each for each in FULL if each.slot not in said)]


def test_a_slot_below_one_at_work_is_never_taken() -> None:
    assert parked(*others(row(2), *busy(3))) == Park(None, "no_slot")
    assert parked(*others(row(3), *busy(2))) == Park(3, "reclaim")


def test_nor_one_below_a_read_that_gave_way() -> None:
    assert parked(*others(row(2), row(3, 900, state="yielded"))) == Park(None, "no_slot")


def test_nor_one_below_the_requests_own_slot() -> None:
    assert parked(*others(row(2), row(3)), placement=into(3)) == Park(None, "no_slot")
    assert parked(*others(row(2), row(3)), placement=into(2)) == Park(3, "reclaim")


def test_nor_one_whose_window_would_pad_a_protected_history() -> None:
    assert parked(*others(row(3))) == Park(None, "no_slot")
    expired = row(2, 2_000, age=LONG_AGO)
    assert parked(*others(row(3), expired), placement=into(2)) == Park(3, "reclaim")


def test_what_is_padded_counts_as_overwritten() -> None:
    """An expired history worth keeping goes where the main session's is worth twice as much."""
    worth = row(2, 20_000, age=40.0)
    assert parked(*others(row(3), worth), main=12_000) == Park(3, "reclaim")
    assert parked(*others(row(3), worth), main=9_000) == Park(None, "no_slot")
    assert parked(*others(row(3), worth), placement=into(2), main=9_000) == Park(3, "reclaim")


def test_nor_one_that_would_pad_what_the_request_is_restored_from() -> None:
    source = row(2, 2_000, age=LONG_AGO)
    restored = Placement(0, "continue", 2, 2_000, 1.0)
    assert parked(*others(row(3), source), placement=restored) == Park(None, "no_slot")


def test_nor_one_that_would_pad_a_read_that_gave_way() -> None:
    assert parked(*others(row(3), row(2, 900, state="yielded"))) == Park(None, "no_slot")


def test_the_conversations_own_older_copy_is_bound_by_the_same() -> None:
    older = row(2, 20_000, shared_main=20_000)
    assert parked(*others(older)) == Park(2, "older")
    assert parked(*others(older, *busy(3))) == Park(None, "no_slot")
    above = row(3, 20_000, shared_main=20_000)
    assert parked(*others(above)) == Park(None, "no_slot")


def test_engines_that_pad_no_rows_park_as_ever() -> None:
    for engine in (PARKS, evolve(PARKS, slot_padding_safe=True), evolve(PARKS, batch_groups=1)):
        rows = others(row(2), *busy(3))
        expected = Park(None, "no_slot") if engine.pads_rows else Park(2, "reclaim")
        assert park(table(*rows, engine=engine, main=MAIN), NOWHERE) == expected
    native = evolve(PARKS, park_admits=False)
    assert park(table(*others(row(2), *busy(3)), engine=native, main=MAIN), NOWHERE) == Park(
        2, "reclaim"
    )


SLOTS = st.builds(
    lambda state, tokens, age, shared: {"state": state, "tokens": tokens, "age": age, **shared},
    st.sampled_from(["idle", "idle", "idle", "busy", "yielded"]),
    st.sampled_from([0, 600, 2_500, 9_000, 37_000]),
    st.sampled_from([0.0, 5.0, 30.0, 400.0]),
    st.sampled_from([{}, {"valid": False}, {"shared_main": 600}]),
)


@given(st.lists(SLOTS, min_size=6, max_size=6), st.sampled_from([2, 3]), st.booleans())
def test_a_park_never_costs_or_loses_what_it_must_not(
    facts: list[dict[str, Any]], groups: int, low: bool
) -> None:
    engine = evolve(PARKS, batch_groups=groups, low_rows=low)
    rows = [row(slot, **each) for slot, each in enumerate(facts)]
    of = table(*rows, engine=engine, main=MAIN)
    placement = place(of)
    chosen = park(of, placement)
    if chosen is None or chosen.slot is None:
        return
    mine = of.slots[chosen.slot]
    assert admits_park(of, MAIN, mine, placement)
    for other in of.slots:
        if group(of, other) != group(of, mine):
            continue
        if other.slot > mine.slot:
            assert other.idle
            assert other.slot != placement.slot
        elif other.slot < mine.slot and other.slot != placement.slot:
            assert other.state != "yielded"
            assert not (other.idle and protected(of, other))


def placed(*rows: SlotRow, engine: EngineShape = LOW) -> int | None:
    return place(table(*rows, engine=engine)).slot


def test_low_rows_put_a_request_low_although_a_higher_slot_holds_less() -> None:
    rows = [row(slot, 2_000, age=LONG_AGO) for slot in (0, 2, 4)]
    assert placed(*rows, engine=PARKS) == 1
    assert placed(*rows) == 0


def test_what_is_worth_keeping_still_goes_last() -> None:
    rows = [row(slot, 20_000, age=100.0) for slot in (0, 2, 4)]
    assert placed(*rows, engine=PARKS) == 1
    # Above a history worth keeping it would be lost as well: no slot is better than the lowest.
    assert placed(*rows) == 0
    assert placed(*rows[1:]) == 0


def test_load_goes_before_height() -> None:
    assert placed(*busy(0, 2)) == 4
    assert placed(*busy(0, 2, 4)) == 1


def test_every_loss_counts_where_everything_is_protected() -> None:
    rows = [row(slot, 30_000 if slot % 2 else 31_000) for slot in range(6)]
    assert placed(*rows) == 0
    lost = table(*rows, engine=LOW)
    assert value_lost(lost, lost.slots[1]) == pytest.approx(
        slot_value(lost, lost.slots[0]) + slot_value(lost, lost.slots[1])
    )


def test_parks_go_high() -> None:
    of = table(engine=LOW, main=MAIN, request=gen())
    assert park(of, NOWHERE) == Park(1, "reclaim")
    assert park(evolve(of, engine=PARKS), NOWHERE) == Park(0, "reclaim")


def test_low_rows_change_nothing_where_no_rows_are_padded() -> None:
    safe = evolve(LOW, slot_padding_safe=True)
    rows = [row(slot, 2_000, age=LONG_AGO) for slot in (0, 2, 4)]
    assert placed(*rows, engine=safe) == 1


def test_what_is_above_survives() -> None:
    of = table(*busy(2), engine=PARKS)
    assert survives(of, of.slots[3], None)
    assert not survives(of, of.slots[4], 5)
    assert survives(of, of.slots[5], 4)


def test_the_log_says_how_a_park_is_carried_out_only_where_it_matters() -> None:
    for engine in (LOW, PARKS, PADDED):
        of: Table = table(engine=engine, main=MAIN)
        written = table_to_json(of)
        assert table_from_json(written) == of
        named = written["engine"]
        assert isinstance(named, dict)
        assert ("park_admits" in named) == engine.park_admits
        assert ("low_rows" in named) == engine.low_rows


PADS = "batch_slots=4 batch_groups=2 slot_cache=1"


def test_the_window_of_slotds_own_request_costs_what_is_below_it() -> None:
    talk = parking(PADS)
    talk.model.slots[2].history = History(ids("[50000..51000]"))
    talk.model.slots[2].valid = True
    for number in (0, 1):
        talk.model.slots[number].decode_unknown()
    talk.act(f">> GEN 5 1,2,3\n> BGEN 3 2 {LONG},500\n<< RESUME {HELD}\n<< T 600")
    assert talk.slot(2).valid
    talk.act(f"<< DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}\n<< BADM 3 1\n> BSTOP 3\n<< BT 3 601")
    assert not talk.slot(2).valid
