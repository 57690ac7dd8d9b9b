import pytest
from attrs import evolve

from slotd.policy.adaptive.decider import ENOUGH, AdaptiveDecider
from slotd.policy.adaptive.returns import AGES, ReturnModel, kind_of
from slotd.policy.decide import RetentionDecider, StoryDecider
from slotd.policy.settings import PolicySettings
from slotd.policy.story import Stories, Story
from slotd.policy.table import EngineShape, MainRow, RequestRow, SlotRow, Table

ENGINE = EngineShape(4, 1, slot_cache=True, slot_padding_safe=True, slot_park=True, turn_token=7)


def row(slot: int, tokens: int, age: float, shared: int = 0) -> SlotRow:
    return SlotRow(slot, "idle", tokens, age, True, False, 1, shared, 0, False)


def story(number: int, turn: int = 1, at: float = 0.0, boundary: int = 0) -> Story:
    gap = 20.0 if turn > 1 else None
    return Story(number, at, 9000, number, turn=turn, gap=gap, added=30, boundary=boundary)


def table(
    rows: list[SlotRow], stories: list[Story | None], request: Story, main: MainRow | None = None
) -> Table:
    return Table(
        ENGINE,
        PolicySettings(),
        2600.0,
        RequestRow("BGEN", 0, 12_000),
        main,
        tuple(rows),
        Stories(request, None if main is None else story(90, 5), tuple(stories)),
    )


def experienced() -> AdaptiveDecider:
    """Turn 5 comes back within the minute, turn 1 never does."""
    model = ReturnModel()
    for _ in range(200):
        model.watched(kind_of(5, 30, 20.0, 9000), 0.0, 40.0, 1.0)
        model.watched(kind_of(1, 30, None, 90_000), 0.0, AGES[-1])
    return AdaptiveDecider(model)


ROWS = [row(0, 90_000, 30.0), row(1, 9000, 20.0), row(2, 9000, 10.0), row(3, 9000, 5.0)]
STORIES: list[Story | None] = [story(1), story(2, 5), story(3, 5), story(4, 5)]


def test_it_wants_stories() -> None:
    assert isinstance(AdaptiveDecider(), StoryDecider)
    assert not isinstance(RetentionDecider(), StoryDecider)


def test_without_experience_the_published_policy_decides() -> None:
    request = table(ROWS, STORIES, story(50, at=100.0))
    decision = AdaptiveDecider().decide(request)
    assert decision == RetentionDecider().decide(request)
    assert decision.losses == ()


def test_without_stories_the_published_policy_decides() -> None:
    request = evolve(table(ROWS, STORIES, story(50)), stories=None)
    assert experienced().decide(request) == RetentionDecider().decide(request)


def test_a_conversation_that_will_not_come_back_is_given_up_however_long_it_is() -> None:
    request = table(ROWS, STORIES, story(50, at=100.0))
    assert RetentionDecider().decide(request).placement.slot != 0
    decision = experienced().decide(request)
    assert (decision.placement.slot, decision.placement.reason) == (0, "least_loss")
    assert decision.losses[0].chance < 0.2 < 0.8 < decision.losses[1].chance


def test_a_loss_is_the_tokens_times_the_chance_of_a_return() -> None:
    decision = experienced().decide(table(ROWS, STORIES, story(50, at=100.0)))
    for row_, lost in zip(ROWS, decision.losses, strict=True):
        assert lost.loss == row_.tokens * lost.chance


def test_a_continued_conversation_stays_in_its_slot() -> None:
    rows = [ROWS[0], evolve(ROWS[1], shared=9000), *ROWS[2:]]
    decision = experienced().decide(table(rows, STORIES, story(50, at=100.0)))
    assert (decision.placement.slot, decision.placement.reason) == (1, "continue")


def test_a_slot_whose_turn_boundary_the_prompt_shares_is_the_conversations_own() -> None:
    rows = [*ROWS[:2], evolve(ROWS[2], shared=7000), ROWS[3]]
    stories = [*STORIES[:2], story(3, 5, boundary=6900), STORIES[3]]
    decision = experienced().decide(table(rows, stories, story(50, at=100.0)))
    assert (decision.placement.slot, decision.placement.reason) == (2, "sibling")
    before = [*STORIES[:2], story(3, 5, boundary=7100), STORIES[3]]
    assert experienced().decide(table(rows, before, story(50, at=100.0))).placement.slot == 0


def test_the_main_session_is_parked_only_over_what_loses_less() -> None:
    main = MainRow(9000, 1.0, False, 1, 0, 9000)
    request = table(ROWS, STORIES, story(50, at=100.0), main)
    solo = evolve(request, request=RequestRow("GEN", None, 12_000))
    decision = experienced().decide(solo)
    assert decision.park is not None
    assert (decision.park.slot, decision.park.reason) == (0, "reclaim")
    keen = [row(slot, 60_000, 5.0) for slot in range(4)]
    kinds: list[Story | None] = [story(slot + 1, 5) for slot in range(4)]
    full = evolve(table(keen, kinds, story(50, at=100.0), main), request=solo.request)
    decision = experienced().decide(full)
    assert decision.park is not None
    assert (decision.park.slot, decision.park.reason) == (None, "no_slot")


def test_returns_are_learned_from_the_tables_alone() -> None:
    decider = AdaptiveDecider()
    for turn in range(1, 2 * ENOUGH):
        rows = [row(0, 9000, 10.0, shared=9000), *ROWS[1:]]
        own = story(turn, turn, at=100.0 * turn)
        own = evolve(own, conversation=1)
        following = evolve(
            own,
            number=turn + 1,
            turn=turn + 1,
            at=100.0 * turn + 10,
            continues=turn,
            how="whole",
            returned=1.0,
        )
        decider.decide(table(rows, [own, None, None, None], following))
    assert decider.learned
    assert decider.model.seen >= ENOUGH


def test_the_same_table_twice_is_learned_from_once() -> None:
    decider = AdaptiveDecider()
    own = story(1)
    following = evolve(own, number=2, at=10.0, continues=1, how="whole", returned=1.0)
    request = table([row(0, 9000, 5.0), *ROWS[1:]], [own, None, None, None], following)
    decider.decide(request)
    decider.decide(request)
    assert decider.model.seen == 1


def test_only_the_longest_copy_of_a_conversation_is_worth_keeping() -> None:
    rows = [row(0, 9000, 9.0), row(1, 9500, 5.0), *ROWS[2:]]
    stories: list[Story | None] = [story(1, 5), evolve(story(2, 6), conversation=1), *STORIES[2:]]
    decision = experienced().decide(table(rows, stories, story(50, at=100.0)))
    assert decision.placement.slot == 0
    assert decision.losses[0].loss == 0
    assert decision.losses[1].loss > 0


def test_a_history_that_lies_in_a_slot_for_hours_is_watched_once() -> None:
    decider = experienced()
    old = story(1)
    for number in range(2, 200):
        now = 30.0 * number
        rows = [row(0, 9000, now), *(row(slot, 0, 0.0) for slot in (1, 2, 3))]
        decider.decide(table(rows, [old, None, None, None], story(number, at=now)))
    own = decider.model.seconds[kind_of(1, 30, None, 9000).index]
    assert own.sum() == pytest.approx(AGES[-1])
