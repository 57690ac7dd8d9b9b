"""`slotd run`: an engine with slotd in front of it.

Here: the command line. Not here: what happens (`slotd.daemon`). As little as possible is imported,
because all of it happens before the engine is started.
"""

from functools import partial

import click

from slotd.cli.sources import configuration_options
from slotd.cli.starting import exit_as
from slotd.config.configuration import Sources
from slotd.daemon.launch import inherited_environment
from slotd.daemon.startup import run_engine


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
    exit_as(partial(run_engine, command, sources.load, inherited_environment()))
