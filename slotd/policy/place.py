"""The slot an admission, or the reservation of a read that gives way, goes to.

Here: POLICY.md, place(), one function a rule, and the reclaim order that a park shares. Not here:
what else moves because of the placement (see `park`).
"""

from collections.abc import Iterable
from typing import Literal

from attrs import frozen

from slotd.policy.match import hint, match, resumable
from slotd.policy.table import (
    SlotRow,
    Table,
    blank,
    cost,
    expired,
    load,
    order,
    slot_score,
    slot_value,
    worth_keeping,
)

PlaceReason = Literal["continue", "spread", "sibling", "reclaim", "least_loss", "none_idle", "solo"]
"""The rule that chose the slot; none_idle and solo choose none."""

NEAR_SHARE = 0.02
"""A match this share of the best below it is as good as the best."""
NEAR_SECONDS = 1.0
"""So is one that the engine reads the difference of in this many seconds."""
NEAR_TOKENS = 4096
"""So is one this many tokens below the best."""
LOSS_MARGIN = 1.1
"""Losses up to this many times the lowest count as equal."""


@frozen
class Placement:
    """Where a request goes and why."""

    slot: int | None
    """The chosen slot; None when no slot is idle, or for a solo request."""
    reason: PlaceReason
    source: int | None
    """The slot the engine can resume from; None when that is the main session, or nothing."""
    hint: int
    """Tokens of the prompt the engine can resume."""
    score: float | None
    """The overwrite score of the chosen slot's history; None when no slot was chosen."""


def place(table: Table) -> Placement:
    """Choose the slot for the table's request: the first rule of POLICY.md that names one."""
    resume = hint(table)
    if table.request.solo:
        return Placement(None, "solo", resume.source, resume.tokens, None)
    chosen = continue_or_spread(table) or sibling(table) or reclaim_slot(table) or least_loss(table)
    if chosen is None:
        return Placement(None, "none_idle", resume.source, resume.tokens, None)
    row, reason = chosen
    return Placement(row.slot, reason, resume.source, resume.tokens, slot_score(table, row))


def near_sources(table: Table) -> list[SlotRow]:
    """Return the slots whose match is about as long as the longest; none when nothing matches.

    About: within 2% of the best, one second of the prompt rate, or 4,096 tokens.
    """
    matches = [(match(table, row), row) for row in table.slots]
    best = max((length for length, _ in matches), default=0)
    if best == 0:
        return []
    margin = max(NEAR_SHARE * best, NEAR_SECONDS * table.prompt_rate, NEAR_TOKENS)
    return [row for length, row in matches if length > 0 and best - length <= margin]


def continue_or_spread(table: Table) -> tuple[SlotRow, PlaceReason] | None:
    """Keep a continued conversation in its slot, or spread it to a less loaded group.

    Candidates: the near sources, and the blank idle slots whose load is below every near source's;
    the lowest (load, source before blank, -match, order).
    """
    sources = near_sources(table)
    if not sources:
        return None
    near = {row.slot for row in sources}
    least_load = min(load(table, row) for row in sources)
    spreads = [
        row
        for row in table.slots
        if row.slot not in near and row.idle and blank(table, row) and load(table, row) < least_load
    ]
    chosen = min(
        sources + spreads,
        key=lambda row: (
            load(table, row),
            row.slot not in near,
            -match(table, row),
            order(table, row),
        ),
    )
    return chosen, "continue" if chosen.slot in near else "spread"


def sibling(table: Table) -> tuple[SlotRow, PlaceReason] | None:
    """Replace an older version of the same conversation, protected or not; the most shared first.

    One is a resumable history of which sibling_share or more, but not all, begins the prompt.
    """
    least_share = table.settings.sibling_share
    if least_share == 0:
        return None
    versions = [
        row
        for row in table.slots
        if row.shared < row.tokens
        and resumable(table, row)
        and row.shared / row.tokens >= least_share
    ]
    if not versions:
        return None
    return min(versions, key=lambda row: (-row.shared, order(table, row))), "sibling"


def reclaim_order(table: Table, rows: Iterable[SlotRow]) -> SlotRow | None:
    """Return the row that is missed least, by the order place and park share; None of none.

    The lowest (worth keeping, load, value, blank before not, order).
    """
    return min(
        rows,
        key=lambda row: (
            worth_keeping(table, row),
            load(table, row),
            slot_value(table, row),
            not blank(table, row),
            order(table, row),
        ),
        default=None,
    )


def reclaim_slot(table: Table) -> tuple[SlotRow, PlaceReason] | None:
    """Take an idle slot that is blank or expired and costs no protected history."""
    chosen = reclaim_order(
        table,
        (row for row in table.slots if row.idle and expired(table, row) and cost(table, row) == 0),
    )
    return None if chosen is None else (chosen, "reclaim")


def least_loss(table: Table) -> tuple[SlotRow, PlaceReason] | None:
    """Overwrite, at once, the idle slot that loses least: value + cost.

    Among the losses within 10% of the lowest, the lowest (load, loss, order).
    """
    losses = [(slot_value(table, row) + cost(table, row), row) for row in table.slots if row.idle]
    if not losses:
        return None
    limit = LOSS_MARGIN * min(loss for loss, _ in losses)
    _, chosen = min(
        (item for item in losses if item[0] <= limit),
        key=lambda item: (load(table, item[1]), item[0], order(table, item[1])),
    )
    return chosen, "least_loss"
