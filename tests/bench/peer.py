"""The serve process of the measurements: it writes lines, and notes when lines came in."""

import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from protocol import format_ids
from tests.bench.stamping_engine import SLOTS, WRAP, stamp

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Peer:
    """Starts a command and drives the stamping engine at the end of it."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = b""
        self._pending: deque[tuple[bytes, int]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._write(b"QUIT\n")
        else:
            self._process.kill()
        self._process.stdin.close()  # type: ignore[union-attr]  # it was opened as a pipe
        while os.read(self._out, 1 << 20):
            pass
        self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]  # it was opened as a pipe

    def admit_all(self, tokens: int) -> None:
        """Admit a short request to each slot, and wait until the last one decodes."""
        for slot in range(SLOTS):
            self.send_prompt(slot, tokens, seed=slot)
            self.wait_admitted(finished=False)

    def send_prompt(self, slot: int, tokens: int, seed: int, key: str = "") -> int:
        """Write an admission; return the stamp of the moment its last byte was written."""
        ids = np.random.default_rng(seed).integers(1_000, 200_000, tokens, dtype=np.int32)
        head = f"BGEN {slot} 1000 {key} ".replace("  ", " ").encode()
        self._write(head + format_ids(ids) + b"\n")
        return stamp()

    def wait_admitted(self, finished: bool) -> None:
        """Read until the admission under way decodes, or until it is over."""
        wanted = b"BDONE" if finished else b"BADM"
        for line, _ in self._lines():
            if line.startswith(wanted):
                return

    def delays_until_end(self) -> Iterator[tuple[int, float]]:
        """Yield the stamp of every slot's token and how long its line took, in ms."""
        for line, now in self._lines():
            if line == b"END":
                return
            if line.startswith(b"BT"):
                then = int(line.split()[2])
                yield then, (now - then) % WRAP / 1000

    def skip_to_end(self) -> None:
        """Read everything up to the last line, at the least cost."""
        tail = self._rest
        if self._pending and self._pending[-1][0] == b"END":
            tail = b"END\n"
        self._pending.clear()
        while not tail.endswith(b"END\n"):
            tail = tail[-8:] + os.read(self._out, 1 << 18)
        self._rest = b""

    def time_prompt(self, slot: int, tokens: int, seed: int) -> tuple[float, float]:
        """Write a long admission while another slot decodes.

        Return how long it took from its last byte written to its last byte at the engine, and the
        longest time a line of the other slot took meanwhile; both in ms.
        """
        written: list[int] = []

        def write() -> None:
            written.append(self.send_prompt(slot, tokens, seed))

        thread = threading.Thread(target=write)
        thread.start()
        came, longest = 0, 0.0
        for line, now in self._lines():
            if line.startswith(b"STAMP"):
                came = int(line.split()[2])
            elif line.startswith(b"BT 7"):
                longest = max(longest, (now - int(line.split()[2])) % WRAP / 1000)
            elif line.startswith(b"BDONE"):
                break
        thread.join()
        return (came - written[0] + WRAP // 2) % WRAP / 1000 - WRAP // 2 / 1000, longest

    def cpu_seconds(self) -> float:
        """Return the CPU time of the command's own process so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mib(self) -> float:
        """Return what of the command's own process is resident."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * PAGE / (1 << 20)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._in, rest) :]

    def _lines(self) -> Iterator[tuple[bytes, int]]:
        """Yield lines without their end, each with the stamp of its arrival."""
        while True:
            while self._pending:
                yield self._pending.popleft()
            data = os.read(self._out, 1 << 16)
            now = stamp()
            if not data:
                raise EOFError("the command ended")
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._pending.extend((line, now) for line in whole)
