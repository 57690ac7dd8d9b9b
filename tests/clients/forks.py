"""slotd as processes that need not import anything: hundreds of them for the CPU of a few.

Lives here: asking the server they are forked from (`fork_server`), and one such process as `trio`
and as `subprocess` show theirs. Must not live here: what it is used for, nor which of slotd's
processes are begun so (`process`, `tests.daemon.processes`).
"""

import atexit
import io
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import BinaryIO

import trio
from attrs import define, frozen

from tests.clients.fork_server import MOST_BYTES, READY
from tests.clients.slotd import SLOTD, SLOTD_ENGINE
from tests.paths import PROJECT

_PROGRAMS = {"slotd": SLOTD, "slotd-engine": SLOTD_ENGINE}


@frozen
class _Started:
    """A forked process, and the descriptor that gives its exit status once it has ended."""

    pid: int
    status: int


def _program(command: Sequence[str]) -> str | None:
    begins = (name for name, words in _PROGRAMS.items() if tuple(command[: len(words)]) == words)
    return next(begins, None)


def can_be_forked(command: Sequence[str]) -> bool:
    """Whether that is the command line of something the server can start."""
    return _program(command) is not None


def _fork(command: Sequence[str], environment: Mapping[str, str], *streams: int) -> _Started:
    """Start a command in a session of its own, with these as its standard descriptors."""
    program = _program(command)
    assert program is not None
    arguments = command[len(_PROGRAMS[program]) :]
    asked = {"program": program, "arguments": arguments, "environment": dict(environment)}
    status, told = os.pipe()
    server = _server()
    socket.send_fds(server, [json.dumps(asked).encode()], [*streams, told])
    os.close(told)
    # It answers at once.
    return _Started(int(server.recv(MOST_BYTES)), status)


@cache
def _server() -> socket.socket:
    """Start the server, which ends when this process does; return the connection to it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.clients.fork_server"]
    with its:
        server = subprocess.Popen(command, stdin=its.fileno(), cwd=PROJECT)

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    assert ours.recv(MOST_BYTES) == READY
    return ours


@define
class TrioFork:
    """One process; its members are those of a `trio.Process`."""

    pid: int
    stdin: trio.lowlevel.FdStream
    stdout: trio.lowlevel.FdStream
    _status: trio.lowlevel.FdStream
    returncode: int | None = None

    @classmethod
    def start(
        cls, command: Sequence[str], environment: Mapping[str, str], stderr: int
    ) -> "TrioFork":
        """Start a command in a session of its own, its output and input being ours."""
        (its_input, stdin), (stdout, its_output) = os.pipe(), os.pipe()
        process = _fork(command, environment, its_input, its_output, stderr)
        for descriptor in (its_input, its_output):
            os.close(descriptor)
        stream = trio.lowlevel.FdStream
        return cls(process.pid, stream(stdin), stream(stdout), stream(process.status))

    async def wait(self) -> int:
        """Wait for its end; return its exit status, minus the signal it was killed by."""
        if self.returncode is None:
            told = b""
            async with self._status:
                while data := await self._status.receive_some():
                    told += data
            self.returncode = int(told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to have ended."""
        if self.returncode is None:
            os.kill(self.pid, number)


@define
class BlockingFork:
    """One process; its members are those of a `subprocess.Popen`."""

    args: Sequence[str]
    pid: int
    stdin: BinaryIO | None
    stdout: BinaryIO | None
    stderr: BinaryIO | None
    _status: BinaryIO
    returncode: int | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        bufsize: int = io.DEFAULT_BUFFER_SIZE,
        **streams: "int | BinaryIO | None",
    ) -> "BlockingFork":
        """Start a command in a session of its own.

        Args:
            command: the command line.
            env: its whole environment (None: this process's).
            bufsize: of the pipes, in bytes.
            streams: `stdin`, `stdout` and `stderr`, with the meaning they have for `subprocess`.
        """
        its, pipes, to_close = list[int](), list[BinaryIO | None](), list[int]()
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            given, pipe = streams.get(name), None
            if given == subprocess.PIPE:
                reads, writes = os.pipe()
                kept, passed = (reads, writes) if number else (writes, reads)
                pipe = os.fdopen(kept, "rb" if number else "wb", bufsize)
                to_close.append(passed)
            elif given == subprocess.DEVNULL:
                passed = os.open(os.devnull, os.O_RDWR)
                to_close.append(passed)
            elif isinstance(given, int):
                passed = given
            else:
                passed = number if given is None else given.fileno()
            its.append(passed)
            pipes.append(pipe)
        process = _fork(command, os.environ if env is None else env, *its)
        for descriptor in to_close:
            os.close(descriptor)
        stdin, stdout, stderr = pipes
        status = os.fdopen(process.status, "rb")
        return cls(command, process.pid, stdin, stdout, stderr, status)

    def poll(self) -> int | None:
        """Return its exit status as `wait` does, or None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its exit status, minus the signal it was killed by.

        Raises:
            subprocess.TimeoutExpired: it had not ended after so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._status:
                self.returncode = int(self._status.read())
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(15)

    def kill(self) -> None:
        """End it."""
        self.send_signal(9)

    def communicate(
        self, input: bytes | None = None, timeout: float | None = None
    ) -> tuple[bytes, bytes]:
        """Write `input`, read to the ends, and wait for its own; return output and errors.

        What is no pipe gives nothing. The timeout is that of waiting: to be sure that the ends come
        is up to the caller.
        """
        with ThreadPoolExecutor(2) as reading:
            out, err = (reading.submit(_rest_of, pipe) for pipe in (self.stdout, self.stderr))
            if self.stdin is not None:
                with suppress(BrokenPipeError), self.stdin:
                    self.stdin.write(input or b"")
        self.wait(timeout)
        return out.result(), err.result()


def _rest_of(pipe: BinaryIO | None) -> bytes:
    return b"" if pipe is None else pipe.read()
