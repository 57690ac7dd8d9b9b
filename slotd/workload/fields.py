"""Reading the lines of traces and records: one check a field, with errors that name it.

Here: JSON lines, whole numbers and seconds. Not here: any format (`slotd.workload.traces`,
`slotd.record.reader`).
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

Fields = Mapping[str, object]
"""A line's object, nothing of it checked yet."""

_WHOLE_END: Final = 1 << 31
_SECONDS_END: Final = 1e12
"""Some 30,000 years, so that times since 1970 are fine."""


class TraceError(ValueError):
    """Traffic that cannot be read; the message is one line that names file, line and field."""


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> TraceError:
    """Return the error for a file that cannot be had as text."""
    if isinstance(error, UnicodeDecodeError):
        return TraceError(f"{path}: no text; a compressed file has to be unpacked first")
    return TraceError(f"{path}: cannot be read ({error.strerror})")


def fields_of(line: str, where: str) -> Fields:
    """Read a line's JSON object. Raises TraceError when it is none."""
    try:
        found = json.loads(line)
    except RecursionError:
        raise TraceError(f"{where}: not JSON (nested too deep)") from None
    except ValueError as error:
        raise TraceError(f"{where}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise TraceError(f"{where}: not a JSON object")
    return found


def shown(fields: Fields, name: str) -> str:
    """Return what a field holds, cut short."""
    if name not in fields:
        return "missing"
    return "null" if fields[name] is None else reprlib.repr(fields[name])


def whole(fields: Fields, name: str, where: str, least: int = 0) -> int:
    """Return a whole number from `least` up. Raises TraceError for anything else."""
    value = fields.get(name)
    if type(value) is not int or not least <= value < _WHOLE_END:
        raise TraceError(
            f"{where}: {name} is {shown(fields, name)}, and must be a whole number"
            f" from {least} to {_WHOLE_END - 1}"
        )
    return value


def seconds(fields: Fields, name: str, where: str, a_second: int = 1) -> float:
    """Return a time of 0 or more, in seconds; the field has `a_second` of its units in one.

    Raises TraceError for anything else, also for what is no finite number.
    """
    value = fields.get(name)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value < _SECONDS_END * a_second
    ):
        raise TraceError(f"{where}: {name} is {shown(fields, name)}, and must be a number >= 0")
    return float(value) / a_second
