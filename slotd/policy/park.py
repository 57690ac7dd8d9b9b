"""Where the main session's conversation goes before another request replaces it.

Here: POLICY.md, park, one function a rule. Not here: how a park is carried out, and when its claim
becomes a history.
"""

from typing import Literal, NamedTuple

from attrs import frozen

from slotd.policy import values
from slotd.policy.pad_rows import survives
from slotd.policy.place import Placement, SiblingRank, reclaim_order
from slotd.policy.table import (
    MainRow,
    SlotRow,
    Table,
    expired,
    holds_history,
    order,
    padded,
    slot_value,
    worth_keeping,
)

ParkReason = Literal["older", "sibling", "reclaim", "main_low_value", "kept", "no_slot"]
"""The rule that chose the destination (the first three), or why there is no park."""

NothingToPark = Literal["no_slot_park", "empty", "pictures", "continued"]
"""Why a park is not thought of: the engine reads no park=, the main session holds nothing or
pictures, or the prompt continues it."""


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
    free = destinations(table, placement)
    return (
        older(table, free)
        or sibling(table, free)
        or reclaim(table, main, free)
        or Park(None, "no_slot")
    )


def nothing_to_park(table: Table) -> NothingToPark | None:
    """Return why nothing is lost with the main session's conversation; None: it is about to be.

    Nothing is lost without slot_park, when it holds nothing or pictures, and when the prompt
    continues it: shares what it holds up to its last turn.
    """
    main = table.main
    if not table.engine.slot_park:
        return "no_slot_park"
    if main is None or main.tokens == 0:
        return "empty"
    if main.images:
        return "pictures"
    return "continued" if main.shared >= main.last_turn else None


def something_to_park(table: Table) -> MainRow | None:
    """Return the main session's row when its conversation is about to be lost, else None."""
    return table.main if nothing_to_park(table) is None else None


def main_value(table: Table, main: MainRow) -> float:
    """Return what the main session's history is worth at its age."""
    return values.value(main.tokens, main.age, table.settings)


def kept_share(row: SlotRow, main: MainRow) -> float:
    """Return the share of the main session's history that the slot's begins with."""
    return row.shared_main / main.tokens


def keepers(table: Table, main: MainRow) -> list[SlotRow]:
    """Return the slots, busy or idle, that hold park_kept_share of the main session's history."""
    least_share = table.settings.park_kept_share
    return [
        row
        for row in table.slots
        if holds_history(table, row)
        and kept_share(row, main) >= least_share
        and not lacks_branch(row, main)
    ]


def lacks_branch(row: SlotRow, main: MainRow) -> bool:
    """Tell whether a version of the conversation with another end misses the way to the next one.

    The main session has a checkpoint where the slot's history leaves its own, and the slot, whose
    checkpoints the engine reports, has none there. Without the main session's, every later version
    is read from further back: the published chain of classifier queries is reused from that
    checkpoint on because the query that has it is parked, 99% of it in a slot or not.
    """
    return (
        row.shared_main < row.tokens
        and row.shared_main in main.branches
        and len(row.checkpoints) > 0
        and row.shared_main not in row.checkpoints
    )


def kept(table: Table, main: MainRow) -> bool:
    """Tell whether some slot already holds park_kept_share of the main session's history."""
    return bool(keepers(table, main))


def destinations(table: Table, placement: Placement) -> list[SlotRow]:
    """Return the slots a park may go to at all.

    Never a busy slot, the admission's slot, or the slot the request restores from; and none that an
    admission of slotd's own may not run in, where that is how the conversation is parked.
    """
    taken = (placement.slot, placement.source)
    free = [row for row in table.slots if row.idle and row.slot not in taken]
    main = table.main
    if main is None or not table.engine.park_admits:
        return free
    return [row for row in free if admits_park(table, main, row, placement)]


def admits_park(table: Table, main: MainRow, row: SlotRow, placement: Placement) -> bool:
    """Tell whether a request of slotd's own may park the main session's history in the slot.

    On an engine that pads rows the slot must lie above all that runs in its group, the request's
    own slot included, and whatever its window pads must be spared by nobody: each a history that a
    park may overwrite, or the one the admission overwrites anyway, and not what is restored from.
    """
    return survives(table, row, placement.slot) and all(
        other.idle
        and other.slot != placement.source
        and (other.slot == placement.slot or overwritable(table, main, other))
        for other in padded(table, row)
    )


def overwritable(table: Table, main: MainRow, row: SlotRow) -> bool:
    """Tell whether a park may overwrite what the slot holds: expired, and worth little beside it.

    Blank slots count; a protected one never does.
    """
    if not expired(table, row):
        return False
    return not worth_keeping(table, row) or outvalued(table, main, row)


class OlderRank(NamedTuple):
    """What older copies of the main session's history are ranked by, the lowest first."""

    length: int
    """In tokens, negated."""
    order: tuple[int, int]


def older_copies(table: Table, free: list[SlotRow]) -> list[SlotRow]:
    """Return the valid histories that are a prefix of the main session's: its own older copies."""
    return [row for row in free if holds_history(table, row) and row.shared_main == row.tokens]


def older_rank(table: Table, row: SlotRow) -> OlderRank:
    """Return an older copy's rank: the longest, then order."""
    return OlderRank(-row.tokens, order(table, row))


def older(table: Table, free: list[SlotRow]) -> Park | None:
    """Take the longest of the older copies."""
    copies = older_copies(table, free)
    if not copies:
        return None
    return Park(min(copies, key=lambda row: older_rank(table, row)).slot, "older")


def sibling_versions(table: Table, free: list[SlotRow]) -> list[SlotRow]:
    """Return the older versions of the main session's conversation; none when the rule is off.

    One is a valid history of which sibling_share or more, but not all, begins the main session's.
    """
    least_share = table.settings.sibling_share
    if least_share == 0:
        return []
    return [
        row
        for row in free
        if row.shared_main < row.tokens
        and holds_history(table, row)
        and row.shared_main / row.tokens >= least_share
    ]


def sibling_rank(table: Table, row: SlotRow) -> SiblingRank:
    """Return an older version's rank: the most shared with the main session's, then order."""
    return SiblingRank(-row.shared_main, order(table, row))


def sibling(table: Table, free: list[SlotRow]) -> Park | None:
    """Take the older version that shares most."""
    versions = sibling_versions(table, free)
    if not versions:
        return None
    return Park(min(versions, key=lambda row: sibling_rank(table, row)).slot, "sibling")


def outvalued(table: Table, main: MainRow, row: SlotRow) -> bool:
    """Tell whether a park may overwrite a history worth keeping.

    It may if park_value_ratio > 0 and the main session's is worth at least that many times as much.
    """
    ratio = table.settings.park_value_ratio
    return ratio > 0 and main_value(table, main) >= ratio * slot_value(table, row)


def reclaimable(table: Table, main: MainRow, free: list[SlotRow]) -> list[SlotRow]:
    """Return the blank and expired slots that a park may overwrite; never a protected one."""
    return [row for row in free if overwritable(table, main, row)]


def reclaim(table: Table, main: MainRow, free: list[SlotRow]) -> Park | None:
    """Take the slot that is missed least, by the reclaim order that place shares."""
    chosen = reclaim_order(table, reclaimable(table, main, free), park=True)
    return None if chosen is None else Park(chosen.slot, "reclaim")
