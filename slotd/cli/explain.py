"""`slotd explain`: one decision of a log, for a person.

Here: reading the log's lines and printing. Not here: what is said (`slotd.explain`).
"""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console

from slotd.cli.sources import Refusal
from slotd.explain.explanation import Explanation, explain, explanation_to_json
from slotd.explain.log import NotInLogError, find
from slotd.explain.screen import screen
from slotd.explain.what_if import settings_given
from slotd.logs.follow import lines_of
from slotd.logs.records import Record, read_record
from slotd.logs.settings import colours_wanted
from slotd.policy.settings import SettingError

WIDTH = 100
"""Columns an explanation is made for; a narrower terminal folds it."""


@click.command("explain")
@click.argument("log")
@click.option("--request", "number", type=click.IntRange(min=0), help="Explain this request.")
@click.option("--last", is_flag=True, help="Explain the last decision (the default).")
@click.option(
    "--what-if",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Decide again with this setting; several may be given, they count together.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a decision.")
def explain_command(
    log: str, number: int | None, last: bool, settings: tuple[str, ...], as_json: bool
) -> None:
    """Explain one decision of LOG: the slots, the rule that decided, the park, what came of it.

    LOG is a log of slotd (JSON lines, of standard error or --log-file) or the journal's export,
    `journalctl -u slotd -o json --all`; with - it is read from standard input. Nothing but the log
    is needed. A request that gave way has several decisions; all of them are explained.

    --what-if takes the settings by their short names, such as ttl_max_s=60, and says what would
    have been chosen.

    Exit status: 1 when the log does not hold the decision, 2 when the command is wrong.
    """
    if last and number is not None:
        raise click.UsageError("--last and --request: give one of them")
    try:
        given = settings_given(settings)
    except SettingError as refusal:
        raise click.UsageError(f"--what-if: {refusal}") from None
    try:
        told = [explain(logged, given) for logged in find(_records(log), number)]
    except NotInLogError as missing:
        name = "standard input" if log == "-" else log
        raise click.ClickException(f"{name}: {missing}") from None
    if as_json:
        for explanation in told:
            click.echo(json.dumps(explanation_to_json(explanation)))
    else:
        _print(told)


def _records(log: str) -> Iterator[Record]:
    try:
        with nullcontext(sys.stdin.buffer) if log == "-" else Path(log).open("rb") as lines:
            for line in lines_of(lines):
                record = read_record(line)
                if record is not None:
                    yield record
    except OSError as error:
        raise Refusal(f"{log}: cannot be read: {error.strerror}: give the path of a log") from None


def _print(told: list[Explanation]) -> None:
    """Print for whoever reads: in colours on a terminal, plain elsewhere."""
    colours = colours_wanted(sys.stdout.isatty())
    console = Console(
        highlight=False, markup=False, emoji=False, color_system="auto" if colours else None
    )
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    with console.capture() as shown:
        for number, explanation in enumerate(told):
            if number:
                console.rule(style="dim")
            console.print(screen(explanation))
    for line in shown.get().splitlines():
        click.echo(line.rstrip())
