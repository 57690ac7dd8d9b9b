"""From an event to the bytes of a log line: a structlog chain, built once from the settings.

Here: the chain and its ends: JSON for programs, one readable line for a person, and an entry of
systemd's journal (`slotd.logs.journal`). Not here: when and by whom a line is written
(`slotd.logs.writer`).
"""

import io
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog
from rich.console import Console

from slotd.core.events import Event
from slotd.logs.journal import journal_entry
from slotd.logs.json_text import json_text
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
        if log_format == "text":
            last = _TextLine(colours)
        else:
            last = _json_line if log_format == "json" else journal_entry
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            structlog.ReturnLogger(),
            processors=[structlog.stdlib.add_log_level, _in_order, last],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def line(self, event: Event, at: float) -> bytes:
        """Return the line, with its end, of an event that happened `at` (Unix time, seconds)."""
        log: Callable[..., bytes] = getattr(self._logger, event.level)
        return log(event.name, **event.fields, ts=timestamp(at))


def _in_order(_logger: object, _method: str, fields: _EventFields) -> _EventFields:
    """Put what every event has in front."""
    first = {name: fields.pop(name) for name in ("ts", "level", "event")}
    return {**first, **fields}


def _json_line(_logger: object, _method: str, fields: _EventFields) -> bytes:
    return f"{json_text(fields)}\n".encode()


class _TextLine:
    """The last processor of the text format."""

    def __init__(self, colours: bool) -> None:
        system: Colours = "standard" if colours else None
        self._console = Console(
            file=io.StringIO(), force_terminal=colours, color_system=system, soft_wrap=True
        )

    def __call__(self, _logger: object, _method: str, fields: _EventFields) -> bytes:
        with self._console.capture() as captured:
            self._console.print(line_of(fields), end="\n")
        return captured.get().encode()
