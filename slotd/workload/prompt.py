"""Prompts without their tokens: a few runs that can be turned into token ids at any time.

A `Prompt` is a sequence of runs `(stream, start, count)`.  The token at offset `j` of stream `s` is
a fixed function of `(s, j)`, so two prompts that hold the same runs hold the same tokens, and a
prompt of 100,000 tokens costs a few dozen bytes until somebody needs the ids.  Nothing here knows
where the streams come from (a trace's blocks, a generator's texts, the blocks of a record).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from protocol.tokens import TokenIds

RunArray = npt.NDArray[np.int64]

TURN_STREAM: Final = -1
"""The stream whose every token is the turn token (the id a turn begins with)."""

TURN_TOKEN: Final = 248_045
"""The turn token of the engines in the seeds; an engine says its own in INFO (`turn_token=`)."""

_FIRST_TEXT_TOKEN: Final = 1_000
_TEXT_TOKENS: Final = 200_000


def _token_ids(streams: RunArray, offsets: RunArray, turn_token: int) -> TokenIds:
    """Return the tokens at `offsets` of `streams`: a 64-bit mix, or the turn token."""
    with np.errstate(over="ignore"):
        mixed = streams.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed += offsets.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    tokens = (mixed % np.uint64(_TEXT_TOKENS)).astype(np.int32) + np.int32(_FIRST_TEXT_TOKEN)
    return np.where(streams == TURN_STREAM, np.int32(turn_token), tokens).astype(np.int32)


def _merged(rows: RunArray) -> RunArray:
    """Return `rows` (n x 3) without empty runs, with runs that continue one another joined."""
    rows = rows[rows[:, 2] > 0]
    if len(rows) < 2:
        return rows
    begins = np.ones(len(rows), dtype=bool)
    same_stream = rows[1:, 0] == rows[:-1, 0]
    goes_on = rows[1:, 1] == rows[:-1, 1] + rows[:-1, 2]
    begins[1:] = ~(same_stream & goes_on) | (rows[1:, 0] == TURN_STREAM)
    firsts = np.flatnonzero(begins)
    joined = rows[firsts].copy()
    joined[:, 2] = np.add.reduceat(rows[:, 2], firsts)
    return joined


def _as_rows(runs: Iterable[tuple[int, int, int]] | RunArray) -> RunArray:
    rows = runs if isinstance(runs, np.ndarray) else np.array(list(runs), dtype=np.int64)
    rows = _merged(rows.reshape(-1, 3))
    rows.flags.writeable = False
    return rows


@frozen(eq=False)
class Prompt:
    """A text as runs: `runs` is an int64 array of shape (n, 3) with rows (stream, start, count).

    Rows are kept joined, so equal texts that were put together in different pieces of the same
    streams have equal rows.  Turn tokens are rows of `TURN_STREAM` with start 0 and count 1.
    """

    runs: RunArray = field(converter=_as_rows)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return int(self.runs[:, 2].sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prompt):
            return NotImplemented
        return bool(np.array_equal(self.runs, other.runs))

    def __hash__(self) -> int:
        return hash(self.runs.tobytes())

    def tokens(self, turn_token: int = TURN_TOKEN) -> TokenIds:
        """Return the token ids, shape (len(self),); the same every time."""
        counts = self.runs[:, 2]
        total = int(counts.sum())
        ends = np.cumsum(counts)
        streams = np.repeat(self.runs[:, 0], counts)
        shifts = np.repeat(self.runs[:, 1] - (ends - counts), counts)
        return _token_ids(streams, np.arange(total, dtype=np.int64) + shifts, turn_token)

    def part(self, start: int, end: int) -> Prompt:
        """Return tokens `start` up to (not including) `end`, cut to the prompt's length."""
        counts = self.runs[:, 2]
        ends = np.cumsum(counts)
        begins = ends - counts
        low = np.clip(start - begins, 0, counts)
        high = np.clip(end - begins, 0, counts)
        rows = self.runs.copy()
        rows[:, 1] += low
        rows[:, 2] = np.maximum(high - low, 0)
        rows[rows[:, 0] == TURN_STREAM, 1] = 0
        return Prompt(rows)

    def __add__(self, other: Prompt) -> Prompt:
        return Prompt(np.concatenate([self.runs, other.runs]))

    def shared(self, other: Prompt) -> int:
        """Return the number of tokens both begin with."""
        rows = min(len(self.runs), len(other.runs))
        # Number by number and not row by row: several times as fast, and long prompts are many.
        differs = self.runs[:rows].ravel() != other.runs[:rows].ravel()
        first = int(differs.argmax()) // self.runs.shape[1] if differs.any() else rows
        common = int(self.runs[:first, 2].sum())
        if first < rows:
            mine, theirs = self.runs[first], other.runs[first]
            if mine[0] == theirs[0] and mine[1] == theirs[1]:
                common += int(min(mine[2], theirs[2]))
        return common

    def last_turn(self) -> int | None:
        """Return the number of tokens before the last turn token; None when there is none."""
        rows = np.flatnonzero(self.runs[:, 0] == TURN_STREAM)
        return int(self.runs[: rows[-1], 2].sum()) if len(rows) else None


NOTHING: Final = Prompt(())


def text(stream: int, count: int, start: int = 0) -> Prompt:
    """Return `count` tokens of `stream`, from offset `start` on."""
    return Prompt(((stream, start, count),))


TURN: Final = Prompt(((TURN_STREAM, 0, 1),))
"""One turn token."""
