"""`slotd run`: an engine with slotd in front of it.

Here: the command line. Not here: what happens (`slotd.daemon`). As little as possible is imported,
because all of it happens before the engine is started.
"""

import click

from slotd.cli.sources import Refusal, configuration_options
from slotd.config.configuration import Sources
from slotd.config.errors import ConfigurationError
from slotd.daemon.launch import EngineStartError, inherited_environment, run_engine


@click.command(context_settings={"allow_interspersed_args": False})
@configuration_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- ENGINE [ARGS...]")
def run(sources: Sources, command: tuple[str, ...]) -> None:
    """Start ENGINE and relay between it and standard input and output.

    Requests are placed on the way. slotd ends when the engine ends, with its exit status (128 + n
    for signal n; 127 when it is missing, 126 when it cannot be executed).
    """
    if not command:
        raise click.UsageError("name the engine to start: slotd run [OPTIONS] -- ENGINE [ARGS...]")
    try:
        status = run_engine(command, sources.load, inherited_environment())
    except ConfigurationError as error:
        raise Refusal(str(error)) from None
    except EngineStartError as error:
        click.echo(f"slotd: {error}", err=True)
        status = error.status
    raise SystemExit(status)
