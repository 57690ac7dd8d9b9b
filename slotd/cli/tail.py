"""`slotd tail`: a log, line by line, for a person.

Here: where the lines come from and the terminal they go to. Not here: reading on through rotation
(`slotd.logs.follow`), what a line holds (`slotd.logs.records`), how it looks (`slotd.logs.person`).
"""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console

from slotd.cli.sources import Refusal
from slotd.logs.follow import follow, lines_of
from slotd.logs.person import line_of, line_of_garbage
from slotd.logs.records import read_record
from slotd.logs.settings import colours_wanted

LOOK_AGAIN_S = 0.25
"""Seconds between two looks at a file that has nothing new."""


@click.command()
@click.argument("file", default="-")
@click.option("--no-follow", is_flag=True, help="End at the end of FILE.")
def tail(file: str, no_follow: bool) -> None:
    """Print a log of slotd for a person: one line an event, a colour a slot.

    FILE is a log that slotd wrote, followed as it grows and through rotation; without it, or with
    -, standard input is read to its end. What journald exports is read as well:

        journalctl -u slotd -o json -f | slotd tail

    Lines that are no events (the engine's own, on the same standard error) are shown dimmed.
    """
    try:
        if file == "-":
            _print(lines_of(sys.stdin.buffer))
        elif no_follow:
            with Path(file).open("rb") as log:
                _print(lines_of(log))
        else:
            _print(follow(Path(file), lambda: time.sleep(LOOK_AGAIN_S)))
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise Refusal(f"{file}: cannot be read: {error.strerror}: give the path of a log") from None


def _print(lines: Iterable[bytes]) -> None:
    colours = colours_wanted(sys.stdout.isatty())
    console = Console(highlight=False, color_system="auto" if colours else None)
    for line in lines:
        if line.strip():
            record = read_record(line)
            shown = line_of_garbage(line) if record is None else line_of(record)
            console.print(shown, soft_wrap=True, end="\n")
            console.file.flush()
