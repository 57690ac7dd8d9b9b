"""Settings that fit one's own traffic: searched on its first part, reported on the rest.

Here: the search and its statistics. Not here: the command.

The traffic is split by time; both parts are thinned several times, by different seeds. The search
goes through the settings one after the other, tries each one's candidates with the others as found
so far, and keeps what reuses most tokens over the first part's thinnings. What is reported is the
second part's: for each thinning, how many tokens more the found settings reuse than the defaults;
their mean, and the 95% confidence interval of it by Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Final

from attrs import evolve, frozen

from slotd.policy.settings import PolicySettings
from slotd.replay.drive import replay
from slotd.replay.policies import POLICIES
from slotd.sim.options import SimOptions
from slotd.workload.traffic import Traffic, between, thin

CANDIDATES: Final[dict[str, tuple[float, ...]]] = {
    "ttl_max_s": (0, 30, 240, 600),
    "idle_value_zero_s": (0, 600, 3600),
    "park_value_ratio": (0, 1, 4),
    "expired_keep_score": (0, 0.05),
    "park_min_value": (0, 0.1),
}
"""What is tried beside the default, setting by setting."""

_T_95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14)
"""Student's t for 95% by degrees of freedom, from 1; beyond the list 2.13 is near enough."""


@frozen
class Interval:
    """A mean with its 95% confidence interval."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of `values` and its 95% confidence interval; one value has an endless one."""
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, -math.inf, math.inf)
    freedom = len(values) - 1
    factor = _T_95[freedom - 1] if freedom <= len(_T_95) else 2.13
    half = factor * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


@frozen
class Tuned:
    """What the search found, and what it is worth on traffic it has not seen."""

    settings: PolicySettings
    tried: int
    """Settings that were tried, the defaults included."""
    default_tokens: float
    """Tokens the defaults reuse on the second part, mean over its thinnings."""
    gain: Interval
    """Tokens more with the found settings."""

    @property
    def beats(self) -> bool:
        """Tell whether the gain is beyond noise."""
        return self.settings != PolicySettings() and self.gain.low > 0


def tune(
    traffic: Traffic,
    options: SimOptions,
    *,
    share: float,
    thinnings: int,
    seed: int,
    split: float = 0.5,
    on_run: Callable[[], None] = lambda: None,
) -> Tuned:
    """Search the settings.

    Args:
        traffic: one's own.
        options: the engine.
        share: of the conversations, in each thinning.
        thinnings: of each part.
        seed: the first part's thinnings are seeds seed, seed + 1, ...; the second's go on from it.
        split: the part of the time that is searched on.
        on_run: called after every replay.
    """
    border = traffic.requests[0].arrival + split * traffic.seconds
    first = between(traffic, 0, border)
    second = between(traffic, border, math.inf)
    searched = [thin(first, share, seed + number) for number in range(thinnings)]
    reported = [thin(second, share, seed + thinnings + number) for number in range(thinnings)]

    def reuse(settings: PolicySettings, traffics: list[Traffic]) -> list[float]:
        found = []
        for part in traffics:
            run = replay(part, POLICIES["retention"].with_settings(settings), options)
            found.append(float(sum(row.reused for row in run.rows)))
            on_run()
        return found

    best, tried = PolicySettings(), 1
    most = fmean(reuse(best, searched))
    for name, candidates in CANDIDATES.items():
        for candidate in candidates:
            settings = evolve(best, **{name: candidate})
            tried += 1
            tokens = fmean(reuse(settings, searched))
            if tokens > most:
                best, most = settings, tokens
    defaults = reuse(PolicySettings(), reported)
    found = defaults if best == PolicySettings() else reuse(best, reported)
    gains = [mine - theirs for mine, theirs in zip(found, defaults, strict=True)]
    return Tuned(best, tried, fmean(defaults), interval(gains))


def runs_needed(thinnings: int) -> int:
    """Return how many replays a search takes at most."""
    return thinnings * (3 + sum(len(candidates) for candidates in CANDIDATES.values()))
