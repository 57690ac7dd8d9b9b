"""Writing the record into files: bounded, rotated, safe against a crash.

Here: file I/O and nothing else; it may block, so it belongs on a thread of its own, behind a
bounded queue. A full file is renamed to `PATH.1`, that one to `PATH.2`, and so on; the oldest are
deleted as far as all together would take too much. What is no record is left alone. Lines are
written whole and flushed; a crash leaves at most one torn last line, which the reader drops.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from slotd.record.lines import MARK, Entry, LineWriter
from slotd.record.theirs import refuse_theirs

FILE_BYTES: Final = 16 * 1024 * 1024
TOTAL_BYTES: Final = 8 * FILE_BYTES
FILES: Final = 200
"""Every start begins a file, and most are short: the bytes bound a record, and rarely their number.
A start that was asked for nothing leaves no file behind."""
SALT_BYTES: Final = 32


def new_salt() -> bytes:
    """Return a salt; it stays in memory and is another one at the next start."""
    return secrets.token_bytes(SALT_BYTES)


def cannot_write(path: str | Path, error: OSError) -> str:
    """Say in one line that the record at `path` cannot be written, and why."""
    return f"{error.filename or path}: the record cannot be written: {error.strerror}"


class RecordFiles:
    """The files of one record."""

    def __init__(
        self,
        path: Path,
        *,
        began: float = 0.0,
        file_bytes: int = FILE_BYTES,
        files: int = FILES,
        total_bytes: int = TOTAL_BYTES,
    ) -> None:
        """Begin a new file at `path`; a record that is there is kept as an older one.

        Args:
            path: the current file.
            began: what the entries' times count from, in seconds since 1970.
            file_bytes: how long a file gets before it is rotated.
            files: how many files are kept at most, the current one included.
            total_bytes: how long all of them get together.

        Raises:
            OSError: the file cannot be opened for writing, or it or a numbered one is something
                else's.
        """
        self.path = path
        """The current file."""
        self._began = began
        self._limit = file_bytes
        self._files = files
        self._total = total_bytes
        self._label = secrets.token_hex(4)
        self._open()

    def write(self, entries: Iterable[Entry]) -> None:
        """Append entries.

        Raises:
            OSError: the disk is full, or the file cannot be written any more.
        """
        for entry in entries:
            if self._written >= self._limit:
                self._file.close()
                self._open()
            self._put(self._lines.line(entry))
        self._file.flush()

    def close(self) -> None:
        """Close the current file."""
        self._file.close()

    def _open(self) -> None:
        if self.path.is_file():
            for number in range(self._files):
                refuse_theirs(self._numbered(number), MARK)
            if self._has_entries():
                self._rotate()
        # Not waiting for anybody to read a named pipe.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
        descriptor = os.open(self.path, flags, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="ascii")
        self._written = 0
        self._lines = LineWriter.begin(self._label, self._began)
        self._put(self._lines.header())
        self._file.flush()

    def _rotate(self) -> None:
        for number in range(self._files - 1, 0, -1):
            younger = self._numbered(number - 1)
            if younger.is_file():
                younger.replace(self._numbered(number))
        if self._files == 1:
            self.path.unlink()
        left = self._total - self._limit
        for number in range(1, self._files):
            file = self._numbered(number)
            if file.is_file():
                left -= file.stat().st_size
                if left < 0:
                    file.unlink()

    def _has_entries(self) -> bool:
        with self.path.open("rb") as file:
            file.readline()
            return bool(file.read(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path

    def _put(self, line: str) -> None:
        self._file.write(line)
        self._written += len(line)
