"""Settings that fit one's own traffic: searched on its first part, reported on the rest.

Here: the search and its statistics. Not here: the command.

The traffic is split by time; both parts are thinned several times, by different seeds. The search
goes through the settings one after the other, tries each one's candidates with the others as found
so far, and keeps what reuses most tokens over the first part's thinnings. What is reported is the
second part's: for each thinning, how many tokens more the found settings reuse than the defaults;
their mean, and the 95% confidence interval of it by Student's t. Thinnings of one part have
conversations in common, so that another day may differ by more than the interval says.
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

_HALF: Final = 0.5
"""The part of the traffic's time that is searched on."""


class TooLittleTrafficError(Exception):
    """A part of the traffic has no two thinnings that differ; the message says what to do."""


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
class Part:
    """One half of the traffic, by time."""

    requests: int
    conversations: int
    thinnings: tuple[Traffic, ...]
    """Each another choice of its conversations: one that came up twice is here once."""


@frozen
class Tuned:
    """What the search found, and what it is worth on traffic it has not seen."""

    settings: PolicySettings
    tried: int
    """Settings that were tried, the defaults included."""
    first_tokens: float
    """Tokens the defaults reuse on the first part, mean over its thinnings."""
    default_tokens: float
    """The same on the second part."""
    gain: Interval
    """Tokens more with the found settings, on the second part."""
    first: Part
    second: Part

    @property
    def beats(self) -> bool:
        """Tell whether the gain is beyond noise."""
        return self.settings != PolicySettings() and self.gain.low > 0


def parts(traffic: Traffic, *, share: float, thinnings: int, seed: int) -> tuple[Part, Part]:
    """Split a traffic in the middle of its time and thin both halves; no request is in both.

    Raises:
        TooLittleTrafficError: a half has no two thinnings that differ.
    """
    if not traffic.requests:
        raise TooLittleTrafficError(f"{traffic.name}: there is no request in it")
    border = traffic.requests[0].arrival + _HALF * traffic.seconds
    halves = between(traffic, -math.inf, border), between(traffic, border, math.inf)
    first, second = (
        _thinned(half, share, range(begin, begin + thinnings))
        for half, begin in zip(halves, (seed, seed + thinnings), strict=True)
    )
    if min(len(first.thinnings), len(second.thinnings)) < 2:
        raise TooLittleTrafficError(
            f"{traffic.name}: {first.conversations} conversations in the first half of its time and"
            f" {second.conversations} in the second are too few to tell a gain from noise: give a"
            " longer record"
        )
    return first, second


def _thinned(half: Traffic, share: float, seeds: Sequence[int]) -> Part:
    different: dict[tuple[int, ...], Traffic] = {}
    for number in seeds:
        kept = thin(half, share, number)
        if kept.requests:
            different.setdefault(kept.conversations, kept)
    return Part(len(half.requests), len(half.conversations), tuple(different.values()))


def tune(
    traffic: Traffic,
    options: SimOptions,
    *,
    share: float,
    thinnings: int,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
) -> Tuned:
    """Search the settings.

    Args:
        traffic: one's own.
        options: the engine.
        share: of the conversations, in each thinning.
        thinnings: of each part.
        seed: the first part's thinnings are seeds seed, seed + 1, ...; the second's go on from it.
        on_run: called after every replay.

    Raises:
        TooLittleTrafficError: a half of the traffic has no two thinnings that differ.
    """
    first, second = parts(traffic, share=share, thinnings=thinnings, seed=seed)

    def reuse(settings: PolicySettings, part: Part) -> list[float]:
        found = []
        for thinned in part.thinnings:
            run = replay(thinned, POLICIES["retention"].with_settings(settings), options)
            found.append(float(sum(row.reused for row in run.rows)))
            on_run()
        return found

    best, tried = PolicySettings(), 1
    most = first_tokens = fmean(reuse(best, first))
    for name, candidates in CANDIDATES.items():
        for candidate in candidates:
            settings = evolve(best, **{name: candidate})
            tried += 1
            tokens = fmean(reuse(settings, first))
            if tokens > most:
                best, most = settings, tokens
    defaults = reuse(PolicySettings(), second)
    found = defaults if best == PolicySettings() else reuse(best, second)
    gains = [mine - theirs for mine, theirs in zip(found, defaults, strict=True)]
    return Tuned(best, tried, first_tokens, fmean(defaults), interval(gains), first, second)


def runs_needed(thinnings: int) -> int:
    """Return how many replays a search takes at most."""
    return thinnings * (3 + sum(len(candidates) for candidates in CANDIDATES.values()))
