import pytest

from slotd.explain.learned import why
from slotd.explain.log import LoggedDecision, LoggedPark
from slotd.policy.decide import ExpectedLoss
from slotd.policy.table import Table
from tests.policy.builders import matching, row, table

LOSSES = tuple(ExpectedLoss(1000.0 + slot, 0.5) for slot in range(6))


def decided(of: Table, slot: int | None, reason: str, park: LoggedPark | None = None) -> str:
    return why(LoggedDecision(slot, reason, None, 0, None, park, LOSSES), of)


def test_the_least_expected_loss_is_named() -> None:
    told = decided(table(row(0, 40_000)), 0, "least_loss")
    assert told.startswith("Slot 0 is expected to lose 1,000 tokens: of the idle slots within 10%")


def test_a_blank_slot_loses_nothing() -> None:
    assert decided(table(row(0, 40_000)), 3, "reclaim") == "Slot 3 is blank: nothing is lost."


def test_a_continued_history_is_the_published_rules() -> None:
    told = decided(table(matching(0, 40_000)), 0, "continue")
    assert told == "The prompt goes on from a history, which is decided as published."


def test_a_reply_sent_back_changed_is_told_from_an_end_that_was_rewritten() -> None:
    changed = decided(table(row(0, 40_000, shared=30_000)), 0, "sibling")
    assert changed.endswith(
        "shares 75.0% of it, up to its last turn or more: its reply was sent back changed."
    )
    rewritten = decided(table(row(0, 40_000, shared=39_900)), 0, "sibling")
    assert rewritten.endswith("of it, and ends differently.")


@pytest.mark.parametrize(
    ("park", "says"),
    [
        (LoggedPark(None, "kept"), "holds enough"),
        (LoggedPark(None, "main_low_value"), "less time than its copy"),
        (LoggedPark(None, "no_slot"), "No slot that is free for a park"),
        (LoggedPark(2, "older"), "its own older copy"),
        (LoggedPark(2, "sibling"), "an older version of it"),
        (LoggedPark(2, "reclaim"), "Slot 2 is expected to lose 1,002 tokens, less than the main"),
    ],
)
def test_every_outcome_of_a_park_is_told(park: LoggedPark, says: str) -> None:
    assert says in decided(table(row(0, 40_000)), None, "solo", park)


def test_a_request_that_runs_alone_and_parks_nothing_needs_no_word() -> None:
    assert decided(table(row(0, 40_000)), None, "solo") == ""
