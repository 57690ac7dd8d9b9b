"""The slot an admission, or the reservation of a read that gives way, goes to.

Here: POLICY.md, place(), one function a rule, and the reclaim order that a park shares. Not here:
what else moves because of the placement (see `park`).
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from attrs import frozen

from slotd.policy.match import hint, match, resumable
from slotd.policy.pad_rows import HighRank, LowRank, goes_low, high_rank, low_rank, value_lost
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

Chosen: TypeAlias = tuple[SlotRow, PlaceReason]
"""A slot, and the rule that chose it."""

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
    return place_by(
        table,
        lambda: (
            continue_or_spread(table) or sibling(table) or reclaim_slot(table) or least_loss(table)
        ),
    )


def place_by(table: Table, choose: Callable[[], Chosen | None]) -> Placement:
    """Place the table's request where `choose` says: a slot and why, None where none is idle.

    A solo request takes no slot, and nothing is chosen for it.
    """
    resume = hint(table)
    if table.request.solo:
        return Placement(None, "solo", resume.source, resume.tokens, None)
    chosen = choose()
    if chosen is None:
        return Placement(None, "none_idle", resume.source, resume.tokens, None)
    row, reason = chosen
    return Placement(row.slot, reason, resume.source, resume.tokens, slot_score(table, row))


def near_margin(table: Table, best: int) -> float:
    """Return how many tokens below the longest match, `best`, a match is as good as it."""
    return max(NEAR_SHARE * best, NEAR_SECONDS * table.prompt_rate, NEAR_TOKENS)


def near_sources(table: Table) -> list[SlotRow]:
    """Return the slots whose match is about as long as the longest; none when nothing matches.

    About: within 2% of the best, one second of the prompt rate, or 4,096 tokens.
    """
    matches = [(match(table, row), row) for row in table.slots]
    best = max((length for length, _ in matches), default=0)
    if best == 0:
        return []
    margin = near_margin(table, best)
    return [row for length, row in matches if length > 0 and best - length <= margin]


def spread_slots(table: Table, sources: list[SlotRow]) -> list[SlotRow]:
    """Return the blank idle slots whose load is below that of every near source."""
    near = {row.slot for row in sources}
    least_load = min(load(table, row) for row in sources)
    return [
        row
        for row in table.slots
        if row.slot not in near and row.idle and blank(table, row) and load(table, row) < least_load
    ]


class ContinueRank(NamedTuple):
    """What the candidates of continue and spread are ranked by, the lowest first."""

    load: int
    spread: bool
    unmatched: int
    """The match, negated."""
    order: tuple[int, int]


def continue_rank(table: Table, row: SlotRow, sources: list[SlotRow]) -> ContinueRank:
    """Return the slot's rank: (load, source before blank, -match, order)."""
    near = any(row.slot == source.slot for source in sources)
    return ContinueRank(load(table, row), not near, -match(table, row), order(table, row))


def continue_or_spread(table: Table) -> Chosen | None:
    """Keep a continued conversation in its slot, or spread it to a less loaded group.

    Candidates: the near sources, and the blank idle slots whose load is below every near source's;
    the lowest rank.
    """
    sources = near_sources(table)
    if not sources:
        return None
    chosen = min(
        sources + spread_slots(table, sources), key=lambda row: continue_rank(table, row, sources)
    )
    near = any(chosen.slot == source.slot for source in sources)
    return chosen, "continue" if near else "spread"


class SiblingRank(NamedTuple):
    """What older versions of a conversation are ranked by, the lowest first."""

    unshared: int
    """The tokens in common, negated."""
    order: tuple[int, int]


def sibling_versions(table: Table) -> list[SlotRow]:
    """Return the older versions of the prompt's conversation; none when the rule is off.

    One is a resumable history of which sibling_share or more, but not all, begins the prompt.
    """
    least_share = table.settings.sibling_share
    if least_share == 0:
        return []
    return [
        row
        for row in table.slots
        if row.shared < row.tokens
        and resumable(table, row)
        and row.shared / row.tokens >= least_share
    ]


def sibling_rank(table: Table, row: SlotRow) -> SiblingRank:
    """Return an older version's rank: the most shared, then order."""
    return SiblingRank(-row.shared, order(table, row))


def sibling(table: Table) -> Chosen | None:
    """Replace an older version of the same conversation, protected or not: the most shared."""
    versions = sibling_versions(table)
    if not versions:
        return None
    return min(versions, key=lambda row: sibling_rank(table, row)), "sibling"


class ReclaimRank(NamedTuple):
    """What slots are given up by, the lowest first."""

    worth_keeping: bool
    load: int
    value: float
    holds: bool
    """The slot is not blank."""
    order: tuple[int, int]


def reclaim_rank(table: Table, row: SlotRow) -> ReclaimRank:
    """Return the slot's rank: (worth keeping, load, value, blank before not, order)."""
    return ReclaimRank(
        worth_keeping(table, row),
        load(table, row),
        slot_value(table, row),
        not blank(table, row),
        order(table, row),
    )


def request_rank(table: Table, row: SlotRow) -> ReclaimRank | LowRank:
    """Return what a request's slot is ranked by: the reclaim rank, unless requests go low."""
    return low_rank(table, row) if goes_low(table) else reclaim_rank(table, row)


def park_rank(table: Table, row: SlotRow) -> ReclaimRank | HighRank:
    """Return what a park's slot is ranked by: the reclaim rank, unless parks go high."""
    return high_rank(table, row) if goes_low(table) else reclaim_rank(table, row)


def reclaim_order(table: Table, rows: Iterable[SlotRow], *, park: bool = False) -> SlotRow | None:
    """Return the row that is missed least, by the order place and park share; None of none.

    `park`: it is for a park, which makes a difference where parks go high.
    """
    rank = park_rank if park else request_rank
    return min(rows, key=lambda row: rank(table, row), default=None)


def reclaimable(table: Table) -> list[SlotRow]:
    """Return the idle slots that are blank or expired and cost no protected history."""
    return [
        row for row in table.slots if row.idle and expired(table, row) and cost(table, row) == 0
    ]


def reclaim_slot(table: Table) -> Chosen | None:
    """Take the reclaimable slot that is missed least."""
    chosen = reclaim_order(table, reclaimable(table))
    return None if chosen is None else (chosen, "reclaim")


class LossRank(NamedTuple):
    """What about equal losses are ranked by, the lowest first."""

    load: int
    loss: float
    order: tuple[int, int]


def loss(table: Table, row: SlotRow) -> float:
    """Return what overwriting the idle slot loses: value + cost.

    Where requests go low: the value of all that is lost, protected or not.
    """
    if goes_low(table):
        return value_lost(table, row)
    return slot_value(table, row) + cost(table, row)


def loss_rank(table: Table, row: SlotRow) -> LossRank:
    """Return the slot's rank among about equal losses: (load, loss, order)."""
    return LossRank(load(table, row), loss(table, row), order(table, row))


def least_losses(table: Table) -> list[SlotRow]:
    """Return the idle slots whose loss is within 10% of the lowest; none when none is idle."""
    losses = [(loss(table, row), row) for row in table.slots if row.idle]
    limit = LOSS_MARGIN * min((lost for lost, _ in losses), default=0.0)
    return [row for lost, row in losses if lost <= limit]


def least_loss(table: Table) -> Chosen | None:
    """Overwrite, at once, the idle slot that loses least; of about equal losses the lowest rank."""
    about_equal = least_losses(table)
    if not about_equal:
        return None
    return min(about_equal, key=lambda row: loss_rank(table, row)), "least_loss"
