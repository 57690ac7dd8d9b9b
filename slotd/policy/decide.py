"""One decision: where a request goes and where the main session's conversation is parked.

Here: the `Decider` every policy is, and the one of POLICY.md. Not here: its rules (`place`,
`park`), and what is done with the decision.
"""

from typing import Literal, Protocol, runtime_checkable

from attrs import frozen

from slotd.policy.park import Park, park
from slotd.policy.place import Placement, place
from slotd.policy.table import Table, slot_score


@frozen
class ExpectedLoss:
    """What giving one history up is expected to lose, for a policy that looks further."""

    loss: float
    """What it is ranked by, in that policy's measure: `adaptive` in tokens expected to be read
    again (see `slotd.policy.adaptive.loss`)."""
    chance: float
    """Whether its conversation comes back at all."""


@frozen
class Decision:
    """What a decider says about one table."""

    placement: Placement
    park: Park | None
    """None when there is nothing to park, or the engine cannot."""
    losses: tuple[ExpectedLoss, ...] = ()
    """What each slot was ranked by, in slot order; empty when POLICY.md's values were."""


class Decider(Protocol):
    """A policy: slot tables in, decisions out."""

    @property
    def name(self) -> str:
        """The name it is chosen by in settings."""

    def decide(self, table: Table) -> Decision:
        """Decide about one table; the same table gives the same decision unless it learns."""


@runtime_checkable
class StoryDecider(Decider, Protocol):
    """A policy whose tables come with the stories of their conversations."""

    @property
    def wants_stories(self) -> Literal[True]:
        """Always true: that it is there at all says so."""


@frozen
class RetentionDecider:
    """The policy of POLICY.md: protection by length, retention and decay of value."""

    name: str = "retention"

    def decide(self, table: Table) -> Decision:
        """Place the request, then choose where the main session's conversation is parked."""
        placement = place(table)
        return Decision(placement, park(table, placement))


def go_on(table: Table, slot: int) -> Decision:
    """Decide about a read that gave way and goes on in the slot that keeps its part.

    Its slot is settled; where the main session's conversation is parked is chosen as ever.
    """
    row = table.slots[slot]
    placement = Placement(slot, "continue", slot, row.tokens, slot_score(table, row))
    return Decision(placement, park(table, placement))
