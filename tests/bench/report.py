"""Measure every policy on the public trace at three loads and on generated days: REPORT.md.

    python -m tests.bench.report [--thinnings N] [--days N] [--jobs N]

Every figure in REPORT.md comes from one run of this command: the real core against the simulated
engine in virtual time. Seeds are fixed, so the same code gives the same figures.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean

from attrs import frozen

from slotd.replay.bound import intervals, most_saved
from slotd.replay.drive import replay
from slotd.replay.outcome import Outcome, earlier_uses, outcome
from slotd.replay.policies import POLICIES
from slotd.replay.show import counts, plot, thousands
from slotd.replay.tune import interval
from slotd.replay.warm import adaptive_after, without
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day
from slotd.workload.traces import read_trace
from slotd.workload.traffic import Traffic, thin
from tests.paths import SHARED

HERE = Path(__file__).parent
REPORT = HERE / "REPORT.md"
PLOTS = HERE / "plots"
TRACE = SHARED / "traces" / "mooncake_conversation.jsonl"

LOADS = (0.01, 0.02, 0.03)
"""Shares of the public trace's conversations that one engine can serve."""
FIRST_SEED = 1
"""The adaptive policy was developed with thinnings 100 and up, and day 1: none of these."""
FIRST_DAY = 11
SECOND_DAY = "adaptive, second day"
OPTIONS = SimOptions()
STATES = OPTIONS.batch_slots + 1


@frozen
class Task:
    """One traffic under every policy: a thinning of the trace, or (share None) a generated day."""

    share: float | None
    seed: int
    draw: bool

    @property
    def name(self) -> str:
        """What the traffic is called in the report."""
        return "agent day" if self.share is None else f"trace at {self.share:.0%}"


@frozen
class Measured:
    """One traffic's outcomes, and the exact bound for the clairvoyant run's times."""

    task: Task
    requests: int
    outcomes: tuple[Outcome, ...]
    bound: int


@functools.cache
def public_trace() -> Traffic:
    """Read the trace, once a process."""
    return read_trace(TRACE)


def traffics(task: Task) -> tuple[Traffic, Traffic]:
    """Return a task's traffic, and other traffic of the same kind that came before it."""
    if task.share is None:
        return agent_day(seed=task.seed), agent_day(seed=task.seed + 1000)
    traffic = thin(public_trace(), task.share, task.seed)
    others = without(public_trace(), traffic)
    return traffic, thin(others, task.share / (1 - task.share), task.seed)


def measure(task: Task) -> Measured:
    """Run a task."""
    traffic, before = traffics(task)
    policies = [*POLICIES.values()]
    policies.insert(-1, adaptive_after(before, OPTIONS))
    earlier = earlier_uses(traffic)
    runs = [replay(traffic, policy, OPTIONS) for policy in policies]
    outcomes = tuple(outcome(run, earlier) for run in runs)
    if task.draw:
        PLOTS.mkdir(exist_ok=True)
        plot(runs, outcomes, f"{task.name}, seed {task.seed}", PLOTS / picture(task))
    return Measured(
        task, len(traffic.requests), outcomes, most_saved(intervals(traffic, runs[-1]), STATES)
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


def section(found: Sequence[Measured]) -> Iterable[str]:
    """Write one traffic's part of the report."""
    task = found[0].task
    yield f"## {task.name.capitalize()}"
    yield ""
    many = "days" if task.share is None else "thinnings"
    yield (
        f"{len(found)} {many} (seeds {found[0].task.seed} to {found[-1].task.seed}),"
        f" {fmean(one.requests for one in found):.0f} requests each, on {OPTIONS.batch_slots} slots"
        f" in {OPTIONS.batch_groups} groups. Means; placements and parks are sums."
    )
    yield ""
    by_policy = list(zip(*(one.outcomes for one in found), strict=True))
    names = [policy[0].policy for policy in by_policy]
    base = by_policy[names.index("retention")]
    greedy = fmean(one.reused for one in by_policy[names.index("clairvoyant")])
    yield (
        "| policy | reused | of the prompts | against retention (95%) | of clairvoyant"
        " | of the bound | replaced | never parked | rewritten | first token: mean | p50 | p95 |"
    )
    yield "| --- |" + " ---: |" * 11
    bound = fmean(one.bound for one in found)
    for policy in by_policy:
        one = mean_outcome(policy)
        gain = interval(
            [mine.reused - theirs.reused for mine, theirs in zip(policy, base, strict=True)]
        )
        own = fmean(each.reused for each in base)
        against = (
            "-"
            if one.policy == "retention"
            else f"{gain.mean / own:+.1%} ({gain.low / own:+.1%} to {gain.high / own:+.1%})"
        )
        yield (
            f"| {one.policy} | {thousands(one.reused)} | {one.share:.1%} | {against}"
            f" | {one.reused / greedy:.1%} | {one.reused / bound:.1%} | {thousands(one.replaced)}"
            f" | {thousands(one.never_parked)} | {thousands(one.rewritten)}"
            f" | {one.wait_mean:.2f} s | {one.wait_p50:.2f} s | {one.wait_p95:.2f} s |"
        )
    yield ""
    yield f"The exact bound ({STATES} states, the clairvoyant run's times): {thousands(bound)}."
    yield ""
    yield "| policy | placements | parks |"
    yield "| --- | --- | --- |"
    for policy in by_policy:
        one = mean_outcome(policy)
        yield f"| {one.policy} | {counts(one.placements)} | {counts(one.parks)} |"
    yield ""
    yield f"![reuse](plots/{picture(task)})"
    yield ""


INTRODUCTION = """\
# What the policies reuse

Written by `python -m tests.bench.report`; every figure is from one run of it. The traffic goes
through the real core against the simulated engine in virtual time, at the published speeds.

- **The public trace** is one hour of a chat service for many engines. A load is the share of its
  conversations that is kept; each thinning keeps others. Requests are sent by their times, and
  never before the reply they continue has ended.
- **The agent day** is `slotd workload agents`: 8 hours of two people, in a closed loop.
- **serve**, **serve-groups**: the serve process's own choice of a slot, slotd deciding nothing.
  **lru**, **llama.cpp**, **value** (retention without protection), **retention** (the default):
  see `slotd/replay/policies.py`. **adaptive** begins with nothing learned in every run; **adaptive,
  second day** has learned on other traffic of the same kind before (other conversations of the
  trace at the same load; another generated day), through what is kept over a restart.
- **clairvoyant** is greedy: it gives up what saves least a second until its next use. The **bound**
  is the exact optimum, for its times, of reuse within a conversation by whole histories and the one
  checkpoint a slot keeps; running requests take no room in it. It does not count the main session's
  other checkpoints nor what conversations share with each other: where those matter, as on the
  agent day, policies come out above it, and it bounds nothing.
- *replaced*, *never parked*, *rewritten*: tokens read again that an earlier history held, by what
  became of it (`slotd/replay/outcome.py`).
- Confidence intervals are over the thinnings or days (paired, Student's t).
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--thinnings", type=int, default=6)
    parser.add_argument("--days", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args(arguments)
    tasks = [Task(None, FIRST_DAY + number, number == 0) for number in range(chosen.days)] + [
        Task(share, FIRST_SEED + number, number == 0)
        for share in reversed(LOADS)
        for number in range(chosen.thinnings)
    ]
    begin = time.monotonic()
    found: list[Measured] = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for measured in pool.map(measure, tasks):
            found.append(measured)
            passed = time.monotonic() - begin
            sys.stderr.write(f"{len(found)}/{len(tasks)} {measured.task.name} {passed:.0f} s\n")
    lines = [INTRODUCTION]
    for share in (*LOADS, None):
        lines += section([one for one in found if one.task.share == share])
    REPORT.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
