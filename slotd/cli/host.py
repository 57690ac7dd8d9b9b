"""`slotd host`: an engine that stays loaded while its clients come and go.

Here: the command line. Not here: what happens (`slotd.daemon`). As little as possible is imported,
because all of it happens before the engine is started.
"""

from functools import partial

import click

from slotd.cli.sources import configuration_options
from slotd.cli.starting import exit_as
from slotd.config.configuration import Sources
from slotd.daemon.launch import inherited_environment
from slotd.daemon.startup import host_engine


@click.command(context_settings={"allow_interspersed_args": False})
@configuration_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- ENGINE [ARGS...]")
def host(sources: Sources, command: tuple[str, ...]) -> None:
    """Start ENGINE and keep it loaded for clients that come and go.

    They attach to a unix socket (the setting host.socket, or the one systemd passes) with
    'slotd attach', one at a time. What a client leaves behind is stopped; conversations stay
    cached. Ends with status 0 on SIGTERM, once the engine has given its memory back.
    """
    if not command:
        raise click.UsageError("name the engine to host: slotd host [OPTIONS] -- ENGINE [ARGS...]")
    exit_as(partial(host_engine, command, sources.load, inherited_environment()))
