"""The options that say what slotd is set to, shared by the commands that need a configuration.

Here: their names on the command line, and how they become `slotd.config` sources. Not here: which
values are allowed (`slotd.config.options`): every source refuses the same in the same words.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from slotd.config.configuration import Configuration, Sources
from slotd.config.errors import ConfigurationError
from slotd.config.kinds import Value
from slotd.config.options import (
    KEEP_CLIENT_KEYS,
    LOG_FILE,
    LOG_FORMAT,
    LOG_LEVEL,
    PARK,
    POLICY,
    SLOT_KEY,
    Option,
)

Result = TypeVar("Result")

_WITH_VALUE: dict[str, Option[Value]] = {
    "--policy": POLICY,
    "--park": PARK,
    "--log-file": LOG_FILE,
    "--log-format": LOG_FORMAT,
    "--log-level": LOG_LEVEL,
}
_FLAGS: dict[str, tuple[Option[Value], str, str]] = {
    "--no-slot-key": (SLOT_KEY, "false", "do not write the chosen slot as the key slot=<n>, too"),
    "--keep-client-keys": (KEEP_CLIENT_KEYS, "true", KEEP_CLIENT_KEYS.doc),
}


class Refusal(click.ClickException):
    """One line about what was asked for and cannot be done."""

    exit_code = 2


def configuration_options(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give `command` the options of a configuration, and call it with them as `sources`.

    What `--set` says counts over the options with names of their own.
    """

    @wraps(command)
    def with_sources(file: str | None, settings: tuple[str, ...], **arguments: object) -> Result:
        given: list[tuple[str, str]] = []
        for parameter, option in _WITH_VALUE.items():
            text = arguments.pop(_argument(parameter))
            if isinstance(text, str):
                given.append((option.name, text))
        for parameter, (option, word, _) in _FLAGS.items():
            if arguments.pop(_argument(parameter)):
                given.append((option.name, word))
        given += map(_name_and_text, settings)
        return command(sources=Sources(file=file, command_line=tuple(given)), **arguments)

    wrapped: Callable[..., Result] = with_sources
    for parameter in reversed(_parameters()):
        wrapped = parameter(wrapped)
    return wrapped


def load(sources: Sources) -> Configuration:
    """Return the configuration in force. Raises Refusal."""
    try:
        return sources.load()
    except ConfigurationError as error:
        raise Refusal(str(error)) from None


def _parameters() -> list[Callable[[Callable[..., Result]], Callable[..., Result]]]:
    file = click.option("--config", "file", metavar="FILE", help="Read settings from FILE (TOML).")
    setting = click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="Set any setting; 'slotd config' lists the names. Can be given again.",
    )
    return [
        file,
        *(
            click.option(parameter, metavar=option.key.upper(), help=_sentence(option.doc))
            for parameter, option in _WITH_VALUE.items()
        ),
        *(
            click.option(parameter, is_flag=True, help=_sentence(doc))
            for parameter, (_, _, doc) in _FLAGS.items()
        ),
        setting,
    ]


def _argument(parameter: str) -> str:
    return parameter.lstrip("-").replace("-", "_")


def _name_and_text(setting: str) -> tuple[str, str]:
    name, sign, text = setting.partition("=")
    if not sign:
        raise click.UsageError(f"--set {setting!r}: write it as NAME=VALUE")
    return name, text


def _sentence(doc: str) -> str:
    return doc[0].upper() + doc[1:] + "."
