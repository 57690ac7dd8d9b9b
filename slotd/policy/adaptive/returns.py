"""How likely a conversation is to come back, learned from those that did and did not.

Here: the counts, and the hazard fitted to them. Not here: what is at stake (`loss`), or whose
history is looked at when (`watch`).

A history that has been left alone for a while either comes back in the next moment or does not. Its
hazard - returns a second - is modelled as a product

    hazard(age; turn, added, gap, length) = base(age) * f(turn) * f(added) * f(gap, age) * f(length)

over classes of what is known: how many turns the conversation has had, how much its last prompt
brought in, how long its last pause was (a conversation with short pauses comes back sooner, so this
one is by age too), how long it is. Each cell holds the returns seen and the seconds watched
(censored histories count with the seconds they were watched). Nothing seen gives the prior, the
same product of `PRIOR_BASE` and the other PRIOR_ factors: how people come back to chats. Seen
returns correct it: the base and each factor are fitted by iterative scaling to what was seen beside
`BASE_WEIGHT` and `FACTOR_WEIGHT` imagined returns that are as the prior says. The more that is, the
less a factor is taken from a handful of returns; a day of other traffic outvotes it all the same.
Older counts fade, so that the
model follows a change of traffic. Memory is constant; the same observations give the same
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import frozen

Floats = npt.NDArray[np.float64]

AGES: Final = (0.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0)
"""Edges of the age classes in seconds; nothing is expected to come back after the last."""

TURNS: Final = (2, 3, 4, 5, 8)
ADDED: Final = (256, 2048)
GAPS: Final = (40.0, 160.0, 640.0)
LENGTHS: Final = (1024, 4096, 16384, 65536)
"""Edges of the other classes: turns, tokens, seconds (a class of its own: no gap yet), tokens."""

PRIOR_BASE: Final = (9e-4, 3e-4, 6e-4, 9.5e-4, 17e-4, 14e-4, 7e-4, 3.6e-4, 1e-4, 1.6e-5, 5e-6)
PRIOR_TURNS: Final = (0.7, 0.95, 1.35, 1.5, 1.9, 2.7)
PRIOR_ADDED: Final = (1.3, 1.1, 0.27)
PRIOR_GAPS: Final = (0.8, 1.4, 1.3, 1.2, 0.6)
"""The prior: returns a second by age, and factors by turns, added tokens and gaps.

Fitted by `python -m tests.bench.prior` to one half of the conversations of a public trace of a chat
service (the reports measure the other half), and rounded. It has no factor for lengths: there
the trace's blocks hide the returns of the shortest.
"""

BASE_WEIGHT: Final = 60.0
FACTOR_WEIGHT: Final = 15.0
"""In imagined returns: how many say that the prior's base and each of its factors are right."""

FADE_AT: Final = 2000.0
"""Once so many returns are counted, all counts are halved."""

_SHAPE: Final = (len(TURNS) + 1, len(ADDED) + 1, len(GAPS) + 2, len(LENGTHS) + 1, len(AGES) - 1)
_ROUNDS: Final = 6
_EDGES: Final = np.array(AGES)
_FACTOR_AXES: Final = ((0,), (1,), (2, 4), (3,))
"""Which axes of the counts each factor varies over."""
_PRIOR: Final = np.array(PRIOR_BASE)


@frozen
class Kind:
    """The classes a history is in, as indices."""

    turn: int
    added: int
    gap: int
    length: int

    @property
    def index(self) -> tuple[int, int, int, int]:
        """The place of its counts."""
        return (self.turn, self.added, self.gap, self.length)


def _class_of(value: float, edges: Sequence[float]) -> int:
    return sum(1 for edge in edges if value >= edge)


def kind_of(turn: int, added: int, gap: float | None, tokens: int) -> Kind:
    """Classify a history: turns so far, tokens its last prompt added, last gap (s), tokens."""
    return Kind(
        _class_of(turn, TURNS),
        _class_of(added, ADDED),
        0 if gap is None else 1 + _class_of(gap, GAPS),
        _class_of(tokens, LENGTHS),
    )


def _spread(factor: Floats, axes: tuple[int, ...]) -> Floats:
    """Give a factor the shape that multiplies with the counts."""
    return factor.reshape([_SHAPE[axis] if axis in axes else 1 for axis in range(5)])


def _prior_factors() -> Floats:
    """Return the product of the prior's factors, in the shape of the counts."""
    shape: Floats = np.ones(_SHAPE)
    for axis, factor in enumerate((PRIOR_TURNS, PRIOR_ADDED, PRIOR_GAPS)):
        shape *= _spread(np.array(factor), (axis,))
    return shape


_PRIOR_FACTORS: Final = _prior_factors()


def _others(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(5) if axis not in axes)


class ReturnModel:
    """Counts of returns and of watched seconds, and the hazards they make."""

    def __init__(self) -> None:
        """Begin with nothing seen: the prior."""
        self.returns: Floats = np.zeros(_SHAPE)
        self.seconds: Floats = np.zeros(_SHAPE)
        self.seen = 0
        """Returns seen in all, faded ones included."""
        self._rates: Floats | None = None

    def watched(self, kind: Kind, start: float, end: float, returned: float = 0.0) -> None:
        """Note that a history was watched from age `start` to age `end` (seconds).

        `returned`: how much of a return ended it, 0 (none) to 1 (all of it could be reused).
        """
        end = min(end, AGES[-1])
        if end > start:
            low = np.clip(start, _EDGES[:-1], _EDGES[1:])
            high = np.clip(end, _EDGES[:-1], _EDGES[1:])
            self.seconds[kind.index] += high - low
        if returned > 0 and end < AGES[-1]:
            age = int(np.searchsorted(_EDGES, max(end, 0.0), side="right")) - 1
            self.returns[kind.index][age] += returned
            self.seen += 1
            if self.returns.sum() > FADE_AT:
                self.returns /= 2
                self.seconds /= 2

    def fit(self) -> None:
        """Fit the hazards to the counts (the module's docstring says how)."""
        returns, expected_of = self.returns, self.seconds * _PRIOR_FACTORS
        imagined = np.full(_SHAPE[4], BASE_WEIGHT / _SHAPE[4])
        by_age = returns.sum(axis=(0, 1, 2, 3)) + imagined
        base = by_age / (expected_of.sum(axis=(0, 1, 2, 3)) + imagined / _PRIOR)
        factors = [np.ones([_SHAPE[axis] for axis in axes]) for axes in _FACTOR_AXES]

        def product() -> Floats:
            rates: Floats = np.broadcast_to(base, _SHAPE).copy()
            for axes, factor in zip(_FACTOR_AXES, factors, strict=True):
                rates *= _spread(factor, axes)
            return rates

        for _ in range(_ROUNDS):
            for at, axes in enumerate(_FACTOR_AXES):
                expected = (expected_of * product()).sum(axis=_others(axes)) / factors[at]
                seen = returns.sum(axis=_others(axes))
                factors[at] = (seen + FACTOR_WEIGHT) / (expected + FACTOR_WEIGHT)
            expected = (expected_of * product()).sum(axis=(0, 1, 2, 3)) / base
            base = by_age / (expected + imagined / _PRIOR)
        self._rates = product() * _PRIOR_FACTORS

    def hazards(self, kind: Kind) -> Floats:
        """Return the hazard in each age class, returns a second, shape (len(AGES) - 1,)."""
        if self._rates is None:
            self.fit()
        assert self._rates is not None
        row: Floats = self._rates[kind.index]
        return row
