"""How numbers and slots are written in an explanation.

Here: one function a kind of number, and the words for what a slot is. Not here: sentences about
rules (`placing`, `parking`).
"""

from collections.abc import Iterable

from slotd.policy.table import SlotRow, Table, blank, expired, worth_keeping

_MOST_DIGITS = 17
"""Digits that tell any two numbers apart."""


def tokens(number: int) -> str:
    """Return a count of tokens with its unit: `37,352 tokens`."""
    return f"{number:,} token{'' if number == 1 else 's'}"


def seconds(number: float) -> str:
    """Return a time: milliseconds below 0.1 s, seconds below ten minutes, then minutes, hours."""
    if 0 < number < 0.1:
        return f"{max(1, round(1000 * number))} ms"
    if number < 600:
        return f"{number:.1f} s"
    if number < 6_000:
        return f"{number / 60:.1f} min"
    return f"{number / 3600:.1f} h"


def value(number: float) -> str:
    """Return a value, a loss or a cost with three digits that count."""
    if number == 0:
        return "0"
    return f"{number:.3f}" if number >= 0.1 else f"{number:.3g}"


def two_values(one: float, other: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart."""
    if one == other or value(one) != value(other):
        return value(one), value(other)
    for digits in range(4, _MOST_DIGITS):
        if f"{one:.{digits}g}" != f"{other:.{digits}g}":
            return f"{one:.{digits}g}", f"{other:.{digits}g}"
    return repr(one), repr(other)


def share(part: int, whole: int) -> str:
    """Return a part as a percentage, rounded down: never up to a share it falls short of."""
    tenths = 1000 * part // whole if whole else 0
    return f"{tenths // 10}%" if tenths in (0, 1000) else f"{tenths / 10:.1f}%"


def percentage(number: float) -> str:
    """Return a share from 0 to 1 as it was set: `98%`."""
    return f"{100 * number:g}%"


def slots(numbers: Iterable[int]) -> str:
    """Return slot numbers in a row: `slot 2`, `slots 0, 3 and 4`, `no slot`."""
    written = [str(number) for number in numbers]
    if not written:
        return "no slot"
    if len(written) == 1:
        return f"slot {written[0]}"
    return f"slots {', '.join(written[:-1])} and {written[-1]}"


def standing(table: Table, row: SlotRow) -> str:
    """Return what the policy makes of a slot's history: blank and why, protected, or expired."""
    if blank(table, row):
        return f"blank ({_blank_because(table, row)})"
    if not expired(table, row):
        return "protected"
    return "expired, worth keeping" if worth_keeping(table, row) else "expired"


def _blank_because(table: Table, row: SlotRow) -> str:
    if row.tokens == 0:
        return "empty"
    if row.images:
        return "pictures"
    if not row.valid:
        return "may be lost"
    return "superseded" if row.superseded else "no slot_cache"
