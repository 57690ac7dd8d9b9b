from typing import Any

import pytest
from attrs import evolve

from slotd.policy.decide import Decision, RetentionDecider
from slotd.policy.park import Park, park
from slotd.policy.place import Placement, place, reclaim_order
from slotd.policy.table import MainRow, SlotRow, Table, expired
from slotd.policy.values import value
from tests.policy.builders import (
    LONG_AGO,
    PADDED,
    SIX_IN_THREE,
    bgen,
    busy,
    gen,
    main_row,
    matching,
    row,
    table,
)

SOLO = Placement(None, "solo", source=None, hint=0, score=None)


def parked(*rows: SlotRow, main: MainRow, **settings: Any) -> Park | None:
    """What happens to `main` when a solo request of another conversation replaces it."""
    return park(table(*rows, main=main, request=gen(300), **settings), SOLO)


# -- nothing to park ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "main", [None, main_row(0), main_row(37_000, images=True), main_row(37_000, shared=37_000)]
)
def test_nothing_to_park_when_no_conversation_is_lost(main: MainRow | None) -> None:
    assert park(table(main=main, request=gen(50_000)), SOLO) is None


def test_nothing_to_park_without_slot_park() -> None:
    engine = evolve(SIX_IN_THREE, slot_park=False)
    assert park(table(main=main_row(37_000), engine=engine, request=gen(300)), SOLO) is None


def test_the_prompt_continues_the_main_session_up_to_its_last_turn() -> None:
    # The reply came back without its thinking, or is generated again.
    assert parked(main=main_row(37_000, shared=36_000, last_turn=36_000)) is None
    assert parked(main=main_row(37_000, shared=35_999, last_turn=36_000)) == Park(0, "reclaim")


def test_without_a_turn_token_any_difference_is_another_conversation() -> None:
    assert parked(main=main_row(37_000, shared=36_999)) == Park(0, "reclaim")


def test_a_shared_system_prompt_does_not_make_one_conversation() -> None:
    assert parked(main=main_row(30_000, shared=20_000, last_turn=29_500)) == Park(0, "reclaim")


# -- no park, with a reason -----------------------------------------------------------------------


def test_main_low_value_below_the_least_worth_parking() -> None:
    assert parked(main=main_row(5_000)) == Park(0, "reclaim")
    assert parked(main=main_row(2_000, age=10.0)) == Park(None, "main_low_value")


def test_main_low_value_follows_the_idle_age() -> None:
    twenty, twenty_five = main_row(50_000, age=1_200.0), main_row(50_000, age=1_500.0)
    assert parked(main=twenty, park_min_value=0.1) == Park(0, "reclaim")
    assert parked(main=twenty_five, park_min_value=0.1) == Park(None, "main_low_value")
    assert parked(main=twenty_five) == Park(0, "reclaim")


def test_a_value_of_just_the_least_is_parked() -> None:
    worth = value(37_000, 0.0, table().settings)
    assert parked(main=main_row(37_000), park_min_value=worth) == Park(0, "reclaim")


def test_main_low_value_comes_before_kept() -> None:
    slot = row(0, 2_000, shared_main=2_000)
    assert parked(slot, main=main_row(2_000, age=10.0)) == Park(None, "main_low_value")


@pytest.mark.parametrize("state", ["idle", "busy", "yielded"])
def test_kept_by_a_slot_that_holds_the_share_of_it(state: str) -> None:
    main = main_row(10_000)
    holds = row(2, 20_000, shared_main=9_800, state=state, superseded=True, cvec=0)
    assert parked(holds, main=main) == Park(None, "kept")
    assert parked(evolve(holds, shared_main=9_799), main=main) == Park(0, "reclaim")


@pytest.mark.parametrize("facts", [{"valid": False}, {"images": True}])
def test_kept_counts_valid_histories_only(facts: dict[str, bool]) -> None:
    lost = row(2, 10_000, shared_main=10_000, **facts)
    assert parked(lost, main=main_row(10_000)) == Park(0, "reclaim")


def test_an_empty_slot_keeps_nothing_at_share_0() -> None:
    assert parked(main=main_row(10_000), park_kept_share=0) == Park(0, "reclaim")
    assert parked(row(5, 9), main=main_row(10_000), park_kept_share=0) == Park(None, "kept")


def test_no_slot_when_every_slot_is_protected_or_busy() -> None:
    slots = [row(slot, 50_000) for slot in range(5)]
    assert parked(*slots, *busy(5), main=main_row(37_000)) == Park(None, "no_slot")


# -- older ----------------------------------------------------------------------------------------


def test_older_is_the_longest_history_the_main_session_begins_with() -> None:
    slots = (row(1, 20_000, shared_main=20_000), row(2, 30_000, shared_main=30_000))
    assert parked(*slots, main=main_row(37_000)) == Park(2, "older")


def test_older_may_be_protected_superseded_and_of_another_cvec() -> None:
    copy = row(1, 20_000, shared_main=20_000, superseded=True, cvec=0)
    assert parked(copy, main=main_row(37_000)) == Park(1, "older")


def test_older_of_equal_length_is_the_first_in_order() -> None:
    slots = (row(1, 20_000, shared_main=20_000), row(4, 20_000, shared_main=20_000))
    assert parked(*slots, main=main_row(37_000)) == Park(4, "older")


@pytest.mark.parametrize("facts", [{"state": "busy"}, {"state": "yielded"}, {"valid": False}])
def test_older_is_a_valid_idle_history(facts: dict[str, object]) -> None:
    copy = row(1, 20_000, shared_main=20_000, **facts)
    taken = parked(copy, main=main_row(37_000))
    assert taken is not None
    assert taken.reason == "reclaim"


def test_an_empty_slot_is_no_older_copy() -> None:
    expired_slots = [row(slot, 900, age=LONG_AGO) for slot in range(5)]
    assert parked(*expired_slots, row(5), main=main_row(37_000)) == Park(5, "reclaim")


# -- sibling --------------------------------------------------------------------------------------


def test_sibling_is_the_version_that_shares_the_most() -> None:
    slots = (row(1, 20_000, shared_main=19_900), row(2, 20_200, shared_main=19_950))
    assert parked(*slots, main=main_row(37_000)) == Park(2, "sibling")


def test_sibling_of_equals_is_the_first_in_order() -> None:
    slots = (row(1, 20_000, shared_main=19_900), row(4, 20_000, shared_main=19_900))
    assert parked(*slots, main=main_row(37_000)) == Park(4, "sibling")


def test_sibling_comes_after_an_older_copy() -> None:
    slots = (row(1, 500, shared_main=500), row(2, 20_000, shared_main=19_900))
    assert parked(*slots, main=main_row(37_000)) == Park(1, "older")


def test_sibling_share_is_of_the_slots_own_length_and_0_is_off() -> None:
    version = row(2, 20_000, shared_main=19_600)
    main = main_row(37_000)
    assert parked(version, main=main) == Park(2, "sibling")
    assert parked(evolve(version, shared_main=19_599), main=main) == Park(0, "reclaim")
    assert parked(version, main=main, sibling_share=0) == Park(0, "reclaim")


# -- reclaim --------------------------------------------------------------------------------------


def test_reclaim_takes_a_history_worth_keeping_for_one_worth_the_ratio() -> None:
    slots = [row(slot, 12_900, age=100.0) for slot in range(6)]
    main = main_row(42_100, age=60.0)
    worth = value(42_100, 60.0, table().settings)
    ratio = worth / value(12_900, 100.0, table().settings)
    assert parked(*slots, main=main, park_value_ratio=ratio * 0.999) == Park(0, "reclaim")
    assert parked(*slots, main=main, park_value_ratio=ratio * 1.001) == Park(None, "no_slot")


def test_reclaim_at_ratio_0_never_takes_a_history_worth_keeping() -> None:
    slots = [row(slot, 12_900, age=100.0) for slot in range(6)]
    main = main_row(100_000)
    assert parked(*slots, main=main, park_value_ratio=0) == Park(None, "no_slot")
    slots[3] = row(3, 500, age=100.0)
    assert parked(*slots, main=main, park_value_ratio=0) == Park(3, "reclaim")


def test_reclaim_looks_for_a_cheaper_slot_than_the_first_of_the_order() -> None:
    # Slot 3, of the least loaded group, is worth too much; the ratio allows slot 1.
    expired_slots = (row(1, 12_900, age=100.0), row(3, 42_100, age=70.0))
    others = (*busy(0), row(2, 50_000), row(4, 50_000), row(5, 50_000))
    assert parked(*expired_slots, *others, main=main_row(15_000)) == Park(1, "reclaim")
    assert parked(*expired_slots, *others, main=main_row(50_000)) == Park(3, "reclaim")


def test_reclaim_never_takes_another_protected_slot() -> None:
    slots = [row(slot, 600) for slot in range(6)]
    assert parked(*slots, main=main_row(200_000)) == Park(None, "no_slot")


def test_reclaim_of_a_park_ignores_what_a_row_costs() -> None:
    slots = (row(0, 50_000), *busy(2, 3, 4, 5))
    of = table(*slots, main=main_row(37_000), request=gen(300), engine=PADDED)
    assert park(of, SOLO) == Park(1, "reclaim")


@pytest.mark.parametrize(
    "slots",
    [
        [row(slot, 900 + slot, age=LONG_AGO) for slot in range(6)],
        [*busy(0, 2), row(1), row(3, 700, age=600.0), row(4, 800, age=600.0), row(5, 9_000)],
        [row(slot, 9_000, age=1_700.0 - slot) for slot in range(6)],
    ],
)
def test_place_and_park_share_one_reclaim_order(slots: list[SlotRow]) -> None:
    of = table(*slots, main=main_row(200_000), request=bgen(300))
    placement = place(of)
    assert placement.reason == "reclaim"
    assert park(of, SOLO) == Park(placement.slot, "reclaim")
    first = reclaim_order(of, [each for each in of.slots if each.idle and expired(of, each)])
    assert first is not None
    assert first.slot == placement.slot


# -- where a park never goes ----------------------------------------------------------------------


def test_never_into_the_admissions_slot() -> None:
    of = table(main=main_row(37_000), request=bgen(300))
    decision = RetentionDecider().decide(of)
    assert decision == Decision(Placement(0, "reclaim", None, 0, 1.0), Park(2, "reclaim"))


def test_never_into_the_slot_the_request_restores_from() -> None:
    def decided(of: Table) -> Park | None:
        return RetentionDecider().decide(of).park

    slots = (matching(0, 9_000, shared_main=9_000), row(1, 8_000, shared_main=8_000))
    main = main_row(37_000, shared=9_000)
    assert decided(table(*slots, main=main, request=gen(9_500))) == Park(1, "older")
    checkpoint = row(0, 9_000, shared=8_500, shared_main=9_000, checkpoints=(8_400,))
    of = table(checkpoint, main=main_row(37_000, shared=8_500), request=gen(9_500))
    assert decided(of) == Park(2, "reclaim")


def test_never_into_either_end_of_a_spread() -> None:
    of = table(
        *busy(1),
        matching(0, 9_000, shared_main=9_000, age=LONG_AGO),
        *[row(slot, 50_000) for slot in (3, 4, 5)],
        main=main_row(37_000, shared=9_000),
    )
    decision = RetentionDecider().decide(of)
    assert (decision.placement.slot, decision.placement.source) == (2, 0)
    assert decision.park == Park(None, "no_slot")


def test_never_into_a_busy_slot() -> None:
    of = table(*busy(0, 1, 2, 3, 4, 5), main=main_row(37_000), request=bgen(300))
    decision = RetentionDecider().decide(of)
    assert decision.placement.reason == "none_idle"
    assert decision.park == Park(None, "no_slot")


# -- kept, and the checkpoint where two versions part ----------------------------------------------


def versions(checkpoints: tuple[int, ...], branches: tuple[int, ...]) -> Park | None:
    """What happens to a query of which a slot holds the version before it, 39 tokens apart."""
    held = row(2, 43_387, age=60, shared_main=43_340, checkpoints=checkpoints)
    return parked(held, main=main_row(43_631, branches=branches))


def test_kept_where_no_checkpoint_is_lost() -> None:
    assert versions((32_768, 43_376), ()) == Park(None, "kept")
    assert versions((32_768, 43_340), (43_340,)) == Park(None, "kept")


def test_not_kept_where_only_the_main_session_has_the_checkpoint_they_part_at() -> None:
    assert versions((32_768, 43_376), (43_340,)) == Park(2, "sibling")


def test_kept_where_the_engine_reports_no_checkpoints() -> None:
    # A slot then has just the deepest one, and the place they part at is not it.
    assert versions((), (43_340,)) == Park(None, "kept")
