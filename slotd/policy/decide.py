"""One decision: where a request goes and where the main session's conversation is parked.

Here: the `Decider` every policy is, and the one of POLICY.md. Not here: its rules (`place`,
`park`), and what is done with the decision.
"""

from typing import Protocol

from attrs import frozen

from slotd.policy.park import Park, park
from slotd.policy.place import Placement, place
from slotd.policy.table import Table


@frozen
class Decision:
    """What a decider says about one table."""

    placement: Placement
    park: Park | None
    """None when there is nothing to park, or the engine cannot."""


class Decider(Protocol):
    """A policy: slot tables in, decisions out."""

    @property
    def name(self) -> str:
        """The name it is chosen by in settings."""

    def decide(self, table: Table) -> Decision:
        """Decide about one table; the same table gives the same decision unless it learns."""


@frozen
class RetentionDecider:
    """The policy of POLICY.md: protection by length, retention and decay of value."""

    name: str = "retention"

    def decide(self, table: Table) -> Decision:
        """Place the request, then choose where the main session's conversation is parked."""
        placement = place(table)
        return Decision(placement, park(table, placement))
