"""From an event to the bytes of a log line: a structlog chain, built once from the settings.

Here: the chain and its two ends, JSON for programs and one readable line for a person. Not here:
when and by whom a line is written (`slotd.logs.writer`).
"""

import io
import json
import math
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog
from rich.console import Console

from slotd.core.events import Event
from slotd.logs.person import line_of
from slotd.logs.records import timestamp
from slotd.logs.settings import Format

Colours = Literal["auto", "standard", "256", "truecolor", "windows"] | None
_EventFields = MutableMapping[str, Any]  # structlog's own type for them


class Chain:
    """Turns events into lines."""

    def __init__(self, log_format: Format, colours: bool) -> None:
        """Build the chain; `colours` counts for the text format only."""
        last: structlog.types.Processor
        last = _json_line if log_format == "json" else _TextLine(colours)
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            structlog.ReturnLogger(),
            processors=[structlog.stdlib.add_log_level, _in_order, last],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def line(self, event: Event, at: float) -> bytes:
        """Return the line, with its end, of an event that happened `at` (Unix time, seconds)."""
        log: Callable[..., str] = getattr(self._logger, event.level)
        fields = {**event.fields, "ts": timestamp(at)}
        return (log(event.name, **fields) + "\n").encode()


def _in_order(_logger: object, _method: str, fields: _EventFields) -> _EventFields:
    """Put what every event has in front."""
    first = {name: fields.pop(name) for name in ("ts", "level", "event")}
    return {**first, **fields}


def _json_line(_logger: object, _method: str, fields: _EventFields) -> str:
    try:
        return _dump(fields)
    except ValueError:  # an infinity or NaN an engine printed: JSON has no such number
        return _dump(_finite(fields))


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _finite(value: object) -> object:
    """Replace every number that is not finite by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


class _TextLine:
    """The last processor of the text format."""

    def __init__(self, colours: bool) -> None:
        system: Colours = "standard" if colours else None
        self._console = Console(
            file=io.StringIO(), force_terminal=colours, color_system=system, soft_wrap=True
        )

    def __call__(self, _logger: object, _method: str, fields: _EventFields) -> str:
        with self._console.capture() as captured:
            self._console.print(line_of(fields), end="")
        return captured.get()
