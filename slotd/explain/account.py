"""What a rule did with one table: its candidates in its own order, and why each was not taken.

Here: the values an explanation is made of, and the words for the difference between two ranks. Not
here: which slots a rule looks at (`placing`, `parking`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from slotd.explain import words
from slotd.policy.pad_rows import HighRank, LowRank
from slotd.policy.park import OlderRank
from slotd.policy.place import ContinueRank, LossRank, ReclaimRank, SiblingRank
from slotd.policy.table import SlotRow

Rank: TypeAlias = (
    ContinueRank | SiblingRank | ReclaimRank | LowRank | HighRank | LossRank | OlderRank
)
"""What the policy ranks slots by; its fields' names say what is compared."""


@frozen
class Candidate:
    """A slot the rule could have taken."""

    slot: int
    taken: bool
    shows: str
    """What the rule looks at: `near source, match 37,352, load 1`."""
    why: str
    """What it lost by against the slot that was taken; empty for that one."""


@frozen
class Note:
    """A slot the rule could not take, and why."""

    slot: int
    why: str


@frozen
class Account:
    """One rule and what it did."""

    rule: str
    """Its name in POLICY.md."""
    decided: bool
    """It decided; the rules after it were not asked."""
    says: tuple[str, ...]
    """Sentences."""
    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    others: tuple[Note, ...] = ()
    """Slots somebody may have expected among the candidates."""


def ranked(
    rows: Sequence[SlotRow], rank: Callable[[SlotRow], Rank], shows: Callable[[SlotRow], str]
) -> tuple[Candidate, ...]:
    """Return the rows as candidates in the order of their ranks: the first is the one taken."""
    in_order = sorted(rows, key=rank)
    if not in_order:
        return ()
    best = in_order[0]
    return tuple(
        Candidate(
            row.slot,
            row is best,
            shows(row),
            "" if row is best else behind(rank(row), rank(best), best.slot),
        )
        for row in in_order
    )


def behind(rank: Rank, best: Rank, taken: int) -> str:
    """Say what a rank loses by against the best one, that of slot `taken`: the first difference."""
    for name, mine, lowest in zip(rank._fields, rank, best, strict=True):
        if mine != lowest:
            return _DIFFERENCES[name](mine, lowest, f"slot {taken}")
    raise ValueError(f"two slots of the same rank: {rank}")


def _more(what: str) -> Callable[[float, float, str], str]:
    def say(mine: float, lowest: float, slot: str) -> str:
        written, other = words.two_values(mine, lowest)
        return f"{what} {written}, {slot} has {other}"

    return say


def _fewer(what: str) -> Callable[[int, int, str], str]:
    """Say it of a number that is ranked negated: the highest first."""

    def say(mine: int, lowest: int, slot: str) -> str:
        return f"{what} {-mine:,}, {slot} has {-lowest:,}"

    return say


def _always(what: str) -> Callable[[Any, Any, str], str]:
    def say(_mine: Any, _lowest: Any, slot: str) -> str:
        return what.format(slot=slot)

    return say


_DIFFERENCES: Mapping[str, Callable[[Any, Any, str], str]] = {
    "load": lambda mine, lowest, slot: f"more load: {mine}, {slot} has {lowest}",
    "spread": _always("blank, {slot} is a near source"),
    "unmatched": _fewer("shorter match:"),
    "unshared": _fewer("shares less:"),
    "length": _fewer("shorter:"),
    "worth_keeping": _always("worth keeping, {slot} is not"),
    "value": _more("more value:"),
    "loss": _more("more loss:"),
    "height": _always("higher in its group than {slot}"),
    "depth": _always("lower in its group than {slot}"),
    "holds": _always("holds a history, {slot} is blank"),
    "order": _always("after {slot} in the spreading order"),
}
"""The words for each field of a rank: (this slot's, the taken slot's, its name)."""
