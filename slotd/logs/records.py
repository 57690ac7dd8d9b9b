"""One line of a log as a record: what is in a log file, and what journald exports of it.

Here: reading a line back. Not here: where lines come from (`slotd.logs.follow`) and how a record
looks on a screen (`slotd.logs.person`).
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

Record = Mapping[str, object]
"""An event as logged: `ts`, `level` and `event` first, then the event's own fields."""

_LEVEL_OF_PRIORITY = {"0": "error", "1": "error", "2": "error", "3": "error", "4": "warning"}
_LEVEL_OF_PRIORITY |= {"5": "info", "6": "info", "7": "debug"}


def timestamp(seconds: float) -> str:
    """Return a Unix time in seconds as UTC with milliseconds, `2026-01-31T12:00:00.000Z`."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_record(line: bytes) -> Record | None:
    """Return the record a line holds, or None when it is something else.

    A line is a JSON object with an `event`, or one of journald's JSON export: there the event is
    in `SLOTD_*` fields, or is a JSON line in `MESSAGE`, or `MESSAGE` is what somebody else said
    (an engine on its standard error), which becomes the record of an event named `message`.
    """
    entry = _object(line)
    if entry is None:
        return None
    if isinstance(entry.get("event"), str):
        return entry
    if "MESSAGE" in entry or "SLOTD_EVENT" in entry:
        return _from_journal(entry)
    return None


def _object(line: bytes | str) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # no JSON, not UTF-8, nested beyond reason
        return None
    return value if isinstance(value, dict) else None


def _from_journal(entry: Mapping[str, object]) -> Record:
    said = {
        "ts": _journal_time(entry),
        "level": _LEVEL_OF_PRIORITY.get(_text(entry.get("PRIORITY")), "info"),
    }
    event = entry.get("SLOTD_EVENT")
    if isinstance(event, str):
        fields = {
            name.removeprefix("SLOTD_").lower(): _field(value)
            for name, value in entry.items()
            if name.startswith("SLOTD_") and name != "SLOTD_EVENT"
        }
        return {**said, "event": event, **fields}
    message = _text(entry.get("MESSAGE"))
    inner = _object(message)
    if inner is not None and isinstance(inner.get("event"), str):
        return inner
    return {**said, "event": "message", "message": message}


def _journal_time(entry: Mapping[str, object]) -> str:
    microseconds = _text(
        entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry.get("__REALTIME_TIMESTAMP")
    )
    try:
        return timestamp(int(microseconds) / 1e6)
    except (ValueError, OverflowError, OSError):  # absent, or no time at all
        return ""


def _field(value: object) -> object:
    """Read a field back: the journal holds text only, so a number or a table is there as JSON."""
    text = _text(value)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(value: object) -> str:
    """Return a journal field as text.

    The export writes a field with unprintable bytes as a list of them, and one given twice as a
    list of both; the last one counts.
    """
    if isinstance(value, list):
        if value and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
            return bytes(value).decode("utf-8", "replace")
        return _text(value[-1]) if value else ""
    return "" if value is None else str(value)
