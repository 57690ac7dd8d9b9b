"""What slotd tells about itself: one event a fact.

Here: the value a fact is told in. Not here: how it is formatted, filtered or written
(`slotd.logs`).

No event holds a token id, prompt text, or the path of a picture; nor a word of the engine's that is
none of the protocol's, as it could hold them.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from slotd.policy.json_fields import JsonValue

Level = Literal["debug", "info", "warning", "error"]


_FINISHES = frozenset({"stop", "length", "cancel", "error"})


def finish_word(finish: str) -> str:
    """Return how a request ended, in one of the protocol's words; `other` for any other word."""
    return finish if finish in _FINISHES else "other"


@frozen
class Event:
    """One fact: a short constant name, and its values as data."""

    name: str
    level: Level
    fields: Mapping[str, JsonValue]
