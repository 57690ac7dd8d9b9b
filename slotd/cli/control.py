"""What the commands that look at a running slotd share: which one, and what they may lack.

Not here: asking it (`slotd.eyes.ask`).
"""

import os
from collections.abc import Callable
from typing import TypeVar

import click

from slotd.cli.sources import Refusal
from slotd.config.configuration import FILE_VARIABLE, Sources
from slotd.config.errors import ConfigurationError
from slotd.daemon.doors import control_path

Command = TypeVar("Command", bound=Callable[..., object])


class Failed(click.ClickException):
    """One line about what was asked for and could not be had."""

    exit_code = 1


def control_option(command: Command) -> Command:
    """Give `command` the option that names a control socket, as its argument `control`."""
    return click.option(
        "--control",
        metavar="SOCKET",
        callback=_configured,
        help="The control socket to ask; otherwise the configured one.",
    )(command)


def extra_missing(extra: str, missing: ImportError) -> Refusal:
    """Return the refusal of a command whose extra is not installed."""
    return Refusal(
        f"{missing.name} is not installed: in slotd's checkout, pip install '.[{extra}]'"
    )


def _configured(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str:
    if given:
        return given
    sources = Sources()
    try:
        return control_path(sources.find)
    except ConfigurationError as refusal:
        # A file that a reload has refused, most likely: what runs goes on, and is to be looked at.
        usual = control_path(_without_file().find)
        click.echo(f"slotd: {refusal}", err=True)
        click.echo(f"slotd: asking {usual} (another: --control SOCKET)", err=True)
        return usual


def _without_file() -> Sources:
    environment = {name: value for name, value in os.environ.items() if name != FILE_VARIABLE}
    return Sources(environment, default_file="")
