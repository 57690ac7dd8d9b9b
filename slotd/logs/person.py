"""A record as one line for a person: time, event, slot, then what the event says.

Here: the words, their order and their colours. Not here: reading logs and writing to terminals.
"""

import json
from collections.abc import Iterable

from rich.text import Text

from slotd.logs.records import Record

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
_SLOT_COLOURS = (*_COLOURS, *(f"bright_{colour}" for colour in _COLOURS))
_LEVEL_STYLES = {"error": "bold red", "warning": "bold yellow", "debug": "dim"}
_LEFT_OUT = frozenset({"ts", "level", "event", "slot", "table"})
"""Shown in columns of their own; `table` is for `slotd explain`, not for a line."""
_LONGEST_VALUE = 200
"""Characters of one value that are shown."""


def line_of(record: Record) -> Text:
    """Return the record as one line, without a line end."""
    event = str(record.get("event", ""))
    slot = record.get("slot")
    slot_style = slot_colour(slot) if isinstance(slot, int) else ""
    line = Text(end="")
    line.append(_clock(record.get("ts")), "dim")
    line.append(" ")
    level_style = _LEVEL_STYLES.get(str(record.get("level")), "bold")
    line.append(f"{printable(event):<12}", level_style)
    line.append(f" {'' if slot is None else f'slot {_value(slot)}':<8}", slot_style)
    for name, value in _fields(record):
        line.append(f" {printable(name)}=", "dim")
        line.append(_value(value), slot_style)
    line.rstrip()
    return line


def line_of_garbage(raw: bytes) -> Text:
    """Return a line that is no record, dimmed and safe to print."""
    return Text(printable(raw.decode("utf-8", "replace").rstrip("\r\n")), "dim", end="")


def slot_colour(slot: int) -> str:
    """Return the colour of a slot; slots near each other differ."""
    return _SLOT_COLOURS[slot % len(_SLOT_COLOURS)]


def printable(text: str) -> str:
    """Return `text` with everything a terminal would act on written out as an escape."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _fields(record: Record) -> Iterable[tuple[str, object]]:
    return ((name, value) for name, value in record.items() if name not in _LEFT_OUT)


def _clock(moment: object) -> str:
    """Return the time of day of an ISO time; twelve columns, also when it is not one."""
    text = str(moment) if moment is not None else ""
    _, _, clock = text.partition("T")
    return f"{printable(clock.rstrip('Z') or text)[:12]:<12}"


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, dict) and value:
        # The one event with an object is `place`, with where and why the main session is parked.
        return ":".join(map(_value, value.values()))
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if isinstance(value, str) and (not text or " " in text):
        text = json.dumps(text, ensure_ascii=False)
    text = printable(text)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
