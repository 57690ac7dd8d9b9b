"""What giving a history up is expected to lose.

Here: from hazards to a loss. Not here: the hazards (`returns`), and choosing by it (`decider`).

A history that is given up costs its tokens if its conversation comes back, and nothing else:

    loss = tokens * chance that it comes back from now on

with the chance 1 - exp(-integral of the hazard from its age on). It was chosen over what else was
tried on the public trace - the best rate of returns a second it would be held (the index of
Gittins), the chance within a fixed time, the hazard of the moment: by the same hazards none of them
saved more, and all of them follow the hazard's shape by age, which is learned last.
"""

from __future__ import annotations

import math
from itertools import pairwise

from slotd.policy.adaptive.returns import AGES, Floats


def return_chance(hazards: Floats, age: float) -> float:
    """Return the chance that a history left alone for `age` seconds comes back at all."""
    expected = sum(
        hazard * (end - max(start, age))
        for (start, end), hazard in zip(pairwise(AGES), hazards.tolist(), strict=True)
        if end > age
    )
    return 1 - math.exp(-expected)
