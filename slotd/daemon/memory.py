"""The last events, for whoever looks at a running slotd.

Here: a bounded list of records, as a log has them. Not here: the log.
"""

import time
from collections import deque
from collections.abc import Callable

from slotd.core.events import Event
from slotd.logs.records import timestamp
from slotd.policy.json_fields import JsonValue

MOST = 96
"""Events that are kept."""
_LEFT_OUT = frozenset({"table"})
"""What is large and only of use with the log: a slot table of every decision."""


class EventMemory:
    """The last `MOST` events above debug."""

    def __init__(self, unix_time: Callable[[], float] = time.time) -> None:
        """Begin with none."""
        self._unix_time = unix_time
        self._kept: deque[tuple[float, Event]] = deque(maxlen=MOST)

    def add(self, event: Event) -> None:
        """Take one in."""
        if event.level != "debug":
            self._kept.append((self._unix_time(), event))

    def records(self) -> list[JsonValue]:
        """Return them as records, the oldest first."""
        return [
            {
                "ts": timestamp(at),
                "level": event.level,
                "event": event.name,
                **{name: value for name, value in event.fields.items() if name not in _LEFT_OUT},
            }
            for at, event in self._kept
        ]
