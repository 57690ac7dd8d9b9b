"""`slotd attach`: stands in the engine's place, for an engine that `slotd host` keeps.

Here: the command line. Not here: what happens (`slotd.daemon.attach`).
"""

import click

from slotd.cli.sources import Refusal, configuration_options
from slotd.config.configuration import Sources
from slotd.config.errors import ConfigurationError
from slotd.daemon.attach import TRY_AGAIN, AttachError, end
from slotd.daemon.attach import attach as attach_to
from slotd.daemon.doors import engine_path


@click.command()
@configuration_options
@click.argument("socket", required=False)
def attach(sources: Sources, socket: str | None) -> None:
    """Be the engine that 'slotd host' keeps at SOCKET, on standard input and output.

    A serve process starts this in the engine's place. It ends when the engine does, with the
    engine's exit status, and with 75 when there is no engine to be had. Without SOCKET, the
    setting host.socket names it.
    """
    try:
        status = attach_to(engine_path(sources.find) if socket is None else socket)
    except ConfigurationError as error:
        raise Refusal(str(error)) from None
    except AttachError as error:
        click.echo(f"slotd attach: {error}", err=True)
        status = TRY_AGAIN
    end(status)
