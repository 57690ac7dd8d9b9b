"""`python -m tests.fuzz [--seconds 600] [TARGET ...]`: fuzz the reader, the core and `decide`.

The targets run beside each other, for so many seconds each. With atheris installed the search is
guided by coverage, without it by what happened. Exit status 1 when something failed; the input is
then in the directory of findings, and belongs into `tests/fuzz/corpus`.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

HANGS_AFTER_S = 120.0
"""Seconds a search may take beyond its time: starting, and one long input."""

HANGS = f"not ended {HANGS_AFTER_S:.0f} s after its time: an input hangs, or the machine starves"


@frozen
class Report:
    """What one target's search came to."""

    target: str
    how: str
    runs: int
    reached: int
    """Edges of the code (guided), or different things that happened."""
    fault: str | None


def guided(target: str, seconds: float, findings: Path) -> Report:
    """Fuzz by coverage, in a process of its own."""
    (findings / target).mkdir(parents=True, exist_ok=True)
    done = _searched("tests.fuzz.guided", target, str(int(seconds)), str(findings))
    if done is None:
        return Report(target, "coverage", 0, 0, HANGS)
    runs = re.findall(r"stat::number_of_executed_units: *(\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    fault = None
    if done.returncode != 0:
        # What was raised is said on the one, where the input is on the other.
        fault = "\n".join([*done.stdout.splitlines()[-20:], *done.stderr.splitlines()[-12:]])
    return Report(target, "coverage", int(runs[-1]) if runs else 0, int((edges or [0])[-1]), fault)


def unguided(target: str, seconds: float, findings: Path) -> Report:
    """Fuzz by what happens, in a process of its own."""
    done = _searched("tests.fuzz.alone", target, str(seconds), str(findings))
    if done is None:
        return Report(target, "behaviour", 0, 0, HANGS)
    numbers = done.stdout.split()
    runs, features = map(int, numbers[:2]) if len(numbers) >= 2 else (0, 0)
    return Report(target, "behaviour", runs, features, done.stderr if done.returncode else None)


def _searched(
    module: str, target: str, seconds: str, findings: str
) -> subprocess.CompletedProcess[str] | None:
    """Run a search; None: it had not ended long after its time."""
    command = [sys.executable, "-m", module, target, seconds, findings]
    most = float(seconds) + HANGS_AFTER_S
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        return None


def fuzz(targets: list[str], seconds: float, findings: Path) -> list[Report]:
    """Fuzz the targets beside each other."""
    findings.mkdir(parents=True, exist_ok=True)
    way = guided if importlib.util.find_spec("atheris") else unguided
    with ThreadPoolExecutor(len(targets)) as pool:
        return list(pool.map(lambda target: way(target, seconds, findings), targets))


def main() -> int:
    """Run the command; return its exit status."""
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz slotd.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default: 600)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"no target {unknown.pop()}; there are {', '.join(TARGETS)}")
    reports = fuzz(given.targets or list(TARGETS), given.seconds, given.findings)
    for report in reports:
        state = "FAILED" if report.fault else "ok"
        print(  # noqa: T201 - a command's own output
            f"{report.target:8} {state:7} {report.runs:>10,} runs, by {report.how}: "
            f"{report.reached:,} reached"
        )
        if report.fault:
            print(report.fault)  # noqa: T201 - likewise
    return 1 if any(report.fault for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
