"""Measure every policy on the public trace at three loads and on generated days: REPORT.md.

    python -m tests.bench.report [--thinnings N] [--days N] [--baselines N] [--jobs N] [--to DIR]

All of REPORT.md comes from one run of this command: the real core against the simulated engine in
virtual time. Seeds are fixed, so the same code gives the same figures. What the report says beside
its figures is in `tests.bench.words`.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean

from attrs import evolve, frozen

from slotd.replay.bound import intervals, most_saved, most_shared
from slotd.replay.drive import replay
from slotd.replay.outcome import Outcome, earlier_uses, outcome
from slotd.replay.policies import POLICIES, Policy
from slotd.replay.show import counts, plot, thousands
from slotd.replay.tune import interval
from slotd.replay.warm import adaptive_after, informed, without
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day
from slotd.workload.traces import read_trace
from slotd.workload.traffic import RequestSpec, Traffic, in_order, thin
from tests.bench.prior import TRACE, prior_half
from tests.bench.words import INTRODUCTION, TRIED

HERE = Path(__file__).parent
REPORT = HERE / "REPORT.md"
PLOTS = "plots"
"""The folder of the plots, beside the report."""

LOADS = (0.01, 0.02, 0.03)
"""Shares of the public trace's conversations that one engine can serve."""
SOME = 2
"""Runs of a load at the least: of one, nobody knows what is noise."""
FIRST_SEED = 1
FIRST_DAY = 11
OTHER_DAYS = range(1001, 1009)
"""Generated days to learn from; the first of them is the day before."""
BASELINES = ("serve", "serve-groups", "lru", "llama.cpp", "value")
OPTIONS = SimOptions()
STATES = OPTIONS.batch_slots + 1

GAIN_GOAL = 0.15
"""More tokens reused than retention, mean over the loads of the public trace."""
TRACE_GOAL, DAY_GOAL = 0.75, 0.85
"""Shares of what the clairvoyant policy reuses."""


@frozen
class Task:
    """One traffic under the policies: a thinning of the trace, or (share None) a generated day."""

    share: float | None
    seed: int
    draw: bool
    baselines: bool

    @property
    def name(self) -> str:
        """What the traffic is called in the report."""
        return "agent day" if self.share is None else f"trace at {self.share:.0%}"


@frozen
class Measured:
    """One traffic's outcomes by policy, and what could be saved at all."""

    task: Task
    requests: int
    outcomes: dict[str, Outcome]
    shared: int
    bound: int


@functools.cache
def public_trace() -> Traffic:
    """Read the trace, once a process."""
    return read_trace(TRACE)


@functools.cache
def measured_half() -> Traffic:
    """Return the conversations nothing was fitted to, once a process."""
    return without(public_trace(), prior_half(public_trace()))


@functools.cache
def other_days() -> Traffic:
    """Return all the other generated days side by side, once a process."""
    days = [agent_day(seed=seed) for seed in OTHER_DAYS]
    requests: list[RequestSpec] = []
    for number, day in enumerate(days):
        first = len(requests)
        requests += [
            evolve(
                request,
                conversation=request.conversation * len(days) + number,
                after=None if request.after is None else request.after + first,
            )
            for request in day.requests
        ]
    return Traffic("other days", in_order(requests), days[0].turn_token)


def traffic_of(task: Task) -> Traffic:
    """Return a task's traffic."""
    if task.share is None:
        return agent_day(seed=task.seed)
    return thin(measured_half(), 2 * task.share, task.seed)


def traffic_before(task: Task, traffic: Traffic) -> Traffic:
    """Return other traffic of the same kind and size."""
    if task.share is None:
        return agent_day(seed=OTHER_DAYS[0] + task.seed)
    others = without(measured_half(), traffic)
    return thin(others, 2 * task.share / (1 - 2 * task.share), task.seed)


def traffic_around(task: Task, traffic: Traffic) -> Traffic:
    """Return much other traffic of the same kind."""
    return other_days() if task.share is None else without(public_trace(), traffic)


def policies_of(task: Task, traffic: Traffic) -> list[Policy]:
    """Return the policies a task is run under, in the report's order; clairvoyant is the last."""
    chosen = [
        policy for name, policy in POLICIES.items() if task.baselines or name not in BASELINES
    ]
    learned = [
        adaptive_after(traffic_before(task, traffic), OPTIONS),
        informed(traffic_around(task, traffic)),
    ]
    return [*chosen[:-1], *learned, chosen[-1]]


def measure(task: Task, plots: Path) -> Measured:
    """Run a task; its plot, where it has one, goes into a folder."""
    traffic = traffic_of(task)
    earlier = earlier_uses(traffic)
    runs = [replay(traffic, policy, OPTIONS) for policy in policies_of(task, traffic)]
    outcomes = tuple(outcome(run, earlier) for run in runs)
    if task.draw:
        plots.mkdir(exist_ok=True)
        plot(runs, outcomes, f"{task.name}, seed {task.seed}", plots / picture(task))
    last = runs[-1]
    return Measured(
        task,
        len(traffic.requests),
        {one.policy: one for one in outcomes},
        most_shared(traffic, last),
        most_saved(intervals(traffic, last), STATES),
    )


def picture(task: Task) -> str:
    """Return the file name of a task's plot."""
    return task.name.replace(" ", "-").replace("%", "-percent") + ".png"


def mean_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the mean of one policy's outcomes, token and second fields alike."""

    def mean(field: str) -> float:
        return fmean(getattr(one, field) for one in outcomes)

    def total(field: str) -> dict[str, int]:
        found: Counter[str] = Counter()
        for one in outcomes:
            found.update(getattr(one, field))
        return dict(found.most_common())

    return Outcome(
        policy=outcomes[0].policy,
        requests=round(mean("requests")),
        prompt=round(mean("prompt")),
        reused=round(mean("reused")),
        replaced=round(mean("replaced")),
        never_parked=round(mean("never_parked")),
        rewritten=round(mean("rewritten")),
        wait_mean=mean("wait_mean"),
        wait_p50=mean("wait_p50"),
        wait_p95=mean("wait_p95"),
        placements=total("placements"),
        parks=total("parks"),
        drifts=sum(one.drifts for one in outcomes),
    )


@frozen
class Against:
    """One policy's tokens on some traffics, beside another's on the same."""

    gain: float
    """Of the sums, as a share of the other's."""
    low: float
    high: float
    ratio: float
    """Of the sums."""

    def __str__(self) -> str:
        """Write the gain with its interval; one traffic has none."""
        if math.isinf(self.low):
            return f"{self.gain:+.1%}"
        return f"{self.gain:+.1%} ({self.low:+.1%} to {self.high:+.1%})"


def against(found: Sequence[Measured], policy: str, other: str) -> Against:
    """Compare two policies over the traffics both were run on."""
    pairs = [
        (one.outcomes[policy].reused, one.outcomes[other].reused)
        for one in found
        if policy in one.outcomes
    ]
    own = fmean(theirs for _, theirs in pairs)
    gain = interval([float(mine - theirs) for mine, theirs in pairs])
    ratio = sum(mine for mine, _ in pairs) / sum(theirs for _, theirs in pairs)
    return Against(gain.mean / own, gain.low / own, gain.high / own, ratio)


def section(found: Sequence[Measured]) -> Iterable[str]:
    """Write one traffic's part of the report."""
    task = found[0].task
    yield f"## {task.name.capitalize()}"
    yield ""
    many = "days" if task.share is None else "thinnings"
    yield (
        f"{len(found)} {many} (seeds {found[0].task.seed} to {found[-1].task.seed}),"
        f" {fmean(one.requests for one in found):.0f} requests each, on {OPTIONS.batch_slots} slots"
        f" in {OPTIONS.batch_groups} groups. Means; placements and parks are sums; shares and"
        " gains are of the sums over the same runs."
    )
    yield ""
    yield (
        "| policy | runs | reused | of the prompts | against retention (95%) | of clairvoyant"
        " | of the bound | replaced | never parked | rewritten | first token: mean | p50 | p95 |"
    )
    yield "| --- |" + " ---: |" * 12
    means = []
    for policy in found[0].outcomes:
        ran = [one for one in found if policy in one.outcomes]
        one = mean_outcome([each.outcomes[policy] for each in ran])
        of_bound = one.reused / fmean(each.bound for each in ran)
        means.append(one)
        gain = "-" if policy == "retention" else str(against(found, policy, "retention"))
        yield (
            f"| {policy} | {len(ran)} | {thousands(one.reused)} | {one.share:.1%} | {gain}"
            f" | {against(found, policy, 'clairvoyant').ratio:.1%} | {of_bound:.1%}"
            f" | {thousands(one.replaced)}"
            f" | {thousands(one.never_parked)} | {thousands(one.rewritten)}"
            f" | {one.wait_mean:.2f} s | {one.wait_p50:.2f} s | {one.wait_p95:.2f} s |"
        )
    yield ""
    yield (
        f"Room for everything: {thousands(round(fmean(one.shared for one in found)))}."
        f" The bound for {STATES} places: {thousands(round(fmean(one.bound for one in found)))}."
    )
    yield ""
    yield "| policy | placements | parks |"
    yield "| --- | --- | --- |"
    for one in means:
        yield f"| {one.policy} | {counts(one.placements)} | {counts(one.parks)} |"
    yield ""
    yield f"![reuse]({PLOTS}/{picture(task)})"
    yield ""


def verdict(value: float, goal: float) -> str:
    """Say whether a goal is met, or by how much it is missed."""
    return "met" if value >= goal else f"missed by {100 * (goal - value):.1f} points"


def goals(found: Sequence[Measured]) -> Iterable[str]:
    """Write what the adaptive policy was to reach, and what it reaches."""
    kinds = [[one for one in found if one.task.share == share] for share in (*LOADS, None)]
    yield "## The goals of the adaptive policy"
    yield ""
    yield (
        f"At least {GAIN_GOAL:.0%} more tokens than `retention` on the public trace (mean over the"
        f" loads), {TRACE_GOAL:.0%} of `clairvoyant` there and {DAY_GOAL:.0%} on the agent day, and"
        " never below `retention` beyond noise."
    )
    yield ""
    rows = ("adaptive", "adaptive, second day", "adaptive, informed", "clairvoyant")
    yield "| traffic | " + " | ".join(rows) + " |"
    yield "| --- |" + " --- |" * len(rows)
    for kind in kinds:
        cells = []
        for policy in rows:
            gain = against(kind, policy, "retention")
            share = against(kind, policy, "clairvoyant").ratio
            cells.append(f"{gain}, {share:.0%} of clairvoyant")
        yield f"| {kind[0].task.name} | " + " | ".join(cells) + " |"
    yield ""
    for policy in rows[:3]:
        gains = [against(kind, policy, "retention") for kind in kinds]
        shares = [against(kind, policy, "clairvoyant").ratio for kind in kinds]
        mean = fmean(gain.gain for gain in gains[:-1])
        below = [
            kind[0].task.name for kind, gain in zip(kinds, gains, strict=True) if gain.high < 0
        ]
        each = "; ".join(
            f"{kind[0].task.name} {share:.1%} ({verdict(share, goal)})"
            for kind, share, goal in zip(
                kinds, shares, [TRACE_GOAL] * len(LOADS) + [DAY_GOAL], strict=True
            )
        )
        yield (
            f"- **{policy}**: {mean:+.1%} over retention on the public trace"
            f" ({verdict(mean, GAIN_GOAL)}); of clairvoyant: {each}; below retention beyond noise:"
            f" {', '.join(below) or 'nowhere'}."
        )
    yield ""


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number of no less, and raises ValueError at anything else."""

    def whole_number(text: str) -> int:
        if (number := int(text)) < least:
            raise ValueError(text)
        return number

    return whole_number


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--thinnings", type=at_least(SOME), default=12)
    parser.add_argument("--days", type=at_least(SOME), default=4)
    parser.add_argument(
        "--baselines", type=at_least(1), default=3, help="how many of each run baselines"
    )
    parser.add_argument("--jobs", type=at_least(1), default=2)
    parser.add_argument("--to", type=Path, default=HERE, help="the folder it is written into")
    chosen = parser.parse_args(arguments)
    chosen.to.mkdir(parents=True, exist_ok=True)
    tasks = [
        Task(None, FIRST_DAY + number, number == 0, number < chosen.baselines)
        for number in range(chosen.days)
    ] + [
        Task(share, FIRST_SEED + number, number == 0, number < chosen.baselines)
        for share in reversed(LOADS)
        for number in range(chosen.thinnings)
    ]
    begin = time.monotonic()
    found: list[Measured] = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for measured in pool.map(functools.partial(measure, plots=chosen.to / PLOTS), tasks):
            found.append(measured)
            passed = time.monotonic() - begin
            sys.stderr.write(f"{len(found)}/{len(tasks)} {measured.task.name} {passed:.0f} s\n")
    command = " ".join(["python -m tests.bench.report", *(arguments or sys.argv[1:])])
    lines = [INTRODUCTION.format(command=command), *goals(found), TRIED]
    for share in (*LOADS, None):
        lines += section([one for one in found if one.task.share == share])
    (chosen.to / REPORT.name).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
