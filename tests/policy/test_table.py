import pytest
from attrs import evolve

from slotd.policy.table import (
    EngineShape,
    SlotRow,
    blank,
    cost,
    expired,
    group,
    holds_history,
    invalid,
    load,
    order,
    protected,
    slot_retention,
    slot_score,
    slot_ttl_left,
    slot_value,
    worth_keeping,
)
from slotd.policy.values import base, retention
from tests.policy.builders import FOUR_ALONE, LONG_AGO, PADDED, SIX_IN_THREE, busy, row, table


@pytest.mark.parametrize("lost", [row(0, 9_000, valid=False), row(0, 9_000, images=True)])
def test_invalid_is_a_lost_state_and_pictures(lost: SlotRow) -> None:
    assert invalid(table(), lost)
    assert not holds_history(table(), lost)
    assert not invalid(table(), row(0, 9_000))


def test_without_slot_cache_every_slot_is_invalid() -> None:
    without = table(engine=evolve(SIX_IN_THREE, slot_cache=False))
    assert invalid(without, row(0, 9_000))
    assert blank(without, row(0, 9_000))


@pytest.mark.parametrize(
    "nothing",
    [
        row(0),
        row(0, 9_000, valid=False),
        row(0, 9_000, images=True),
        row(0, 9_000, superseded=True),
    ],
)
def test_blank_counts_as_expired_and_worth_nothing(nothing: SlotRow) -> None:
    assert blank(table(), nothing)
    assert expired(table(), nothing)
    assert not protected(table(), nothing)
    assert not worth_keeping(table(expired_keep_score=0), nothing)
    assert slot_value(table(), nothing) == 0
    assert slot_retention(table(), nothing) == 0
    assert slot_ttl_left(table(), nothing) == 0
    assert slot_score(table(), nothing) == 1


def test_a_superseded_copy_is_still_a_history() -> None:
    assert holds_history(table(), row(0, 9_000, superseded=True))


def test_protected_until_the_age_reaches_the_ttl() -> None:
    assert protected(table(), row(0, 8_000, age=9.999))
    assert slot_ttl_left(table(), row(0, 8_000, age=7.5)) == 2.5
    assert expired(table(), row(0, 8_000, age=10.0))
    assert slot_ttl_left(table(), row(0, 8_000, age=11.0)) == 0


def test_worth_keeping_is_a_value_of_the_keep_score_or_more() -> None:
    history = row(0, 8_000, age=10.0)
    worth = slot_value(table(), history)
    assert worth == base(8_000) / 4
    assert worth_keeping(table(expired_keep_score=worth), history)
    assert not worth_keeping(table(expired_keep_score=worth * 1.001), history)


def test_group_holds_the_slots_from_its_number_times_its_size() -> None:
    assert [group(table(), row(slot)) for slot in range(6)] == [0, 0, 1, 1, 2, 2]


def test_load_counts_the_groups_busy_and_yielded_slots() -> None:
    loaded = table(*busy(0, 1), row(3, 500, state="yielded"))
    assert [load(loaded, each) for each in loaded.slots] == [2, 2, 1, 1, 0, 0]


def test_one_group_has_no_load() -> None:
    loaded = table(*busy(0, 1), engine=FOUR_ALONE)
    assert [load(loaded, each) for each in loaded.slots] == [0, 0, 0, 0]


def test_order_spreads_over_the_groups() -> None:
    spread = table()
    assert [each.slot for each in sorted(spread.slots, key=lambda each: order(spread, each))] == [
        0,
        2,
        4,
        1,
        3,
        5,
    ]


def test_order_of_one_group_is_the_slots_own() -> None:
    alone = table(engine=FOUR_ALONE)
    assert [each.slot for each in sorted(alone.slots, key=lambda each: order(alone, each))] == [
        0,
        1,
        2,
        3,
    ]


def test_cost_is_the_retention_of_protected_idle_histories_below_in_the_group() -> None:
    padded = table(row(2, 50_000, age=10.0), row(3, 9_000), engine=PADDED)
    kept = retention(50_000, 10.0, padded.settings)
    assert [cost(padded, each) for each in padded.slots] == [0, 0, 0, kept, 0, 0]


@pytest.mark.parametrize(
    "below",
    [
        row(2, 50_000, age=LONG_AGO),
        row(2, 50_000, superseded=True),
        row(2, 50_000, valid=False),
        row(2, 50_000, state="busy"),
    ],
)
def test_cost_counts_no_other_slot_below(below: SlotRow) -> None:
    padded = table(below, engine=PADDED)
    assert cost(padded, padded.slots[3]) == 0


@pytest.mark.parametrize("engine", [SIX_IN_THREE, evolve(PADDED, batch_groups=1)])
def test_cost_is_0_when_padding_is_safe_or_there_is_one_group(engine: EngineShape) -> None:
    safe = table(row(2, 50_000), engine=engine)
    assert cost(safe, safe.slots[3]) == 0
