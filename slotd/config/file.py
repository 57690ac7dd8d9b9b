"""Reading a configuration file: one TOML document into checked option values.

Here: opening, trust, TOML, unknown tables and keys, and the refusal of each in one line. Not here:
which file is read and how its values rank against the other sources.
"""

import os

from slotd.config.errors import ConfigurationError
from slotd.config.kinds import Value
from slotd.config.options import OPTIONS, Option
from slotd.config.trust import untrusted
from slotd.policy.settings import SettingError


def read_file(path: str) -> dict[Option[Value], Value]:
    """Return the options the file at `path` sets, checked.

    Raises FileNotFoundError when there is none, ConfigurationError when it cannot be read, may not
    be trusted, is no TOML or says something slotd does not know.
    """
    document = _read_toml(path)
    tables = _keys_of_tables()
    values: dict[Option[Value], Value] = {}
    for table, content in document.items():
        keys = tables.get(table)
        if keys is None:
            raise ConfigurationError(
                f"{path}: unknown {'table' if isinstance(content, dict) else 'key'} {table!r}: "
                f"give one of the tables {', '.join(f'[{known}]' for known in tables)}"
            )
        if not isinstance(content, dict):
            raise ConfigurationError(
                f"{path}: {table} is {content!r}: write it as a table, [{table}]"
            )
        for key, value in content.items():
            option = keys.get(key)
            if option is None:
                raise ConfigurationError(
                    f"{path}: [{table}] unknown key {key!r} (= {value!r}): "
                    f"give one of {', '.join(keys)}"
                )
            values[option] = _checked(path, option, value)
    return values


def read_option(path: str, option: Option[Value]) -> dict[Option[Value], Value]:
    """Return what the file at `path` sets `option` to, if it does; nothing else in it matters.

    Raises as `read_file` does, but not for what is wrong with other settings.
    """
    content = _read_toml(path).get(option.table)
    if not isinstance(content, dict) or option.key not in content:
        return {}
    return {option: _checked(path, option, content[option.key])}


def _checked(path: str, option: Option[Value], value: object) -> Value:
    try:
        return option.kind.from_file(option.key, value)
    except SettingError as refusal:
        raise ConfigurationError(f"{path}: [{option.table}] {refusal}") from None


def _keys_of_tables() -> dict[str, dict[str, Option[Value]]]:
    tables: dict[str, dict[str, Option[Value]]] = {}
    for option in OPTIONS:
        tables.setdefault(option.table, {})[option.key] = option
    return tables


def _read_toml(path: str) -> dict[str, object]:
    content = _read(path)
    import tomllib  # only now: without a file, the engine is started 8 ms earlier

    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not valid TOML: {error.reason} (not UTF-8)") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: is nested too deeply: give plain tables") from None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 10 ms of the engine's start
            reason = untrusted(path, os.fstat(file.fileno()), "configuration file")
            if reason is None:
                return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be read: {error.strerror}: give the path of a TOML file"
        ) from None
    raise ConfigurationError(reason)
