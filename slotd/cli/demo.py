"""`slotd demo`: what slotd is for, in one command and a few seconds.

Here: the options, the progress on a terminal, and how it ends. Not here: what is played, how and
with what (`slotd.demo`).
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import click
import trio
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from slotd.cli.sources import Refusal
from slotd.demo.columns import COLUMNS, Column
from slotd.demo.outcome import Result, same_answers
from slotd.demo.player import DemoError, play_columns
from slotd.demo.screen import WIDEST, screen
from slotd.demo.script import Say, Scene, write_script
from slotd.logs.settings import colours_wanted

SPEED = 20.0
"""Times as fast as a real engine: fast enough for a newcomer, slow enough for a small machine."""
SLOWEST, FASTEST = 1.0, 500.0


def _checked_speed(_context: click.Context, _parameter: click.Parameter, speed: float) -> float:
    if not SLOWEST <= speed <= FASTEST:
        raise click.BadParameter(
            f"{speed:g}: give a number from {SLOWEST:g} (a real engine) to {FASTEST:g}"
        )
    return speed


@click.command()
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, 999_999),
    help="Another one: other texts, lengths and pauses.",
)
@click.option(
    "--speed",
    default=SPEED,
    show_default=True,
    callback=_checked_speed,
    help="Seconds of engine time in a real second.",
)
@click.option(
    "--keep-logs",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the logs into DIR, over those of an earlier demo.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
def demo(seed: int, speed: float, directory: Path | None, as_json: bool) -> None:
    """Play two people with agent clients, without slotd and with it, and compare.

    Each time the real `slotd run` is in front of a simulated engine that runs faster than a real
    one, with the speeds of a published server: a conversation of 37,000 tokens with side requests
    in between, a classifier that rewrites the end of its transcript, long answers beside them, two
    chats that take turns. Nothing is needed but this program, and nothing is left running.

    Times are the engine's own, whatever this machine is busy with; tokens are the same every time.
    """
    script = write_script(seed)
    began = time.monotonic()
    try:
        with _progress(script, shown=sys.stdout.isatty() and not as_json) as told:
            results = _play(script, speed, _directory(directory), told)
    except DemoError as failure:
        click.echo(f"slotd demo: {failure}", err=True)
        sys.exit(1)
    if as_json:
        answer = {"seed": seed, "speed": speed, "same_answers": same_answers(results)}
        click.echo(json.dumps({**answer, "columns": [result.as_json() for result in results]}))
    else:
        _print(results, speed, time.monotonic() - began)
    sys.exit(0 if same_answers(results) else 1)


def _play(
    script: tuple[Scene, ...], speed: float, logs: Path, told: Callable[[Column], None]
) -> list[Result]:
    """Play every column. Raises DemoError, or click.Abort after an interrupt."""
    results: list[Result] = []
    interrupted = False
    try:
        results = trio.run(play_columns, COLUMNS, script, speed, logs, told)
    except* KeyboardInterrupt:
        interrupted = True
    if interrupted:
        raise click.Abort
    return results


def _directory(given: Path | None) -> Path:
    """Return the directory of the logs, made where it is missing. Raises Refusal."""
    if given is None:
        return Path(tempfile.mkdtemp(prefix="slotd-demo-"))
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(
            f"--keep-logs {given}: cannot be made: {error.strerror}: give a directory of yours"
        ) from None
    return given


@contextmanager
def _progress(script: tuple[Scene, ...], shown: bool) -> Iterator[Callable[[Column], None]]:
    """Show how far every column is, for as long as it takes; give what is told of each turn."""
    turns = sum(isinstance(step, Say) for scene in script for step in scene.steps)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        transient=True,
        disable=not shown,
    )
    with bars:
        tasks = {column.name: bars.add_task(column.title, total=turns) for column in COLUMNS}
        yield lambda column: bars.advance(tasks[column.name])


def _print(results: list[Result], speed: float, seconds: float) -> None:
    """Print for whoever reads: in colours on a terminal, plain elsewhere."""
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, color_system="auto" if colours_wanted(terminal) else None)
    width = console.width if terminal else WIDEST
    for line in screen(results, speed, seconds, width, _program()):
        console.print(line, soft_wrap=True)


def _program() -> str:
    """Return how slotd was called, so that what it says to type works here as well."""
    if Path(sys.argv[0]).name == "__main__.py":
        return f"{sys.executable} -m slotd"
    return Path(sys.argv[0]).name if which(Path(sys.argv[0]).name) else sys.argv[0]
