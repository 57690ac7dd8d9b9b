"""Engines that pad rows: what a running slot costs the slots below it, as far as rules rank by it.

Here: whether a history parked in a slot stays whole, and the opt-in ranks that put requests low in
their group and parks high, so that windows span what is worth most as seldom as can be. Not here:
which slots a window pads and what that costs by POLICY.md (`table.padded`, `table.cost`), and the
rules that choose (`place`, `park`).

A group's window spans its slots up to its last active one, and an idle slot below an active one
loses its state. So a history is safest above everything that runs in its group, and a request does
least harm at the bottom of one.
"""

from typing import NamedTuple

from slotd.policy.table import (
    SlotRow,
    Table,
    blank,
    group,
    load,
    order,
    padded,
    slot_value,
    worth_keeping,
)


class LowRank(NamedTuple):
    """What slots are given up by for a request, the lowest first, where requests go low."""

    worth_keeping: bool
    load: int
    height: int
    value: float
    holds: bool
    """The slot is not blank."""
    order: tuple[int, int]


class HighRank(NamedTuple):
    """What slots are given up by for a park, the lowest first, where parks go high."""

    worth_keeping: bool
    load: int
    depth: int
    value: float
    holds: bool
    """The slot is not blank."""
    order: tuple[int, int]


def goes_low(table: Table) -> bool:
    """Tell whether requests go low in their group and parks high."""
    return table.engine.low_rows and table.engine.pads_rows


def height(table: Table, row: SlotRow) -> int:
    """Return the slot's place in its group, 0 for the lowest."""
    return row.slot % table.engine.group_size


def survives(table: Table, row: SlotRow, admission: int | None) -> bool:
    """Tell whether what is put into the slot now stays whole.

    It does where no slot above it in its group is at work, keeps a yielded read, or is
    `admission`, the slot the request goes to.
    """
    if not table.engine.pads_rows:
        return True
    return all(
        other.idle and other.slot != admission
        for other in table.slots[row.slot + 1 :]
        if group(table, other) == group(table, row)
    )


def lost_with(table: Table, row: SlotRow) -> list[SlotRow]:
    """Return the idle slots whose histories are gone when a request runs in this one: it first."""
    return [row, *(other for other in padded(table, row) if other.idle)]


def value_lost(table: Table, row: SlotRow) -> float:
    """Return the value of all the histories that are gone when a request runs in the slot."""
    return sum(slot_value(table, lost) for lost in lost_with(table, row))


def low_rank(table: Table, row: SlotRow) -> LowRank:
    """Return the slot's rank for a request: as in reclaim, but low before of little value.

    (anything worth keeping is lost, load, height, value of all that is lost, blank before not,
    order).
    """
    return LowRank(
        any(worth_keeping(table, lost) for lost in lost_with(table, row)),
        load(table, row),
        height(table, row),
        value_lost(table, row),
        not blank(table, row),
        order(table, row),
    )


def high_rank(table: Table, row: SlotRow) -> HighRank:
    """Return the slot's rank for a park: as for a request, but high before of little value."""
    low = low_rank(table, row)
    return HighRank(low.worth_keeping, low.load, -low.height, low.value, low.holds, low.order)
