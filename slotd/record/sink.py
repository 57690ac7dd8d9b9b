"""The thread that writes the record, so that a slow disk holds up nothing.

Here: the thread and its bounded queue. Not here: the files (`files`) and what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from threading import Thread
from typing import Final

from slotd.core.events import Event
from slotd.record.files import RecordFiles, cannot_write
from slotd.record.lines import Entry

BOUND: Final = 256
"""Batches of entries that wait to be written; more are dropped and counted."""


class RecordSink:
    """A record's writer on a thread of its own."""

    def __init__(self, files: RecordFiles, log: Callable[[Event], None]) -> None:
        """Start the thread; `log` gets one event when the record cannot be written any more."""
        self._files = files
        self._log = log
        self._queue: Queue[list[Entry] | None] = Queue(BOUND)
        self.dropped = 0
        """Batches dropped because the disk was too slow or has failed."""
        self._failed = False
        self._thread = Thread(target=self._write, name="record", daemon=True)
        self._thread.start()

    def put(self, entries: list[Entry]) -> None:
        """Hand entries over; never blocks."""
        try:
            self._queue.put_nowait(entries)
        except Full:
            self.dropped += 1

    def close(self, timeout: float = 2.0) -> None:
        """Write what waits, for at most `timeout` seconds, and end."""
        try:
            self._queue.put(None, timeout=timeout)
        except Full:
            return
        self._thread.join(timeout)

    def _write(self) -> None:
        while (entries := self._queue.get()) is not None:
            if self._failed:
                self.dropped += 1
            else:
                self._try(partial(self._files.write, entries))
        self._try(self._files.close)

    def _try(self, work: Callable[[], None]) -> None:
        """Do something with the files; tell of the first time that cannot be done."""
        try:
            work()
        except OSError as error:
            if not self._failed:
                message = cannot_write(self._files.path, error)
                self._log(Event("error", "error", {"where": "record", "message": message}))
            self._failed = True
