"""`slotd`: the commands' table, and how every one of them ends.

Here: which module a command is in, imported only when it is called, because starting the engine
must not wait for what other commands need; and errors as one line. Not here: any command.
"""

import errno
import io
import os
import sys
from importlib import import_module

import click

COMMANDS = {
    "demo": "slotd.cli.demo",
    "run": "slotd.cli.run",
    "host": "slotd.cli.host",
    "attach": "slotd.cli.attach",
    "status": "slotd.cli.status",
    "config": "slotd.cli.config",
    "decide": "slotd.cli.decide",
    "explain": "slotd.cli.explain",
    "curves": "slotd.cli.curves",
    "shim": "slotd.cli.shim",
    "tail": "slotd.cli.tail",
    "replay": "slotd.cli.replay",
    "tune": "slotd.cli.tune",
    "workload": "slotd.cli.workload",
    "top": "slotd.cli.top",
    "metrics": "slotd.cli.metrics",
}
"""The module of every command, by the command's name."""

INTERRUPTED = 130
"""Exit status after an interrupt at the terminal, as shells have it."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to standard output fails with where no more can be written."""


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None when there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        there = vars(import_module(COMMANDS[cmd_name])).values()
        return next(
            found for found in there if isinstance(found, click.Command) and found.name == cmd_name
        )


def _print_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # slow to import, and only needed here

        click.echo(f"slotd {version('slotd')}")
        ctx.exit()


@click.group(cls=_Commands, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def slotd(ctx: click.Context) -> None:
    """Place the requests of an LLM inference engine: a sidecar in front of the engine.

    'slotd COMMAND --help' explains a command.
    """
    if ctx.invoked_subcommand is None:
        raise click.UsageError(f"name a command: {', '.join(COMMANDS)}")


def main() -> None:
    """Run the command line and exit: 2 for a usage error, otherwise what the command says."""
    _ready_streams()
    try:
        status = slotd.main(prog_name="slotd", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        status = error.exit_code
        click.echo(_one_line(error), err=True)
    except click.Abort:
        status = INTERRUPTED
    except OSError as error:
        # Files are opened, and refused, by the commands; without a name it is standard output.
        if error.errno not in _FULL or error.filename is not None:
            raise
        status = 1
        click.echo(f"slotd: standard output cannot be written: {error.strerror}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is written when Python ends
    sys.exit(status if isinstance(status, int) else 0)


def _ready_streams() -> None:
    """Let no stream's state end a command with a traceback.

    One that is closed is nothing to read and nowhere to write; what the locale has no character
    for is written escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - open to the end
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _one_line(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = "slotd" if context is None else context.command_path
    way_out = f" ('{command} --help' explains)" if context else ""
    return f"{command}: {error.format_message()}{way_out}"
