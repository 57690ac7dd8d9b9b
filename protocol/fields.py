"""What every line has in common: its content, its fields and the numbers in them.

Lives here: cutting a raw line into verb and fields, reading numbers that came from outside, and
replacing a single field. Must not live here: the meaning of any verb.

A line's verb ends at the first space. The fields after it are separated by runs of ASCII
whitespace, as the engine reads them. Nothing in this module raises on bytes from outside.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from math import isfinite

INT32_MAX = 2**31 - 1

_MOST_DIGITS = 18  # what int64 surely holds; int() itself refuses thousands of digits
_DECIMAL = re.compile(rb"-?[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,3})?")


def content(raw: bytes) -> bytes:
    r"""Take off the terminator: one ``\n`` and one ``\r`` before it."""
    return raw.removesuffix(b"\n").removesuffix(b"\r")


def split_verb(raw: bytes) -> tuple[bytes, bytes]:
    """Cut a line's content at its first space into the verb and the rest."""
    verb, _, rest = content(raw).partition(b" ")
    return verb, rest


def integer(text: bytes) -> int | None:
    """Read a decimal integer of at most 18 digits; None when the text is anything else."""
    # Not a pattern: this runs for every token the engine prints, and isdigit() is ASCII on bytes.
    digits = text.removeprefix(b"-")
    return int(text) if digits.isdigit() and len(digits) <= _MOST_DIGITS else None


def count(text: bytes) -> int | None:
    """Read an integer that counts something (tokens); None also when it is negative."""
    return int(text) if text.isdigit() and len(text) <= _MOST_DIGITS else None


def token_id(text: bytes) -> int | None:
    """Read one token id, 0 to the largest int32; None when the text is anything else."""
    if not text.isdigit() or len(text) > 10:
        return None
    number = int(text)
    return number if number <= INT32_MAX else None


def decimal(text: bytes) -> float | None:
    """Read a finite decimal number (ms, rates); None when the text is anything else."""
    if _DECIMAL.fullmatch(text) is None:
        return None
    number = float(text)
    return number if isfinite(number) else None


def word(text: bytes) -> str:
    """Decode a field for people and comparisons; bytes that are no UTF-8 become U+FFFD."""
    return text.decode("utf-8", "replace")


@lru_cache(maxsize=16)
def _finder(index: int) -> Callable[[bytes], re.Match[bytes] | None]:
    # Possessive quantifiers: a 1.8 MB line with too few fields fails in one pass.
    return re.compile(rb"\s*+(?:\S++\s++){%d}(\S++)" % index).match


def replace_field(raw: bytes, index: int, value: bytes) -> bytes:
    """Write the line with one field replaced and every other byte kept.

    Args:
        raw: one raw line, with or without its terminator.
        index: which field; 0 is the verb, 1 the first field after it.
        value: the new field, without whitespace.

    Raises:
        IndexError: the line has no such field.
    """
    found = _finder(index)(raw)
    if found is None:
        raise IndexError(f"the line has no field {index}")
    return raw[: found.start(1)] + value + raw[found.end(1) :]
