"""Where the main session's conversation goes before another request replaces it.

Here: POLICY.md, park, one function a rule. Not here: how a park is carried out, and when its claim
becomes a history.
"""

from typing import Literal

from attrs import frozen

from slotd.policy import values
from slotd.policy.place import Placement, reclaim_order
from slotd.policy.table import (
    MainRow,
    SlotRow,
    Table,
    expired,
    holds_history,
    order,
    slot_value,
    worth_keeping,
)

ParkReason = Literal["older", "sibling", "reclaim", "main_low_value", "kept", "no_slot"]
"""The rule that chose the destination (the first three), or why there is no park."""


@frozen
class Park:
    """What happens to the main session's conversation."""

    slot: int | None
    """The slot it is parked in; None when it is not parked."""
    reason: ParkReason


def park(table: Table, placement: Placement) -> Park | None:
    """Choose where the main session's conversation is parked; None when there is nothing to park.

    Never a busy slot, the admission's slot, or the slot the request restores from.
    """
    main = something_to_park(table)
    if main is None:
        return None
    if main_value(table, main) < table.settings.park_min_value:
        return Park(None, "main_low_value")
    if kept(table, main):
        return Park(None, "kept")
    taken = (placement.slot, placement.source)
    free = [row for row in table.slots if row.idle and row.slot not in taken]
    return (
        older(table, free)
        or sibling(table, free)
        or reclaim(table, main, free)
        or Park(None, "no_slot")
    )


def something_to_park(table: Table) -> MainRow | None:
    """Return the main session's row when its conversation is about to be lost, else None.

    Nothing is lost without slot_park, when it holds nothing or pictures, and when the prompt
    continues it: shares what it holds up to its last turn.
    """
    main = table.main
    if not table.engine.slot_park or main is None or main.tokens == 0 or main.images:
        return None
    return None if main.shared >= main.last_turn else main


def main_value(table: Table, main: MainRow) -> float:
    """Return what the main session's history is worth at its age."""
    return values.value(main.tokens, main.age, table.settings)


def kept(table: Table, main: MainRow) -> bool:
    """Tell whether some slot, busy or idle, already holds park_kept_share of the main session's."""
    least_share = table.settings.park_kept_share
    return any(
        holds_history(table, row) and row.shared_main / main.tokens >= least_share
        for row in table.slots
    )


def older(table: Table, free: list[SlotRow]) -> Park | None:
    """Take the longest valid history that is a prefix of the main session's, its own older copy."""
    copies = [row for row in free if holds_history(table, row) and row.shared_main == row.tokens]
    if not copies:
        return None
    longest = min(copies, key=lambda row: (-row.tokens, order(table, row)))
    return Park(longest.slot, "older")


def sibling(table: Table, free: list[SlotRow]) -> Park | None:
    """Take an older version of the conversation, the most shared first.

    One is a valid history of which sibling_share or more, but not all, begins the main session's.
    """
    least_share = table.settings.sibling_share
    if least_share == 0:
        return None
    versions = [
        row
        for row in free
        if row.shared_main < row.tokens
        and holds_history(table, row)
        and row.shared_main / row.tokens >= least_share
    ]
    if not versions:
        return None
    return Park(
        min(versions, key=lambda row: (-row.shared_main, order(table, row))).slot, "sibling"
    )


def reclaim(table: Table, main: MainRow, free: list[SlotRow]) -> Park | None:
    """Take the slot that is missed least, by the reclaim order; never a protected one.

    A history worth keeping counts only if park_value_ratio > 0 and the main session's is worth at
    least that many times as much.
    """
    ratio = table.settings.park_value_ratio
    worth = main_value(table, main)

    def counts(row: SlotRow) -> bool:
        if not expired(table, row):
            return False
        if not worth_keeping(table, row):
            return True
        return ratio > 0 and worth >= ratio * slot_value(table, row)

    chosen = reclaim_order(table, (row for row in free if counts(row)))
    return None if chosen is None else Park(chosen.slot, "reclaim")
