"""`slotd status`: what a running slotd does and holds at this moment.

Here: the command line. Not here: asking (`slotd.eyes.ask`), and what is said (`slotd.eyes.page`).
"""

import json
import sys

import click
from rich.console import Console

from slotd.cli.control import Failed, control_option
from slotd.eyes.ask import NoAnswerError, ask
from slotd.eyes.page import page
from slotd.eyes.part import Part
from slotd.logs.settings import colours_wanted


@click.command()
@control_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(control: str, as_json: bool) -> None:
    """Print what a running slotd does: engine, client, slots, settings, counts, last events."""
    try:
        answer = ask(control)
    except NoAnswerError as error:
        raise Failed(str(error)) from None
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    colours = colours_wanted(sys.stdout.isatty())
    console = Console(highlight=False, color_system="auto" if colours else None)
    for line in page(Part(answer)):
        console.print(line, soft_wrap=True, end="\n")
