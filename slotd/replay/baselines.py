"""Policies to compare with: the least recently used slot, and llama.cpp's choice of a slot.

Here: deciders for slotd. Not here: the serve process's own choice, which needs no slotd (see
`slotd.sim.serve_slots`), and the ones that know more (see `clairvoyant`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from slotd.policy.decide import Decision
from slotd.policy.match import match
from slotd.policy.park import Park, destinations, kept, older, something_to_park
from slotd.policy.place import Chosen, Placement, place_by
from slotd.policy.table import SlotRow, Table, blank, holds_history, order

LLAMA_SIMILARITY: Final = 0.1
"""llama.cpp's default for --slot-prompt-similarity."""


@frozen
class LeastRecentlyUsed:
    """The slot whose history the prompt continues, else an empty one, else the least recently used.

    The main session's conversation is parked the same way: over its own older copy, else an empty
    slot, else the least recently used one, whatever either is worth.
    """

    name: str = "lru"

    def decide(self, table: Table) -> Decision:
        """Place and park by last use alone."""
        placement = _placed(table, lambda rows: _continued(table, rows) or _oldest(table, rows))
        return Decision(placement, _parked(table, placement, lambda rows: _oldest(table, rows)))


@frozen
class LlamaCpp:
    """The slot sharing most with the prompt, if that is over a tenth of it, else the oldest.

    So llama.cpp's server chooses (`--slot-prompt-similarity`): common prefix / prompt length. It
    has no main session; the park that this engine needs chooses its slot by the same rule, with the
    main session's history as the prompt.
    """

    name: str = "llama.cpp"

    def decide(self, table: Table) -> Decision:
        """Place and park by similarity, then by last use."""
        prompt = table.request.prompt
        placement = _placed(
            table,
            lambda rows: (
                _similar(table, rows, lambda row: row.shared / prompt) or _oldest(table, rows)
            ),
        )
        held = 0 if table.main is None else table.main.tokens
        park = _parked(
            table,
            placement,
            lambda rows: (
                _similar(table, rows, lambda row: row.shared_main / held) or _oldest(table, rows)
            ),
        )
        return Decision(placement, park)


Chooser = Callable[[list[SlotRow]], SlotRow | None]


def _placed(table: Table, choose: Chooser) -> Placement:
    def idle() -> Chosen | None:
        row = choose([row for row in table.slots if row.idle])
        if row is None:
            return None
        if match(table, row):
            return row, "continue"
        return row, "reclaim" if blank(table, row) else "least_loss"

    return place_by(table, idle)


def _parked(table: Table, placement: Placement, choose: Chooser) -> Park | None:
    main = something_to_park(table)
    if main is None:
        return None
    if kept(table, main):
        return Park(None, "kept")
    free = destinations(table, placement)
    chosen = choose(free)
    return older(table, free) or (
        Park(None, "no_slot") if chosen is None else Park(chosen.slot, "reclaim")
    )


def _continued(table: Table, rows: list[SlotRow]) -> SlotRow | None:
    found = [row for row in rows if match(table, row)]
    return max(found, key=lambda row: match(table, row), default=None)


def _oldest(table: Table, rows: list[SlotRow]) -> SlotRow | None:
    """Return an empty slot, else the least recently used: a superseded copy counts by its use."""
    return min(
        rows,
        key=lambda row: (holds_history(table, row), -row.age, order(table, row)),
        default=None,
    )


def _similar(
    table: Table, rows: list[SlotRow], share: Callable[[SlotRow], float]
) -> SlotRow | None:
    found = [row for row in rows if holds_history(table, row) and share(row) > LLAMA_SIMILARITY]
    return min(found, key=lambda row: (-share(row), order(table, row)), default=None)
