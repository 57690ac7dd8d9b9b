"""Measure what slotd costs, against the engine alone and against the barest relay, in one run.

    python -m tests.bench.speed [--rounds N] [--json FILE]

Real processes and pipes; `stamping_engine` prints the time as tokens. The three ways of running it
take turns, so that a machine that is busy for a while is busy for all of them. Goals are printed
beside the figures and nothing is asserted: a busy machine is no fault of slotd's.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import asdict, define, field

from tests.bench.peer import Peer

HERE = Path(__file__).parent
ENGINE = (sys.executable, "-S", str(HERE / "stamping_engine.py"))
PROMPT_TOKENS = 262_144
STEADY_WINDOWS, STEADY_MS = 250, 20.0
"""400 tokens a second over 8 slots, for 5 s a round."""
BURST_LINES = 400_000
PROMPTS = 7
STARTS = 5
"""A round: one start tells little, they differ by a third."""


def ways(log: Path) -> dict[str, tuple[str, ...]]:
    """Return what is put in front of the engine: nothing, the barest relay, slotd with its log."""
    slotd = (sys.executable, "-m", "slotd", "run", "--log-file", str(log), "--log-level", "info")
    return {
        "engine alone": (),
        "bare relay": (sys.executable, str(HERE / "bare_relay.py")),
        "slotd": (*slotd, "--"),
    }


@define
class Figures:
    """What was measured of one way; times in ms."""

    latency_ms: list[float] = field(factory=list, repr=False)
    """One way, engine to client, of every line of the steady rounds."""
    cpu_share: list[float] = field(factory=list)
    """Of a core, at 400 tokens a second; one for each round."""
    lines_a_second: list[float] = field(factory=list)
    prompt_ms: list[float] = field(factory=list)
    """From the last byte of a 262,144-token BGEN written to its last byte at the engine."""
    delay_ms: list[float] = field(factory=list)
    """The longest any other slot's line took while such a prompt was on its way."""
    memory_mib: float = 0.0
    """Resident, with eight histories of 262,144 tokens."""
    start_ms: list[float] = field(factory=list)
    """From exec to the engine's exec."""

    def summary(self) -> dict[str, float]:
        """Return the figures of the table."""
        cuts = statistics.quantiles(self.latency_ms, n=100)
        return {
            "latency p50 ms": cuts[49],
            "latency p99 ms": cuts[98],
            "lines/s in a burst": statistics.median(self.lines_a_second),
            "262,144-token BGEN ms": statistics.median(self.prompt_ms),
            "longest BT delay meanwhile ms": statistics.median(self.delay_ms),
            "CPU of a core at 400 tok/s %": 100 * statistics.median(self.cpu_share),
            "memory MiB": self.memory_mib,
            "start-up ms": statistics.median(self.start_ms),
        }


def steady(front: Sequence[str], figures: Figures) -> None:
    """Measure latency and CPU while eight slots decode at an even pace."""
    with Peer([*front, *ENGINE, "steady", str(STEADY_WINDOWS), str(STEADY_MS)]) as peer:
        peer.admit_all(4)
        before, began = peer.cpu_seconds(), time.monotonic()
        figures.latency_ms += [delay for _, delay in peer.delays_until_end()]
        figures.cpu_share.append((peer.cpu_seconds() - before) / (time.monotonic() - began))


def burst(front: Sequence[str], figures: Figures) -> None:
    """Measure how many lines a second pass."""
    with Peer([*front, *ENGINE, "burst", str(BURST_LINES)]) as peer:
        peer.admit_all(4)
        began = time.monotonic()
        peer.skip_to_end()
        figures.lines_a_second.append(BURST_LINES / (time.monotonic() - began))


def prompts(front: Sequence[str], figures: Figures) -> None:
    """Measure long prompts on their way past full slots, beside a slot that decodes."""
    with Peer([*front, *ENGINE, "prompts", "2"]) as peer:
        for slot in range(8):
            last = slot == 7
            peer.send_prompt(slot, PROMPT_TOKENS, seed=slot, key="max_decode=1" if last else "")
            peer.wait_admitted(finished=not last)
        figures.memory_mib = max(figures.memory_mib, peer.memory_mib())
        for number in range(PROMPTS):
            took, delay = peer.time_prompt(number % 7, PROMPT_TOKENS, seed=100 + number)
            figures.prompt_ms.append(took)
            figures.delay_ms.append(delay)
        figures.memory_mib = max(figures.memory_mib, peer.memory_mib())


def start(front: Sequence[str], figures: Figures) -> None:
    """Measure the time from exec to the engine's exec, a few times."""
    for _ in range(STARTS):
        began = time.time_ns()
        said = subprocess.run(
            [*front, "/bin/sh", "-c", "date +%s%N"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        figures.start_ms.append((int(said.stdout) - began) / 1e6)


GOALS = {
    "latency p50 ms": "1.3 x bare relay",
    "latency p99 ms": "2 x bare relay",
    "lines/s in a burst": "150,000",
    "262,144-token BGEN ms": "15",
    "longest BT delay meanwhile ms": "5 more than alone",
    "CPU of a core at 400 tok/s %": "2",
    "memory MiB": "120",
    "start-up ms": "150",
}


def table(measured: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of the table."""
    names = list(measured)
    yield f"{'':32}" + "".join(f"{name:>14}" for name in names) + "   goal for slotd"
    for row, goal in GOALS.items():
        values = "".join(f"{measured[name][row]:>14,.2f}" for name in names)
        yield f"{row:32}{values}   {goal}"
    bare, ours = measured["bare relay"], measured["slotd"]
    for row in ("latency p50 ms", "latency p99 ms"):
        yield f"{row}: slotd / bare relay = {ours[row] / bare[row]:.2f}"


def main() -> None:
    """Measure, print the table, and write every figure where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        fronts = ways(Path(folder) / "slotd.log")
        for _ in range(options.rounds):
            for name, front in fronts.items():
                mine = figures.setdefault(name, Figures())
                for measure in (steady, burst, start):
                    measure(front, mine)
        for name, front in fronts.items():
            prompts(front, figures[name])
    measured = {name: mine.summary() for name, mine in figures.items()}
    sys.stdout.write("\n".join(table(measured)) + "\n")
    if options.json is not None:
        whole = {
            name: {"summary": measured[name], **asdict(mine)} for name, mine in figures.items()
        }
        options.json.write_text(json.dumps(whole))


if __name__ == "__main__":
    main()
