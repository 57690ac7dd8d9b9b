import pytest
from attrs import evolve

from slotd.policy.place import Placement, place
from slotd.policy.table import EngineShape, RequestRow, SlotRow
from slotd.policy.values import overwrite_score
from tests.policy.builders import (
    FOUR_ALONE,
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


def chosen(placement: Placement) -> tuple[int | None, str]:
    return placement.slot, placement.reason


def protected_slots(*ages: float, tokens: int = 50_000) -> list[SlotRow]:
    """Slots of histories of their own that nothing may take before another."""
    return [row(slot, tokens, age=age) for slot, age in enumerate(ages)]


# -- continue and spread ------------------------------------------------------------------------


def test_continue_takes_the_slot_of_the_conversation() -> None:
    of = table(matching(3, 37_000, age=20.0))
    assert place(of) == Placement(
        slot=3,
        reason="continue",
        source=3,
        hint=37_000,
        score=overwrite_score(37_000, 20.0, of.settings),
    )


def test_continue_takes_a_history_worth_nothing() -> None:
    assert chosen(place(table(matching(3, 300, age=LONG_AGO)))) == (3, "continue")


def test_continue_takes_the_longest_of_equally_loaded_matches() -> None:
    assert chosen(place(table(matching(0, 30_000), matching(2, 30_010)))) == (2, "continue")


def test_continue_of_equal_matches_takes_the_first_in_order() -> None:
    assert chosen(place(table(matching(1, 30_000), matching(4, 30_000)))) == (4, "continue")


def test_continue_takes_a_near_source_in_a_less_loaded_group() -> None:
    near = table(*busy(1), matching(0, 40_000), matching(2, 40_000 - 4_096), prompt_rate=0)
    placement = place(near)
    assert chosen(placement) == (2, "continue")
    assert (placement.source, placement.hint) == (0, 40_000)


def test_near_is_4096_tokens_below_the_best() -> None:
    far = table(*busy(1, 3), matching(0, 40_000), matching(4, 40_000 - 4_097), *busy(5))
    assert chosen(place(far)) == (0, "continue")


def test_near_is_2_percent_below_the_best() -> None:
    request = bgen(400_000)
    others = (*busy(1, 3), matching(0, 300_000))
    near = table(*others, matching(4, 294_000), request=request)
    assert chosen(place(near)) == (4, "continue")
    not_near = table(*others, matching(4, 293_999), *busy(5), request=request)
    assert chosen(place(not_near)) == (0, "continue")


def test_near_is_one_second_of_the_prompt_rate_below_the_best() -> None:
    others = (*busy(1), matching(0, 40_000))
    assert chosen(place(table(*others, matching(4, 34_000), prompt_rate=6_000))) == (4, "continue")
    assert chosen(place(table(*others, matching(4, 33_999), *busy(5), prompt_rate=6_000))) == (
        2,
        "spread",
    )


def test_spread_goes_to_a_blank_slot_of_a_less_loaded_group() -> None:
    spread = place(table(*busy(1), matching(0, 40_000)))
    assert chosen(spread) == (2, "spread")
    assert (spread.source, spread.hint, spread.score) == (0, 40_000, 1.0)


def test_spread_takes_the_least_loaded_group() -> None:
    of = table(*busy(0, 2), matching(1, 40_000))
    assert chosen(place(of)) == (4, "spread")


def test_spread_needs_a_load_below_every_near_sources() -> None:
    of = table(*busy(1), matching(0, 40_000), matching(2, 39_000), row(4, 9_000), row(5, 9_000))
    assert chosen(place(of)) == (2, "continue")


def test_spread_never_takes_another_conversation() -> None:
    others = [row(slot, 300, age=LONG_AGO) for slot in (2, 3, 4, 5)]
    assert chosen(place(table(*busy(1), matching(0, 40_000), *others))) == (0, "continue")


@pytest.mark.parametrize("blank", [row(3), row(3, 900, valid=False), row(3, 900, superseded=True)])
def test_spread_takes_empty_invalid_and_superseded_slots(blank: SlotRow) -> None:
    others = [row(slot, 300) for slot in (2, 4, 5)]
    assert chosen(place(table(*busy(1), matching(0, 40_000), blank, *others))) == (3, "spread")


def test_spread_takes_idle_slots_only() -> None:
    engine = evolve(SIX_IN_THREE, batch_groups=2)
    others = (row(3, state="busy"), row(4, 9_000), row(5, 9_000))
    of = table(*busy(1, 2), matching(0, 40_000), *others, engine=engine)
    assert chosen(place(of)) == (0, "continue")


def test_a_near_source_that_is_superseded_is_a_source() -> None:
    of = table(*busy(1), matching(0, 40_000), matching(3, 39_000, superseded=True))
    assert chosen(place(of)) == (3, "continue")


def test_spread_prefers_the_blank_slot_with_the_longest_match() -> None:
    # A superseded copy too short to be near still has more of the prompt than an empty slot.
    of = table(*busy(1), matching(0, 40_000), matching(5, 20_000, superseded=True))
    assert chosen(place(of)) == (5, "spread")


def test_no_spread_in_one_group() -> None:
    of = table(*busy(1, 2), matching(0, 40_000), engine=FOUR_ALONE)
    assert chosen(place(of)) == (0, "continue")


def test_continue_ignores_what_a_row_costs() -> None:
    of = table(row(0, 50_000), matching(1, 9_000), engine=PADDED)
    assert chosen(place(of)) == (1, "continue")


# -- sibling --------------------------------------------------------------------------------------


def test_sibling_replaces_an_older_version_protected_or_not() -> None:
    placement = place(table(row(3, 43_379, shared=43_340)))
    assert chosen(placement) == (3, "sibling")
    assert (placement.source, placement.hint) == (None, 0)


def test_sibling_begins_at_the_share() -> None:
    assert chosen(place(table(row(3, 10_000, shared=9_800)))) == (3, "sibling")
    assert chosen(place(table(row(3, 10_000, shared=9_799)))) == (0, "reclaim")


def test_sibling_is_not_the_start_of_the_prompt_itself() -> None:
    # Equal to the prompt: not a match (no token would be left to read), nor an older version.
    of = table(row(3, 10_000, shared=10_000), request=bgen(10_000))
    assert chosen(place(of)) == (0, "reclaim")


def test_sibling_takes_the_most_shared_then_the_first_in_order() -> None:
    assert chosen(place(table(row(0, 9_100, shared=9_000), row(3, 9_200, shared=9_100)))) == (
        3,
        "sibling",
    )
    assert chosen(place(table(row(1, 9_100, shared=9_000), row(4, 9_050, shared=9_000)))) == (
        4,
        "sibling",
    )


def test_sibling_comes_after_a_match() -> None:
    of = table(matching(1, 500), row(3, 10_000, shared=9_900))
    assert chosen(place(of)) == (1, "continue")


def test_sibling_share_0_turns_it_off() -> None:
    assert chosen(place(table(row(3, 10_000, shared=9_999), sibling_share=0))) == (0, "reclaim")


@pytest.mark.parametrize(
    "facts", [{"state": "busy"}, {"valid": False}, {"images": True}, {"cvec": 0}]
)
def test_sibling_is_a_valid_idle_history_of_the_same_kind(facts: dict[str, object]) -> None:
    of = table(row(3, 10_000, shared=9_900, **facts), engine=FOUR_ALONE)
    assert place(of).reason == "reclaim"


def test_a_request_with_pictures_has_no_sibling() -> None:
    of = table(row(3, 10_000, shared=9_900), request=bgen(images=True))
    assert chosen(place(of)) == (0, "reclaim")


# -- reclaim --------------------------------------------------------------------------------------


def test_reclaim_takes_blank_slots_in_the_spreading_order() -> None:
    taken: list[SlotRow] = []
    slots = []
    for _ in range(6):
        slot = place(table(*taken)).slot
        assert slot is not None
        slots.append(slot)
        taken.append(row(slot, 9_000))
    assert slots == [0, 2, 4, 1, 3, 5]


def test_reclaim_takes_what_is_not_worth_keeping_before_load() -> None:
    slots = [row(slot, 50_000) for slot in (2, 3, 4, 5)]
    slots[0] = row(2, 42_100, age=65.0)
    of = table(*busy(0), row(1, 900, age=LONG_AGO), *slots)
    assert chosen(place(of)) == (1, "reclaim")


def test_reclaim_takes_the_least_load_before_the_lowest_value() -> None:
    of = table(
        *busy(0),
        row(1, 700, age=600.0),
        row(2, 900, age=600.0),
        row(3, 50_000),
        row(4, 50_000),
        row(5, 50_000),
    )
    assert chosen(place(of)) == (2, "reclaim")


def test_reclaim_takes_the_lowest_value_of_what_is_worth_keeping() -> None:
    slots = [row(slot, 42_100 + slot, age=100.0) for slot in range(6)]
    slots[3] = row(3, 42_000, age=100.0)
    assert chosen(place(table(*slots))) == (3, "reclaim")


def test_reclaim_takes_a_blank_slot_before_a_history_worth_nothing() -> None:
    slots = [row(slot, 9_000, age=LONG_AGO) for slot in range(6)]
    slots[5] = row(5, 9_000, valid=False)
    assert chosen(place(table(*slots))) == (5, "reclaim")


def test_reclaim_of_equals_takes_the_first_in_order() -> None:
    slots = [row(slot, 9_000, age=LONG_AGO) for slot in range(6)]
    assert chosen(place(table(*busy(0), *slots[1:]))) == (2, "reclaim")


def test_reclaim_never_takes_a_protected_history_while_one_has_expired() -> None:
    slots = [row(slot, 1_500, age=0.5) for slot in range(6)]
    slots[4] = row(4, 50_000, age=66.0)
    assert chosen(place(table(*slots))) == (4, "reclaim")


def test_reclaim_costs_no_protected_history() -> None:
    of = table(row(0, 9_000), row(2, 9_000), row(4, 9_000), row(5, 900), engine=PADDED)
    # Slots 1 and 3 are blank, but each lies above a protected history of its group.
    assert place(of).reason == "least_loss"
    assert place(evolve(of, engine=SIX_IN_THREE)).reason == "reclaim"


def test_reclaim_scores_a_blank_slot_1() -> None:
    assert place(table()).score == 1.0


# -- least loss -----------------------------------------------------------------------------------


def test_least_loss_overwrites_the_lowest_value_at_once() -> None:
    slots = protected_slots(0.0, 5.0, 10.0, 15.0, 30.0, 20.0)
    of = table(*slots)
    placement = place(of)
    assert chosen(placement) == (4, "least_loss")
    assert placement.score == overwrite_score(50_000, 30.0, of.settings)


def test_least_loss_within_10_percent_takes_the_least_load() -> None:
    slots = protected_slots(0.0, 10.0, 8.0, 0.0, 0.0, 0.0)
    assert chosen(place(table(*busy(0), *slots[1:]))) == (2, "least_loss")


def test_least_loss_beyond_10_percent_is_not_moved_by_load() -> None:
    slots = protected_slots(0.0, 30.0, 8.0, 0.0, 0.0, 0.0)
    assert chosen(place(table(*busy(0), *slots[1:]))) == (1, "least_loss")


def test_least_loss_within_10_percent_and_one_load_takes_the_lowest_then_the_order() -> None:
    assert chosen(place(table(*protected_slots(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)))) == (1, "least_loss")
    assert chosen(place(table(*protected_slots(0.0, 0.0, 0.0, 0.0, 1.0, 1.0)))) == (4, "least_loss")


def test_least_loss_counts_what_the_row_costs() -> None:
    padded = table(row(0, 30_000), row(1, 1_000), row(2, 9_000), *busy(3, 4, 5), engine=PADDED)
    # Slot 1 is worth the least, and starting it would cost slot 0 its 30,000 tokens.
    assert chosen(place(padded)) == (2, "least_loss")
    assert chosen(place(evolve(padded, engine=SIX_IN_THREE))) == (1, "least_loss")


def test_least_loss_takes_a_short_history_before_an_expired_one_whose_row_costs_it() -> None:
    expired = row(1, 42_100, age=100.0)
    padded = table(row(0, 1_000), expired, *busy(2, 3, 4, 5), engine=PADDED)
    assert chosen(place(padded)) == (0, "least_loss")
    assert chosen(place(evolve(padded, engine=SIX_IN_THREE))) == (1, "reclaim")


def test_least_loss_of_a_blank_slot_is_what_its_row_costs() -> None:
    padded = table(row(0, 1_000), row(1), row(2, 1_005), *busy(3, 4, 5), engine=PADDED)
    # Slots 0 and 1 lose the same 1,000 tokens and slot 2 few more, in a loaded group.
    assert chosen(place(padded)) == (0, "least_loss")
    loaded = table(*busy(0), row(1, 1_005), row(2, 1_000), row(3), *busy(4, 5), engine=PADDED)
    assert chosen(place(loaded)) == (2, "least_loss")


# -- no placement ---------------------------------------------------------------------------------


def test_none_idle_when_every_slot_is_busy_or_yielded() -> None:
    of = table(*busy(0, 1, 2, 3, 4), row(5, 500, state="yielded"))
    assert place(of) == Placement(None, "none_idle", source=None, hint=0, score=None)


def test_none_idle_without_batch_slots() -> None:
    of = table(engine=EngineShape(), main=main_row(9_000, shared=9_000))
    assert place(of) == Placement(None, "none_idle", source=None, hint=9_000, score=None)


@pytest.mark.parametrize("request_row", [gen(), evolve(gen(), verb="GENI")])
def test_solo_takes_no_slot_and_still_says_what_can_be_resumed(request_row: RequestRow) -> None:
    placement = place(table(matching(2, 37_352), request=request_row))
    assert placement == Placement(None, "solo", source=2, hint=37_352, score=None)
