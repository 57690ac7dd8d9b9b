"""Where the log goes: a file appended to, or standard error.

Here: opening it before the engine is started, and writing whole lines to a descriptor of any kind.
Not here: the thread that writes (`slotd.logs.writer`). Light, as it is imported before the engine
is started.
"""

import os
import select
from collections.abc import Mapping

STANDARD_ERROR = 2


class Destination:
    """A descriptor that takes log lines. Its flags are left as they are: others may share it."""

    def __init__(self, descriptor: int) -> None:
        """Write to `descriptor`, which stays the caller's to close."""
        self.descriptor = descriptor
        self._torn = False

    @property
    def is_terminal(self) -> bool:
        """Whether a person is looking at it."""
        return os.isatty(self.descriptor)

    def is_journal_of(self, environment: Mapping[str, str]) -> bool:
        """Whether it leads to systemd's journal: JOURNAL_STREAM in `environment` names it.

        A descriptor that was redirected since, or inherited by chance, has other numbers.
        """
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return False
        return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"

    def write(self, line: bytes) -> None:
        """Write one line, waiting for as long as that takes.

        Raises OSError when it cannot be written (a full disk, a reader that went away). The line
        is then lost, and what may have been written of it is set apart from the next one.
        """
        rest = memoryview(b"\n" + line if self._torn else line)
        whole = len(rest)
        while rest:
            try:
                rest = rest[os.write(self.descriptor, rest) :]
            except BlockingIOError:  # whoever shares the descriptor has made it non-blocking
                _wait_until_writable(self.descriptor)
            except OSError:
                self._torn = self._torn or len(rest) < whole
                raise
        self._torn = False

    def close(self) -> None:
        """Close what it has opened itself: nothing, here."""


def open_log_file(path: str) -> int:
    """Open the file at `path` for appending and return its descriptor. Raises OSError.

    A named pipe that nobody reads is refused by the system (ENXIO) rather than waited for.
    """
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)


def _wait_until_writable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
