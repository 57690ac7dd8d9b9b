"""`slotd curves`: the protection and value curves of the settings in force.

Here: the table in the terminal and the options. Not here: the figures (`slotd.explain.curves`) and
the picture (`slotd.explain.picture`, imported only when one is asked for).
"""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as Grid

from slotd.cli.sources import Refusal, configuration_options, load
from slotd.config.configuration import Configuration, Sources
from slotd.config.options import POLICY_NUMBERS
from slotd.explain import words
from slotd.explain.curves import AGES, Line, figures, table
from slotd.policy.settings import PolicySettings

WIDTH = 100
"""Columns the table is made for."""


@click.command()
@click.option("--png", metavar="FILE", help="Draw the curves into this file, too.")
@configuration_options
def curves(sources: Sources, png: str | None) -> None:
    """Show how long histories are protected and what they are worth, with the settings in force.

    The settings are those of the configuration file, the environment and the command line. Each
    line is a history: how long it is protected after its last use, what it is worth when it has
    been idle for so long (* while it is protected), from when on it goes first (it has expired and
    is worth less than expired_keep_score) and from when on it is not parked (it is worth less than
    park_min_value).

    --png draws the same curves: protection by length, value over idle time. It needs matplotlib.
    """
    in_force = load(sources)
    settings = in_force.policy_settings()
    if png is not None:
        _draw(settings, png)
    _print(in_force, settings)


def _draw(settings: PolicySettings, png: str) -> None:
    try:
        from slotd.explain.picture import draw
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] != "matplotlib":
            raise
        raise click.ClickException(
            "--png needs matplotlib, which comes with the extra plot: in slotd's checkout, "
            "pip install '.[plot]'"
        ) from None
    try:
        with Path(png).open("wb") as file:
            draw(figures(settings), file)
    except OSError as error:
        raise Refusal(f"--png {png}: cannot be written: {error.strerror}") from None


def _print(in_force: Configuration, settings: PolicySettings) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("tokens", "ttl", *map(_idle, AGES), "goes 1st", "no park"):
        grid.add_column(name, justify="right", no_wrap=True)
    for line in table(settings):
        grid.add_row(*_cells(line))
    for option in POLICY_NUMBERS:
        setting = in_force.settings[option.name]
        click.echo(f"{option.key:<19} {setting.value:<8g} {setting.origin}")
    click.echo()
    with console.capture() as shown:
        console.print(grid)
    for text in shown.get().splitlines():
        click.echo(text.rstrip())
    click.echo()
    click.echo("ttl: how long a history is protected after its last use.")
    click.echo("Under each time: the value of a history idle for so long; * while it is protected.")
    click.echo("goes 1st: from then on expired and worth less than expired_keep_score.")
    click.echo("no park: from then on worth less than park_min_value.")


def _cells(line: Line) -> list[str]:
    worth = (
        f"{_value(value)}{'*' if age < line.ttl else ' '}"
        for age, value in zip(AGES, line.values, strict=True)
    )
    return [
        f"{line.tokens:,}",
        words.seconds(line.ttl),
        *worth,
        _after(line.given_up_after),
        _after(line.not_parked_after),
    ]


def _value(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"


def _idle(age: float) -> str:
    return f"{age:.0f} s " if age < 60 else f"{age / 60:.0f} min "


def _after(age: float | None) -> str:
    if age is None:
        return "never"
    return words.seconds(age) if age else "always"
