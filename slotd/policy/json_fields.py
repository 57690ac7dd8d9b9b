"""Reading the fields of a JSON object, one check a field, with errors that name the field.

Here: the small readers the table formats are made of. Not here: any table (`table_json` has the
one of the log, `token_tables` the one of `slotd decide`).
"""

import reprlib
from collections.abc import Mapping
from math import isfinite
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""Anything JSON can say."""

Fields = Mapping[str, object]
"""A JSON object that was read, nothing of it checked yet."""


class TableError(ValueError):
    """A table cannot be read: a field, and what is wrong with it, in one line."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        """Where it is, as in `slots[2].last_use`; empty for the table itself."""


def refusal(field: str, found: object, wanted: str) -> TableError:
    """Return the error for a field that is `found` where `wanted` was needed (None: missing)."""
    if found is None:
        return TableError(field, f"missing: give {wanted}")
    # Cut short in depth and length: what was found may be a list of 90,000 ids.
    return TableError(field, f"is {reprlib.repr(found)}: give {wanted}")


def fields_of(found: object, field: str) -> Fields:
    """Return a JSON object's fields. Raises TableError when it is no object."""
    if type(found) is not dict:
        raise refusal(field, found, "a JSON object")
    return found


def items_of(found: object, field: str) -> list[object]:
    """Return a JSON list's items; none when it is missing. Raises TableError when it is no list."""
    if found is None:
        return []
    if type(found) is not list:
        raise refusal(field, found, "a list")
    return found


def count(fields: Fields, name: str, where: str, default: int | None = None) -> int:
    """Return a whole number of 0 or more, or `default` when it is missing or null.

    Raises TableError for anything else, and for a missing one without a default.
    """
    found = fields.get(name)
    if found is None and default is not None:
        return default
    if type(found) is not int or found < 0:
        raise refusal(where + name, found, "a whole number, 0 or more")
    return found


def optional_count(fields: Fields, name: str, where: str) -> int | None:
    """Return a whole number of 0 or more, or None when it is missing or null."""
    return None if fields.get(name) is None else count(fields, name, where)


def number(fields: Fields, name: str, where: str, default: float | None = None) -> float:
    """Return a finite number, or `default` when it is missing or null.

    Raises TableError for anything else, and for a missing one without a default.
    """
    found = fields.get(name)
    if found is None and default is not None:
        return default
    return as_number(found, where + name, "a finite number")


def as_number(found: object, field: str, wanted: str) -> float:
    """Return a JSON number as a finite float. Raises TableError, asking for `wanted`."""
    if type(found) is int or type(found) is float:
        try:
            converted = float(found)
        except OverflowError:
            raise TableError(field, f"is beyond every float: give {wanted}") from None
        if isfinite(converted):
            return converted
    raise refusal(field, found, wanted)


def flag(fields: Fields, name: str, where: str, default: bool) -> bool:
    """Return a true or false, also written 1 or 0, or `default` when it is missing or null."""
    found = fields.get(name)
    if found is None:
        return default
    if found is True or found is False:
        return found
    if type(found) is int and found in (0, 1):
        return found == 1
    raise refusal(where + name, found, "true or false")
