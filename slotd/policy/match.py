"""Which histories the prompt continues, and what the engine can resume from.

Here: POLICY.md, Match. Not here: which slot is taken because of it (see `place`).
"""

from typing import Literal

from attrs import frozen

from slotd.policy.table import SlotRow, Table, holds_history

Obstacle = Literal["not_idle", "no_history", "other_cvec", "pictures"]
"""Why a slot is not looked at for a start of the prompt; pictures: those of the request."""


@frozen
class Hint:
    """What the engine can resume. Information only: the engine decides what it reuses."""

    tokens: int
    source: int | None
    """The slot it resumes from; None when it is the main session, or nothing."""


def obstacle(table: Table, row: SlotRow) -> Obstacle | None:
    """Return what keeps the engine from looking at the slot for a start of the prompt, if anything.

    It must be idle with a valid history of the request's cvec, and neither side may hold pictures.
    """
    if not row.idle:
        return "not_idle"
    if not holds_history(table, row):
        return "no_history"
    if row.cvec != table.request.cvec:
        return "other_cvec"
    return "pictures" if table.request.images else None


def resumable(table: Table, row: SlotRow) -> bool:
    """Tell whether the engine would look at the slot for a start of the prompt at all."""
    return obstacle(table, row) is None


def match(table: Table, row: SlotRow) -> int:
    """Return the length of the slot's history when the prompt continues it, else 0.

    It does when the slot is resumable and its history is a proper prefix of the prompt.
    """
    continued = row.shared == row.tokens < table.request.prompt
    return row.tokens if continued and resumable(table, row) else 0


def checkpoint_match(table: Table, row: SlotRow) -> int:
    """Return the longest reported checkpoint of the slot the prompt continues, else 0.

    The same conditions as a match, for the checkpoint's part of the history.
    """
    if not row.checkpoints or not resumable(table, row):
        return 0
    longest = min(row.shared, table.request.prompt - 1)
    return max((length for length in row.checkpoints if length <= longest), default=0)


def main_match(table: Table) -> int:
    """Return the length of the main session's history when the prompt continues it, else 0."""
    main, request = table.main, table.request
    if main is None or main.images or request.images or main.cvec != request.cvec:
        return 0
    return main.tokens if main.shared == main.tokens < request.prompt else 0


def hint(table: Table) -> Hint:
    """Return the longest start of the prompt the engine can resume, and the slot that holds it.

    The longest of the slots' matches and the main session's; where no slot matches, of the
    reported checkpoints and the main session's. The main session wins a tie, then the lowest slot.
    """
    found = [(match(table, row), row.slot) for row in table.slots]
    if not any(length for length, _ in found):
        found = [(checkpoint_match(table, row), row.slot) for row in table.slots]
    length, slot = max(found, key=lambda item: (item[0], -item[1]), default=(0, 0))
    main = main_match(table)
    return Hint(length, slot) if length > main else Hint(main, None)
