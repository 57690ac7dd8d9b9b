"""Why a policy that learns decided as it did, told from what it was logged to expect.

Here: a sentence for the slot and one for the park. Not here: the policy
(`slotd.policy.adaptive`), and the published rules' own accounts (`placing`, `parking`).
"""

from slotd.explain import words
from slotd.explain.log import LoggedDecision
from slotd.policy.place import LOSS_MARGIN, sibling_versions
from slotd.policy.table import Table, blank

_PARKS = {
    "kept": "A slot holds enough of the main session's conversation already.",
    "older": "The main session's conversation goes over its own older copy.",
    "sibling": "The main session's conversation goes over an older version of it.",
    "main_low_value": (
        "Losing the main session's conversation is expected to cost less time than its copy."
    ),
    "no_slot": "No slot that is free for a park is expected to lose less than the main session's.",
}


def why(decision: LoggedDecision, table: Table) -> str:
    """Say in a sentence each what decided about the slot and about the park."""
    said = [_slot(decision, table), _park(decision)]
    return " ".join(sentence for sentence in said if sentence)


def _slot(decision: LoggedDecision, table: Table) -> str:
    if decision.slot is None:
        return ""
    row = table.slots[decision.slot]
    match decision.reason:
        case "continue" | "spread":
            return "The prompt goes on from a history, which is decided as published."
        case "sibling":
            return f"Slot {row.slot} is the conversation's own: {_own(table, decision.slot)}."
        case "reclaim" if blank(table, row):
            return f"Slot {row.slot} is blank: nothing is lost."
    return (
        f"Slot {row.slot} is expected to lose {_loss(decision, row.slot)}: of the idle slots within"
        f" {LOSS_MARGIN - 1:.0%} of the least it costs others least, has the lowest load, then the"
        " lowest loss."
    )


def _own(table: Table, slot: int) -> str:
    row = table.slots[slot]
    shares = f"the prompt shares {words.share(row.shared, row.tokens)} of it"
    if row in sibling_versions(table):
        return f"{shares}, and ends differently"
    return f"{shares}, up to its last turn or more: its reply was sent back changed"


def _park(decision: LoggedDecision) -> str:
    park = decision.park
    if park is None:
        return ""
    if park.slot is None or park.reason != "reclaim":
        return _PARKS.get(park.reason, "")
    return (
        f"Slot {park.slot} is expected to lose {_loss(decision, park.slot)}, less than the main"
        " session's conversation."
    )


def _loss(decision: LoggedDecision, slot: int) -> str:
    return words.tokens(round(decision.losses[slot].loss))
