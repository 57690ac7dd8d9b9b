"""`python -m tests.soak [--seconds 600]`: a soak, as a table.

Exit status 1 when a token was wrong, the memory grew by more than 5% after the first minute (of
shorter soaks: the first third), a descriptor leaked, or slotd told of anything unexpected.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

import trio
from rich.console import Console
from rich.table import Table

from tests.soak.soaking import Soaked, soak

MOST_GROWTH = 0.05
WARM_UP_S = 60.0


def warm_up(seconds: float) -> float:
    """Return after how many seconds the memory has to be flat."""
    return min(WARM_UP_S, seconds / 3)


def failures(soaked: Soaked, warm_up_s: float) -> list[str]:
    """Return what is wrong with a soak, in words."""
    warm = soaked.watch.after(warm_up_s)
    wrong = []
    if soaked.wrong:
        wrong.append(f"{soaked.wrong} requests got a wrong token")
    if soaked.watch.growth(warm_up_s) > MOST_GROWTH:
        wrong.append(f"memory grew by {soaked.watch.growth(warm_up_s):.1%}")
    if len({reading.descriptors for reading in warm}) != 1:
        wrong.append(f"descriptors went from {warm[0].descriptors} to {warm[-1].descriptors}")
    if soaked.alarms:
        wrong.append(f"slotd told of {len(soaked.alarms)} faults, first {soaked.alarms[0]}")
    if soaked.status != 0:
        wrong.append(f"slotd ended with status {soaked.status}")
    return wrong


def shown(soaked: Soaked, warm_up_s: float) -> Table:
    """Return a table of what a soak measured."""
    table = Table("measured", "value", title="slotd soak")
    readings, warm = soaked.watch.readings, soaked.watch.after(warm_up_s)
    requests = soaked.ended + soaked.left
    events = soaked.events
    for name, value in (
        ("seconds", f"{soaked.seconds:.0f}"),
        ("requests", f"{requests:,} ({requests / soaked.seconds:.0f} a second)"),
        ("of them left by their clients", f"{soaked.left:,}"),
        ("with a wrong token", f"{soaked.wrong}"),
        ("prompt tokens", f"{soaked.prompt_tokens:,}"),
        ("generated tokens", f"{soaked.tokens:,}"),
        ("placed, parked, yielded", ", ".join(f"{events[n]:,}" for n in _EVENTS)),
        ("memory at the start", f"{readings[0].resident_kib / 1024:.1f} MiB"),
        (f"memory after {warm_up_s:.0f} s", f"{warm[0].resident_kib / 1024:.1f} MiB"),
        ("memory at the end", f"{warm[-1].resident_kib / 1024:.1f} MiB"),
        (f"largest growth after {warm_up_s:.0f} s", f"{soaked.watch.growth(warm_up_s):.2%}"),
        ("descriptors, first and last", f"{warm[0].descriptors}, {warm[-1].descriptors}"),
        ("warnings and errors logged", f"{len(soaked.alarms)}"),
    ):
        table.add_row(name, value)
    return table


_EVENTS = ("place", "parked", "yielded")


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Soak slotd.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="another seed is other traffic")
    given, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as directory:
        run = partial(soak, given.seconds, Path(directory), given.seed, *options)
        soaked = trio.run(run)
    Console().print(shown(soaked, warm_up(given.seconds)))
    wrong = failures(soaked, warm_up(given.seconds))
    for what in wrong:
        print(f"soak: {what}", file=sys.stderr)  # noqa: T201 - a command's own message
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
