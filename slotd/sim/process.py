"""The simulated engine as a process: stdin and stdout, a thread that reads, and real time.

Lives here: everything about the simulated engine that does I/O or waits. Must not live here: what
the engine does.

The reader thread only collects bytes; the main thread delivers them to the engine, at once when it
waits and between two steps otherwise. One write carries what one step prints.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from slotd.sim.arguments import ProcessSettings, read_arguments

if TYPE_CHECKING:
    from slotd.sim.engine import SimEngine
    from slotd.sim.requests import LedgerRow

_READ_SIZE = 1 << 16
_STALL_S = 3600.0
_LATE_S = 0.05
"""Behind by more than this (the client stopped reading), lost time is not caught up."""


class OutputOverError(Exception):
    """The process has printed its last line (`--die-after`)."""


class Input:
    """Standard input, read by a thread of its own so that a STOP arrives during any work."""

    def __init__(self) -> None:
        """Begin to read."""
        self._arrived = threading.Condition()
        self._pieces: list[bytes] = []
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while piece := os.read(0, _READ_SIZE):
            with self._arrived:
                self._pieces.append(piece)
                self._arrived.notify()
        with self._arrived:
            self._ended = True
            self._arrived.notify()

    def deliver(self, engine: "SimEngine", wait_s: float | None) -> None:
        """Give the engine what arrived; wait for something first, at most ``wait_s`` seconds.

        None waits for as long as it takes; after the end of the input, the wait is the whole time.
        """
        with self._arrived:
            if wait_s != 0:
                self._arrived.wait_for(lambda: self._pieces or self._ended, wait_s)
            pieces, self._pieces = self._pieces, []
            ended, self._ended = self._ended, False
        if pieces:
            engine.from_client(b"".join(pieces))
        if ended:
            engine.eof()


class Output:
    """Standard output, with the end that `--die-after` or `--stall-after` puts to it."""

    def __init__(self, settings: ProcessSettings) -> None:
        """Count lines only where a limit is set."""
        limits = [limit for limit in (settings.die_after, settings.stall_after) if limit]
        self._left = min(limits) if limits else None
        self._stalls = bool(limits) and min(limits) == settings.stall_after

    def write(self, data: bytes) -> None:
        """Write all of it, or the lines that are still allowed.

        Raises:
            OutputOverError: no line is allowed any more.
            BrokenPipeError: nobody reads.
        """
        over = False
        if self._left is not None:
            lines = data.splitlines(keepends=True)
            over = len(lines) > self._left
            data = b"".join(lines[: self._left])
            self._left -= min(len(lines), self._left)
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
        if over and self._stalls:
            time.sleep(_STALL_S)
        if over:
            raise OutputOverError


def serve(engine: "SimEngine", given: Input, output: Output, speed: float) -> None:
    """Run the engine in real time, ``speed`` times as fast, until it ends."""
    due = time.monotonic()
    while True:
        given.deliver(engine, 0)
        step = engine.step()
        if step is None:
            if engine.ended:
                return
            given.deliver(engine, None)
            due = time.monotonic()
            continue
        if step.seconds:
            # Steps follow each other without a gap, so that rounding and wake-ups do not add up.
            now = time.monotonic()
            due = (due if now - due < _LATE_S else now) + step.seconds / speed
            while (left := due - time.monotonic()) > 0:
                given.deliver(engine, left)
        output.write(step.output)


def _booker(ledger: TextIO | None, notes: TextIO) -> Callable[["LedgerRow"], None]:
    def book(row: "LedgerRow") -> None:
        if ledger is not None:
            ledger.write(json.dumps(row.as_json()) + "\n")
        if row.parked is not None and not row.parked["used"]:
            notes.write(f"slotd.sim: park={row.parked['park']} not used: {row.parked['why']}\n")

    return book


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the process; return its exit status.

    0 after QUIT or the end of the input, 1 when it died as asked to or nobody reads its output.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    settings = read_arguments(sys.argv[1:] if arguments is None else arguments, os.environ)
    if settings.ignored:
        sys.stderr.write(f"slotd.sim: ignoring {' '.join(settings.ignored)}\n")
    with ExitStack() as stack:
        ledger = None
        if settings.ledger is not None:
            try:
                ledger = stack.enter_context(settings.ledger.open("a", buffering=1))
            except OSError as error:
                sys.stderr.write(f"slotd.sim: --ledger {settings.ledger}: {error.strerror}\n")
                return 2
        try:
            _run(settings, ledger)
        except (OutputOverError, BrokenPipeError):
            return 1
    return 0


def _run(settings: ProcessSettings, ledger: TextIO | None) -> None:
    """Load, greet and serve."""
    output = Output(settings)
    time.sleep(settings.load_s)
    output.write(settings.options.greeting())
    # Only now: numpy takes longer to import than all the rest, and nobody has asked yet.
    from slotd.sim.engine import SimEngine
    from slotd.sim.token_model import HashModel

    model = HashModel(settings.end_every)
    engine = SimEngine(settings.options, model, _booker(ledger, sys.stderr))
    serve(engine, Input(), output, settings.speed)
