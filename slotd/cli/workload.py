"""`slotd workload`: generated traffic, as a record.

Here: the command. Not here: the generator (`slotd.workload`) and the format (`slotd.record`).
"""

from __future__ import annotations

import click

from slotd.cli.numbers import FiniteRange
from slotd.record.lines import Entry, LineWriter, block_hashes
from slotd.replay.load import MOST_SEED
from slotd.workload.agents import agent_day
from slotd.workload.figures import FIGURES, figures_table


@click.group("workload")
def workload() -> None:
    """Generate traffic."""


@workload.command()
@click.option(
    "--people",
    type=click.IntRange(min=1),
    default=FIGURES["people"].whole,
    show_default=True,
    help="Every second one, the first included, runs a safety classifier.",
)
@click.option(
    "--hours",
    type=FiniteRange(min=0, max=24, min_open=True),
    default=FIGURES["day"].low,
    show_default=True,
    help="How long the day is.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=1,
    show_default=True,
    help="Another seed is another day of the same kind.",
)
@click.option("--figures", is_flag=True, help="Print every figure and where it comes from instead.")
def agents(people: int, hours: float, seed: int, figures: bool) -> None:
    """Print a working day of people with coding agents, in the record's format.

    The same seed gives the same day. `slotd replay` and `slotd tune` run it from the file, or the
    eight hours of two people without one, as agents:SEED.
    """
    if figures:
        click.echo(figures_table())
        return
    traffic = agent_day(people, hours, seed)
    salt = seed.to_bytes(8, "big")
    lines = LineWriter.begin(traffic.name)
    click.echo(lines.header(), nl=False)
    for number, request in enumerate(traffic.requests, 1):
        entry = Entry(
            number=number,
            at=request.arrival,
            verb="GEN",
            prompt=request.prompt_length,
            out=request.output_length,
            turn=request.prompt.last_turn(),
            blocks=tuple(block_hashes(request.prompt.tokens(traffic.turn_token), salt)),
            finish="length",
        )
        click.echo(lines.line(entry), nl=False)
