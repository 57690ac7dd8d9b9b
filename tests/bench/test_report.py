import re

import pytest
from attrs import evolve

from slotd.replay.outcome import Outcome
from tests.bench.report import LOADS, REPORT, Measured, Task, against, goals, main, section
from tests.bench.words import INTRODUCTION, TRIED

REUSED = {
    "serve": 50,
    "retention": 100,
    "adaptive": 120,
    "adaptive, second day": 114,
    "adaptive, informed": 130,
    "clairvoyant": 200,
}
OUTCOME = Outcome(
    policy="",
    requests=9,
    prompt=400,
    reused=0,
    replaced=0,
    never_parked=0,
    rewritten=0,
    wait_mean=1.0,
    wait_p50=1.0,
    wait_p95=1.0,
    placements={"solo": 2},
    parks={},
    drifts=0,
)


def measured(share: float | None, seed: int) -> Measured:
    outcomes = {
        name: evolve(OUTCOME, policy=name, reused=1000 * reused + seed)
        for name, reused in REUSED.items()
    }
    return Measured(Task(share, seed, False, True), 9, outcomes, 300_000, 250_000)


FOUND = [measured(share, seed) for share in (*LOADS, None) for seed in (1, 2, 3)]


def test_a_gain_is_a_share_of_the_sums_over_the_same_runs() -> None:
    alone = against(FOUND[:3], "adaptive", "retention")
    assert alone.gain == pytest.approx(20_000 / 100_002)
    assert alone.low == alone.high == pytest.approx(alone.gain)
    some = [FOUND[0], *(evolve(one, outcomes=one.outcomes | {}) for one in FOUND[1:3])]
    del some[2].outcomes["serve"]
    assert against(some, "serve", "retention").gain == pytest.approx(-50_000 / 100_001.5)


def test_goals_are_said_to_be_met_or_missed_by_how_much() -> None:
    told = "\n".join(goals(FOUND))
    assert "**adaptive**: +20.0% over retention on the public trace (met)" in told
    assert "trace at 1% 60.0% (missed by 15.0 points)" in told
    assert "**adaptive, second day**: +14.0% over retention on the public trace (missed by" in told
    assert "below retention beyond noise: nowhere." in told


def test_a_policy_below_retention_beyond_noise_is_named() -> None:
    worse = [
        evolve(one, outcomes=one.outcomes | {"adaptive": one.outcomes["serve"]})
        if one.task.share is None
        else one
        for one in FOUND
    ]
    told = "\n".join(goals(worse))
    assert "below retention beyond noise: agent day." in told


def test_a_section_has_a_row_for_every_policy() -> None:
    told = list(section(FOUND[:3]))
    assert told[0] == "## Trace at 1%"
    rows = [line.split(" | ")[0].strip("| ") for line in told if re.match(r"\| .*%", line)]
    assert rows == ["policy", *REUSED]


def test_every_sentence_of_the_report_is_the_commands() -> None:
    report = REPORT.read_text("utf-8")
    assert report.startswith(INTRODUCTION.format(command="python -m tests.bench.report"))
    assert TRIED in report
    headings = [line for line in report.splitlines() if line.startswith("## ")]
    made = [*goals(FOUND), TRIED]
    for share in (*LOADS, None):
        made += section([one for one in FOUND if one.task.share == share])
    lines = "\n".join(made).splitlines()
    assert headings == [line for line in lines if line.startswith("## ")]
    known = {re.sub(r"[\d.,%+()-]+", "#", line) for line in [*INTRODUCTION.splitlines(), *lines]}
    for line in report.splitlines():
        if not line.startswith(("|", "- **adaptive", "Written by", "!")):
            figureless = re.sub(r"[\d.,%+()-]+", "#", line)
            assert figureless in known, line


@pytest.mark.parametrize(
    ("option", "few"),
    [("--thinnings", "1"), ("--days", "1"), ("--baselines", "0"), ("--jobs", "0")],
)
def test_a_report_of_too_little_to_tell_is_a_usage_error(option: str, few: str) -> None:
    with pytest.raises(SystemExit) as refused:
        main([option, few])
    assert refused.value.code == 2
