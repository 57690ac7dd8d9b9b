"""What giving a history up is expected to lose.

Here: from hazards to a loss. Not here: the hazards (`returns`), and choosing by it (`decider`).

A slot is worth what the history in it will save, for the time it is held. Holding one for `h`
seconds more saves its tokens with the chance P(h) that it comes back in that time, and takes, as
the slot is free again once it has, E(h) seconds of a slot: the integral of the chance that it has
not come back. Its loss is its best rate,

    loss = tokens * max over h of P(h) / E(h)      (tokens a second of slot)

so that a history is given up before one that saves more for the same time. (This is the index of
Gittins for holding a thing until it pays or is given up.)
"""

from __future__ import annotations

import math
from itertools import pairwise

from attrs import frozen

from slotd.policy.adaptive.returns import AGES, Floats


@frozen
class Prospect:
    """What is expected of a history at its age."""

    rate: float
    """max P(h) / E(h), per second."""
    chance: float
    """P(h) for the longest h: whether it comes back at all."""


def prospect(hazards: Floats, age: float) -> Prospect:
    """Return the prospect of a history that has been left alone for `age` seconds."""
    alone, held, best = 1.0, 0.0, 0.0
    for (start, end), hazard in zip(pairwise(AGES), hazards.tolist(), strict=True):
        if end <= age:
            continue
        still = alone * math.exp(-hazard * (end - max(start, age)))
        held += (alone - still) / hazard
        alone = still
        best = max(best, (1 - alone) / held)
    return Prospect(best, 1 - alone)
