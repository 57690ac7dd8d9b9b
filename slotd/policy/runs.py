"""Token lists written as runs of consecutive ids, compared without writing the ids out.

Here: the form token lists have in the tables of `slotd decide`. A run of 90,000 ids is compared in
one step, so that trying settings on long conversations is not slow. Not here: histories of a
running engine, which are arrays of ids.
"""

from collections.abc import Iterable

import numpy as np
from attrs import Factory, field, frozen

from protocol.tokens import EMPTY, TokenIds

Run = tuple[int, int]
"""First id, number of consecutive ids."""

MAX_ID = 2**31 - 1
"""The highest token id an array of ids can hold."""

_BLOCK = 64


def _with_ids(runs: Iterable[Run]) -> tuple[Run, ...]:
    return tuple([run for run in runs if run[1]])


def _count(tokens: "Runs") -> int:
    return sum([count for _, count in tokens.runs])


@frozen
class Runs:
    """Tokens as (first id, number of consecutive ids) runs, in order."""

    runs: tuple[Run, ...] = field(converter=_with_ids)
    """Runs without ids are dropped."""
    _length: int = field(init=False, repr=False, eq=False, default=Factory(_count, takes_self=True))

    def __len__(self) -> int:
        return self._length

    def ids(self) -> TokenIds:
        """Write the tokens out as an int32 array of shape (tokens,)."""
        if not self.runs:
            return EMPTY
        return np.concatenate(
            [np.arange(first, first + count, dtype=np.int32) for first, count in self.runs]
        )

    def common_prefix(self, other: "Runs") -> int:
        """Return how many tokens both lists begin with in common."""
        if not self.runs or not other.runs or self.runs[0][0] != other.runs[0][0]:
            return 0  # most pairs: different conversations
        at = _equal_runs(self.runs, other.runs)
        shared = sum(count for _, count in self.runs[:at])
        mine, theirs = iter(self.runs[at:]), iter(other.runs[at:])
        left = right = (0, 0)
        while True:
            left = left if left[1] else next(mine, (0, 0))
            right = right if right[1] else next(theirs, (0, 0))
            step = min(left[1], right[1])
            if step == 0 or left[0] != right[0]:
                return shared
            shared += step
            left = (left[0] + step, left[1] - step)
            right = (right[0] + step, right[1] - step)

    def last_index(self, token: int) -> int | None:
        """Return the position of the last `token`, or None when there is none."""
        end = len(self)
        for first, count in reversed(self.runs):
            end -= count
            if first <= token < first + count:
                return end + token - first
        return None


def _equal_runs(a: tuple[Run, ...], b: tuple[Run, ...]) -> int:
    # Blocks of runs are compared by the interpreter at once: lists of single ids have many.
    at, end = 0, min(len(a), len(b))
    while at + _BLOCK <= end and a[at : at + _BLOCK] == b[at : at + _BLOCK]:
        at += _BLOCK
    while at < end and a[at] == b[at]:
        at += 1
    return at
