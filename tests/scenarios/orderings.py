"""Earlier rules, for the rows of the published tables that the rules in force do not give.

Lives here: each earlier rule, put together from the policy's own functions. Must not live here:
the rules in force (`slotd.policy`), or what comes of any of them (the tests).
"""

from attrs import evolve, frozen

from slotd.core.placing import slot_table
from slotd.core.sidecar import Sidecar
from slotd.policy import values
from slotd.policy.decide import Decision, RetentionDecider
from slotd.policy.park import park
from slotd.policy.place import (
    continue_or_spread,
    continue_rank,
    near_sources,
    reclaim_order,
    reclaim_rank,
    reclaimable,
    sibling,
)
from slotd.policy.survey import RequestState
from slotd.policy.table import (
    SlotRow,
    Table,
    load,
    protected,
    slot_score,
    slot_ttl_left,
    slot_value,
    worth_keeping,
)
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request, ServeEvent
from tests.scenarios.stage import QUIET

LONGEST_WAIT_S = 5.0
"""STRATA_SLOT_PROTECT_WAIT_S, before it was removed."""


@frozen
class GroupLoadFirst:
    """Expired histories by group load first: one worth keeping does not go last."""

    name: str = "group-load-first"

    def decide(self, table: Table) -> Decision:
        """Decide as the policy does, but reclaim without looking at what is worth keeping."""
        decision = RetentionDecider().decide(table)
        if decision.placement.reason != "reclaim":
            return decision
        return _moved(
            table, decision, min(reclaimable(table), key=lambda row: reclaim_rank(table, row)[1:])
        )


@frozen
class IntoAnySlot:
    """A continued conversation moves into any idle slot of a less loaded group, blank or not."""

    name: str = "into-any-slot"

    def decide(self, table: Table) -> Decision:
        """Decide as the policy does, but let a conversation move over another."""
        decision = RetentionDecider().decide(table)
        sources = near_sources(table)
        if table.request.solo or not sources:
            return decision
        least = min(load(table, row) for row in sources)
        others = [row for row in table.slots if row.idle and load(table, row) < least]
        chosen = min(sources + others, key=lambda row: continue_rank(table, row, sources))
        return _moved(table, decision, chosen)


def _moved(table: Table, decision: Decision, row: SlotRow) -> Decision:
    placement = evolve(decision.placement, slot=row.slot, score=slot_score(table, row))
    return Decision(placement, park(table, placement))


class WaitingServe(Serve):
    """The serve process that waited: once per request, for a cheaper slot than the policy's.

    It asked again every 0.1 s; this one does whenever the engine says something.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        super().__init__(QUIET)
        self._sidecar = sidecar
        self._held: list[tuple[Request, float]] = []

    def submit(self, request: Request, now: float) -> list[bytes]:
        """Take a request; begin it later if it is better to wait."""
        if self._waits(request, now):
            self._held.append((request, now))
            return []
        return super().submit(request, now)

    def from_engine(self, data: bytes, now: float) -> tuple[list[bytes], list[ServeEvent]]:
        """Take the engine's bytes; begin what has waited long enough."""
        lines, events = super().from_engine(data, now)
        for held in list(self._held):
            request, since = held
            if now - since >= LONGEST_WAIT_S or not self._waits(request, now):
                self._held.remove(held)
                lines += super().submit(request, now)
        return lines, events

    def _waits(self, request: Request, now: float) -> bool:
        if self.idle:
            return False
        model = self._sidecar.model
        state = RequestState("BGEN", None, request.prompt)
        table = slot_table(model, self._sidecar.settings, state, now)
        solo = any(running.on_main and not running.batch for running in model.flight.requests())
        return is_better_to_wait(table, promoted_first=solo)


def is_better_to_wait(table: Table, promoted_first: bool) -> bool:
    """Tell whether a cheaper slot than any that can be reclaimed is about to lose its protection.

    So it is when only expired histories worth keeping are left, and a protected one that will be
    worth less than each of them loses its protection within 5 s. With `promoted_first` a request
    that runs solo goes to a slot before this one does, and takes the best that is left.
    """
    if continue_or_spread(table) or sibling(table):
        return False
    left = reclaimable(table)
    if promoted_first:
        first = reclaim_order(table, left)
        left = [row for row in left if row is not first]
    if not left or not all(worth_keeping(table, row) for row in left):
        return False
    least = min(slot_value(table, row) for row in left)
    return any(
        row.idle
        and protected(table, row)
        and slot_ttl_left(table, row) <= LONGEST_WAIT_S
        and values.value(row.tokens, values.ttl(row.tokens, table.settings), table.settings) < least
        for row in table.slots
    )
