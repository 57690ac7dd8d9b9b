"""How the commands that start an engine end.

Here: what a person is told when it cannot be started. Not here: starting it (`slotd.daemon`).
"""

from collections.abc import Callable
from typing import NoReturn

import click

from slotd.cli.sources import Refusal
from slotd.config.errors import ConfigurationError
from slotd.daemon.launch import EngineStartError


def exit_as(run: Callable[[], int]) -> NoReturn:
    """Call `run`, and exit with what it returns or with what refuses to start."""
    try:
        status = run()
    except ConfigurationError as error:
        raise Refusal(str(error)) from None
    except EngineStartError as error:
        click.echo(f"slotd: {error}", err=True)
        status = error.status
    raise SystemExit(status)
