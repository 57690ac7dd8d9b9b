"""Prompts that meet: conversations that grow, fork, end otherwise, come again.

Lives here: how a prompt comes from the histories there are. Must not live here: requests.
"""

from collections.abc import Sequence

from attrs import frozen

from slotd.sim.options import TURN_TOKEN

LONGEST = 230


def some(salt: int, size: int) -> list[int]:
    """Give `size` tokens of a small vocabulary; the same start for the same salt."""
    return [3 + (salt * 5 + at * at) % 4 for at in range(size)]


@frozen
class Change:
    """What becomes of a history's end."""

    name: str
    kept: float = 1.0
    """Share of the history that stays."""
    cut: int = 0
    """Tokens taken off what stays."""
    turn: bool = True
    """A turn token comes before what is new."""
    size: int = 0
    """New tokens."""
    header: bool = True
    """A turn token and the reply's header come last."""


CHANGES = (
    Change("another conversation", kept=0, size=12),
    Change("next turn", size=5),
    Change("next long turn", size=40),
    Change("long start", kept=0, size=60),
    Change("reply only", turn=False, size=1, header=False),
    Change("same prompt", turn=False, header=False),
    Change("regenerated", cut=3, turn=False, header=False),
    Change("other end", kept=0.9, turn=False, size=4),
    Change("other half", kept=0.5, size=20),
    Change("side request", kept=0, turn=False, size=3, header=False),
)


def changed(history: Sequence[int], change: Change, salt: int) -> list[int]:
    """Give the prompt that comes of a history; at least one token."""
    kept = [*history[: max(0, int(len(history) * change.kept) - change.cut)]]
    if len(kept) > LONGEST - 80:
        kept = kept[:7]
    prompt = kept + [TURN_TOKEN] * change.turn + some(salt, change.size)
    prompt += [TURN_TOKEN, 7] * change.header
    return prompt or [5]
