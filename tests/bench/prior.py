"""Print the adaptive policy's prior, as it is fitted to one half of the public trace.

    python -m tests.bench.prior

The half is `prior_half`; the other one is what `tests.bench.report` measures. The policy holds the
figures rounded.
"""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from slotd.policy.adaptive.returns import Floats, ReturnModel
from slotd.replay.warm import taught
from slotd.workload.traces import read_trace
from slotd.workload.traffic import Traffic, thin
from tests.paths import SHARED

TRACE = SHARED / "traces" / "mooncake_conversation.jsonl"
PRIOR_SEED: Final = 0
_NAMES: Final = ("turns", "added", "gaps", "lengths")
_LITTLE: Final = 3.0
"""Imagined returns for each factor's class, so that one never seen is 1."""


def prior_half(trace: Traffic) -> Traffic:
    """Return the half of the trace's conversations that the prior was fitted to."""
    return thin(trace, 0.5, PRIOR_SEED)


def factors_of(model: ReturnModel, rounds: int = 20) -> tuple[Floats, list[Floats]]:
    """Fit base(age) * one factor for each other axis to a model's counts, by iterative scaling."""
    returns, seconds = model.returns, model.seconds
    axes = len(returns.shape) - 1
    others = [tuple(axis for axis in range(axes + 1) if axis != own) for own in range(axes)]
    base = returns.sum(axis=tuple(range(axes))) / seconds.sum(axis=tuple(range(axes)))
    factors: list[Floats] = [np.ones(size) for size in returns.shape[:axes]]

    def expected() -> Floats:
        rates = base.reshape([1] * axes + [-1])
        for axis, factor in enumerate(factors):
            rates = rates * factor.reshape([-1 if at == axis else 1 for at in range(axes + 1)])
        product: Floats = seconds * rates
        return product

    for _ in range(rounds):
        for axis in range(axes):
            alone = expected().sum(axis=others[axis]) / factors[axis]
            seen = returns.sum(axis=others[axis])
            factors[axis] = (seen + _LITTLE) / (alone + _LITTLE)
        base = base * returns.sum(axis=tuple(range(axes))) / expected().sum(axis=tuple(range(axes)))
    return base, factors


def main() -> None:
    """Fit and print."""
    base, factors = factors_of(taught(prior_half(read_trace(TRACE))))
    lines = ["base " + " ".join(f"{rate:.2g}" for rate in base)]
    for name, factor in zip(_NAMES, factors, strict=True):
        lines.append(f"{name} " + " ".join(f"{value:.2f}" for value in factor))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
