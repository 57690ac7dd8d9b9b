import pytest
from attrs import evolve

from slotd.policy.match import Hint, checkpoint_match, hint, main_match, match
from slotd.policy.table import RequestRow, SlotRow, Table
from tests.policy.builders import (
    SIX_IN_THREE,
    bgen,
    gen,
    main_row,
    matching,
    row,
    table,
)

NOTHING = Hint(0, None)


def matches(of: Table) -> list[int]:
    return [match(of, each) for each in of.slots]


def test_match_is_the_length_of_a_history_the_prompt_continues() -> None:
    assert matches(table(row(0), matching(1, 30_000), row(2, 30_000, shared=29_999))) == [
        0,
        30_000,
        0,
        0,
        0,
        0,
    ]


def test_match_needs_a_proper_prefix() -> None:
    assert matches(table(matching(0, 9_000), request=bgen(9_000)))[0] == 0
    assert matches(table(matching(0, 9_000), request=bgen(9_001)))[0] == 9_000


def test_match_counts_a_superseded_copy() -> None:
    assert matches(table(matching(0, 9_000, superseded=True)))[0] == 9_000


@pytest.mark.parametrize(
    ("slot", "request_row"),
    [
        (matching(0, 9_000, state="busy"), bgen()),
        (matching(0, 9_000, state="yielded"), bgen()),
        (matching(0, 9_000, valid=False), bgen()),
        (matching(0, 9_000, images=True), bgen()),
        (matching(0, 9_000), bgen(images=True)),
        (matching(0, 9_000, cvec=0), bgen()),
        (matching(0, 9_000), bgen(cvec=0)),
        (matching(0, 0), bgen()),
    ],
)
def test_match_is_0_when_the_engine_would_not_resume_the_slot(
    slot: SlotRow, request_row: RequestRow
) -> None:
    of = table(slot, request=request_row)
    assert matches(of)[0] == 0
    assert hint(of) == NOTHING


def test_match_of_equal_cvec_0() -> None:
    assert matches(table(matching(0, 9_000, cvec=0), request=bgen(cvec=0)))[0] == 9_000


def test_hint_is_the_longest_match() -> None:
    assert hint(table(matching(1, 9_000), matching(4, 9_500))) == Hint(9_500, 4)


def test_hint_of_equal_matches_is_the_lowest_slots() -> None:
    assert hint(table(matching(4, 9_000), matching(1, 9_000))) == Hint(9_000, 1)


def test_hint_counts_a_main_session_the_prompt_continues() -> None:
    main = main_row(9_400, shared=9_400)
    assert hint(table(matching(1, 9_000), main=main)) == Hint(9_400, None)
    assert hint(table(matching(1, 9_400), main=main)) == Hint(9_400, None)
    assert hint(table(matching(1, 9_401), main=main)) == Hint(9_401, 1)


@pytest.mark.parametrize(
    ("facts", "request_row"),
    [
        ({"shared": 8_999}, gen()),
        ({"shared": 9_000}, gen(9_000)),
        ({"shared": 9_000, "images": True}, gen()),
        ({"shared": 9_000}, gen(images=True)),
        ({"shared": 9_000, "cvec": 0}, gen()),
    ],
)
def test_hint_does_not_count_another_main_session(
    facts: dict[str, int | bool], request_row: RequestRow
) -> None:
    of = table(main=main_row(9_000, **facts), request=request_row)
    assert main_match(of) == 0
    assert hint(of) == NOTHING


def test_hint_counts_reported_checkpoints_where_no_slot_matches() -> None:
    slot = row(2, 43_379, shared=43_340, checkpoints=(32_768, 43_340, 43_372))
    assert hint(table(slot)) == Hint(43_340, 2)
    assert hint(table(slot, matching(0, 500))) == Hint(500, 0)


def test_hint_prefers_a_longer_main_session_to_a_checkpoint() -> None:
    slot = row(2, 43_379, shared=43_340, checkpoints=(32_768,))
    assert hint(table(slot, main=main_row(33_000, shared=33_000))) == Hint(33_000, None)
    assert hint(table(slot, main=main_row(32_000, shared=32_000))) == Hint(32_768, 2)


def test_checkpoint_match_is_shorter_than_the_prompt_and_not_than_1() -> None:
    slot = row(2, 9_000, shared=8_000, checkpoints=(0, 4_000, 8_000))
    ended = table(slot, request=bgen(8_000))
    assert checkpoint_match(ended, slot) == 4_000
    assert checkpoint_match(table(slot, request=bgen(8_001)), slot) == 8_000
    assert checkpoint_match(table(slot, request=bgen(4_000)), slot) == 0


@pytest.mark.parametrize(
    "facts", [{"state": "busy"}, {"valid": False}, {"images": True}, {"cvec": 0}]
)
def test_checkpoint_match_has_the_conditions_of_a_match(facts: dict[str, object]) -> None:
    slot = row(2, 9_000, shared=8_000, checkpoints=(4_000,), **facts)
    assert checkpoint_match(table(slot), slot) == 0
    assert hint(table(slot)) == NOTHING


def test_without_slot_cache_nothing_is_resumed_from_a_slot() -> None:
    engine = evolve(SIX_IN_THREE, slot_cache=False)
    slots = (matching(0, 9_000), row(1, 9_000, shared=8_000, checkpoints=(4_000,)))
    assert hint(table(*slots, engine=engine)) == NOTHING
