"""The values in force and where each came from.

The command line is stronger than the environment, that stronger than the file, that stronger than
the defaults. Every source is checked in full, also where a stronger one has another say: a mistake
is better told early. An environment variable that is empty is one that is not set (that is how unit
files and container tools unset one); a variable slotd does not know is somebody else's, as the
engine has `STRATA_SLOT_*` names of its own.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from attrs import field, frozen

from slotd.config.errors import ConfigurationError
from slotd.config.file import read_file, read_option
from slotd.config.kinds import Value
from slotd.config.options import OPTIONS, OWN_PATHS, POLICY_NUMBERS, Option, option_named
from slotd.policy.settings import PolicySettings, SettingError

DEFAULT_FILE = "/etc/slotd/slotd.toml"
"""Read when it is there and no other file is named."""
FILE_VARIABLE = "SLOTD_CONFIG"
"""The environment variable that names the configuration file."""

T = TypeVar("T", bound=Value)


@frozen
class Setting:
    """An option's value in force."""

    option: Option[Value]
    value: Value
    origin: str
    """`default`, `file PATH`, `environment NAME` or `command line`."""


@frozen
class Configuration:
    """Every option's value in force."""

    settings: Mapping[str, Setting]
    """By full name, in the table's order."""

    def __getitem__(self, option: Option[T]) -> T:
        """Return the value of `option`."""
        value: T = self.settings[option.name].value  # type: ignore[assignment]  # its kind made it
        return value

    def policy_settings(self) -> PolicySettings:
        """Return the numbers of the policy as the policy takes them."""
        return PolicySettings(**{option.key: self[option] for option in POLICY_NUMBERS})


@frozen
class Sources:
    """Where settings are looked for; `load` can be called again later to take up changes."""

    environment: Mapping[str, str] = field(factory=lambda: os.environ)
    file: str | None = None
    """The file the command line names."""
    command_line: tuple[tuple[str, str], ...] = ()
    """(name, text) of each value given there; the last of one name counts."""
    default_file: str = DEFAULT_FILE

    def load(self) -> Configuration:
        """Read every source and return what is in force. Raises ConfigurationError."""
        settings = {option.name: Setting(option, option.default, "default") for option in OPTIONS}
        for setting in (*self._from_file(), *self._from_environment(), *self._from_command_line()):
            settings[setting.option.name] = setting
        configuration = Configuration(settings)
        _check_paths(configuration, self._file()[1])
        return configuration

    def find(self, option: Option[T]) -> T:
        """Return the one value in force, for what can do without the others and their mistakes.

        Raises ConfigurationError when that value is refused, or anything on the command line, or
        when the value could stand in a file that cannot be read.
        """
        found = {setting.option: setting.value for setting in self._from_command_line()}
        if option not in found and self.environment.get(option.environment):
            name = option.environment
            found[option] = _given("environment", name, option, self.environment[name])
        if option not in found:
            found |= self._read(partial(read_option, option=option))[1]
        value: T = found.get(option, option.default)  # type: ignore[assignment]  # its kind made it
        return value

    def _from_file(self) -> list[Setting]:
        path, values = self._read(read_file)
        return [Setting(option, value, f"file {path}") for option, value in values.items()]

    def _read(
        self, read: Callable[[str], dict[Option[Value], Value]]
    ) -> tuple[str, dict[Option[Value], Value]]:
        """Return the file's path and what is read of it: nothing where none is named or there."""
        named, path = self._file()
        try:
            return path, read(path)
        except FileNotFoundError:
            if named is None:
                return path, {}
            named_by = FILE_VARIABLE if self.file is None else "--config"
            raise ConfigurationError(
                f"{path}: no such configuration file: give {named_by} one that exists"
            ) from None

    def _file(self) -> tuple[str | None, str]:
        """Return the file that is named, if one is, and the one to be read."""
        named = (self.environment.get(FILE_VARIABLE) or None) if self.file is None else self.file
        return named, self.default_file if named is None else named

    def _from_environment(self) -> list[Setting]:
        given = []
        for option in OPTIONS:
            variable = option.environment
            text = self.environment.get(variable)
            if not text:
                continue
            value = _given("environment", variable, option, text)
            given.append(Setting(option, value, f"environment {variable}"))
        return given

    def _from_command_line(self) -> list[Setting]:
        given = []
        for name, text in self.command_line:
            option = option_named(name)
            if option is None:
                raise ConfigurationError(
                    f"command line: unknown setting {name!r} (= {text!r}): "
                    "'slotd config' lists the names"
                )
            value = _given("command line", option.key, option, text)
            given.append(Setting(option, value, "command line"))
        return given


def _check_paths(configuration: Configuration, file: str) -> None:
    """Refuse one path for two purposes, whose writers would be in each other's way."""
    taken = {os.path.realpath(file): "the configuration file"}
    for option in OWN_PATHS:
        path = configuration[option]
        if path is None or path == os.devnull:
            continue
        other = taken.setdefault(os.path.realpath(path), option.name)
        if other != option.name:
            raise ConfigurationError(
                f"{option.name} and {other} are both {path!r}: give each a path of its own"
            )


def _given(where: str, name: str, option: Option[T], text: str) -> T:
    """Read what was written `where`, under `name`."""
    try:
        return option.kind.from_text(name, text)
    except SettingError as refusal:
        raise ConfigurationError(f"{where}: {refusal}") from None
