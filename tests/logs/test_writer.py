"""The log's thread: order, levels, and what a destination that fails or blocks costs."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slotd.core.events import Event, Level
from slotd.logs.chain import Chain
from slotd.logs.destination import Destination, open_log_file
from slotd.logs.writer import MOST_WAITING, LogWriter


class Scripted(Destination):
    """A destination that waits at a gate, and fails at the writes it is told to."""

    def __init__(self, failing: range = range(0)) -> None:
        super().__init__(-1)
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.lines: list[dict[str, Any]] = []
        self._failing = failing
        self._writes = 0

    def write(self, line: bytes) -> None:
        self.reached.set()
        self.gate.wait()
        self._writes += 1
        if self._writes in self._failing:
            raise OSError(28, "No space left on device")
        self.lines.append(json.loads(line))

    def told(self) -> list[tuple[str, int]]:
        return [(line["event"], line["n" if "n" in line else "count"]) for line in self.lines]


def writer(destination: Destination, least: Level = "info", flush_s: float = 60) -> LogWriter:
    return LogWriter(
        Chain("json", colours=False), destination, least, unix_time=lambda: 7.0, flush_s=flush_s
    )


def number(n: int, level: Level = "info") -> Event:
    return Event("number", level, {"n": n})


def test_events_are_written_in_order_with_the_time_they_were_logged() -> None:
    destination = Scripted()
    destination.gate.set()
    with writer(destination) as log:
        for n in range(100):
            log.log(number(n))
    assert destination.told() == [("number", n) for n in range(100)]
    assert {line["ts"] for line in destination.lines} == {"1970-01-01T00:00:07.000Z"}


def test_less_than_the_least_level_is_not_written() -> None:
    destination = Scripted()
    destination.gate.set()
    with writer(destination, least="warning") as log:
        for n, level in enumerate(("debug", "info", "warning", "error")):
            log.log(number(n, level))  # type: ignore[arg-type]  # the words are levels
    assert destination.told() == [("number", 2), ("number", 3)]


def test_a_blocked_destination_costs_events_and_they_are_counted() -> None:
    destination = Scripted()
    with writer(destination) as log:
        log.log(number(0))
        destination.reached.wait()  # the thread is stuck with the first one
        for n in range(MOST_WAITING + 5):
            log.log(number(n + 1))
        destination.gate.set()
    told = destination.told()
    assert told.count(("log_dropped", 5)) == 1
    told.remove(("log_dropped", 5))
    assert told == [("number", n) for n in range(MOST_WAITING + 1)]


def test_a_full_disk_costs_events_and_they_are_counted_once_there_is_room() -> None:
    # Writes 2 to 6 fail: three events, and two tries to tell of the first ones.
    destination = Scripted(failing=range(2, 7))
    destination.gate.set()
    with writer(destination) as log:
        for n in range(5):
            log.log(number(n))
    assert destination.told() == [("number", 0), ("log_dropped", 3), ("number", 4)]


def test_what_is_dropped_last_is_told_at_the_end() -> None:
    destination = Scripted(failing=range(1, 2))
    destination.gate.set()
    with writer(destination) as log:
        log.log(number(0))
    assert destination.told() == [("log_dropped", 1)]


def test_the_end_does_not_wait_for_a_destination_that_never_takes_anything() -> None:
    destination = Scripted()
    with writer(destination, flush_s=0.01) as log:
        log.log(number(0))
    assert destination.lines == []
    destination.gate.set()


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    try:
        yield reads, writes
    finally:
        os.close(reads)
        os.close(writes)


def test_a_descriptor_somebody_made_non_blocking_is_waited_for() -> None:
    line = b"long" * 50_000 + b"\n"
    with pipe() as (reads, writes):
        os.set_blocking(writes, False)
        thread = threading.Thread(target=Destination(writes).write, args=(line,))
        thread.start()
        got = b""
        while len(got) < len(line):
            got += os.read(reads, 1 << 16)
        thread.join()
    assert got == line


def test_a_line_after_a_torn_one_starts_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = b""
    room = iter([4, 0, 0, 1, 0, 99])

    def disk(_descriptor: int, data: memoryview) -> int:
        nonlocal written
        taken = bytes(data[: next(room)])
        if not taken:
            raise OSError(28, "No space left on device")
        written += taken
        return len(taken)

    destination = Destination(-1)
    monkeypatch.setattr(os, "write", disk)
    for line in (b"first\n", b"second\n", b"third\n"):
        with pytest.raises(OSError, match="No space"):
            destination.write(line)
    destination.write(b"fourth\n")
    monkeypatch.undo()
    assert written == b"firs\n\nfourth\n"


def test_a_log_file_is_appended_to_and_a_pipe_nobody_reads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    descriptor = open_log_file(str(path))
    Destination(descriptor).write(b"after\n")
    os.close(descriptor)
    assert path.read_bytes() == b"before\nafter\n"
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="No such device or address"):
        open_log_file(str(tmp_path / "fifo"))
