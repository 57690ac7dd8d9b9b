"""The thread that writes the log, so that nothing a log can do holds up or breaks the relay.

The relay hands an event over and goes on. A full disk, a closed standard error or a pipe nobody
reads costs events, never tokens: what could not be queued or written is counted, and one
`log_dropped` event says how many once writing works again.
"""

import queue
import threading
import time
from collections.abc import Callable
from types import TracebackType

from attrs import frozen

from slotd.core.events import Event, Level
from slotd.logs.chain import Chain
from slotd.logs.destination import Destination
from slotd.logs.settings import LEVELS

MOST_WAITING = 4096
"""Events that wait to be written; one more is dropped."""


@frozen
class _Waiting:
    event: Event
    at: float


class LogWriter:
    """Writes events in the order they are logged; a context manager that owns its thread."""

    def __init__(
        self,
        chain: Chain,
        destination: Destination,
        least: Level,
        *,
        unix_time: Callable[[], float] = time.time,
        flush_s: float = 1.0,
    ) -> None:
        """Log what is at least of the level `least`; at the end wait at most `flush_s` seconds."""
        self._chain = chain
        self._destination = destination
        self._levels = frozenset(LEVELS[LEVELS.index(least) :])
        self._unix_time = unix_time
        self._flush_s = flush_s
        self._waiting: queue.Queue[_Waiting | None] = queue.Queue(MOST_WAITING)
        # Two counts, each written by one thread only: the relay's and the writer's.
        self._not_queued = 0
        self._not_written = 0
        self._told = 0
        # A daemon: one that is stuck in a write must not keep the process from ending.
        self._thread = threading.Thread(target=self._write_all, name="log writer", daemon=True)

    def log(self, event: Event) -> None:
        """Take one event. Returns at once, whatever the state of the destination."""
        if event.level not in self._levels:
            return
        try:
            self._waiting.put_nowait(_Waiting(event, self._unix_time()))
        except queue.Full:
            self._not_queued += 1

    def __enter__(self) -> "LogWriter":
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Write what is waiting, but not for longer than the bound."""
        deadline = time.monotonic() + self._flush_s
        try:
            self._waiting.put(None, timeout=self._flush_s)
        except queue.Full:
            return
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if not self._thread.is_alive():
            self._destination.close()

    def _write_all(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            self._tell_dropped()
            if not self._written(waiting):
                self._not_written += 1
        self._tell_dropped()

    def _tell_dropped(self) -> None:
        dropped = self._not_queued + self._not_written
        count = dropped - self._told
        if count:
            told = Event("log_dropped", "warning", {"count": count})
            if self._written(_Waiting(told, self._unix_time())):
                self._told = dropped

    def _written(self, waiting: _Waiting) -> bool:
        try:
            self._destination.write(self._chain.line(waiting.event, waiting.at))
        except OSError:  # dropping it is all a log can do about that
            return False
        return True
