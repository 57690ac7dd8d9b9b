"""slotd as processes that need not import anything: a hundred of them for the CPU of a few.

Lives here: the server they are forked from (`fork_server`), and one such process as the tests use
it. Must not live here: what it is used for.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import trio
from attrs import define, frozen

from tests.clients.slotd import SLOTD
from tests.faults.fork_server import MOST_BYTES, READY
from tests.paths import PROJECT


@define
class ForkedProcess:
    """One process; its members are those of a `trio.Process`."""

    pid: int
    stdin: trio.lowlevel.FdStream
    stdout: trio.lowlevel.FdStream
    _status: trio.lowlevel.FdStream
    returncode: int | None = None

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


@frozen
class ForkServer:
    """The process they are forked from."""

    _connection: socket.socket

    async def start(
        self, command: Sequence[str], environment: Mapping[str, str], errors: BinaryIO
    ) -> ForkedProcess:
        """Start what begins with the words of `SLOTD`, in a session of its own."""
        assert tuple(command[: len(SLOTD)]) == SLOTD
        asked = {"arguments": command[len(SLOTD) :], "environment": dict(environment)}
        (its_input, stdin), (stdout, its_output), (status, told) = os.pipe(), os.pipe(), os.pipe()
        given = [its_input, its_output, errors.fileno(), told]
        socket.send_fds(self._connection, [json.dumps(asked).encode()], given)
        for descriptor in (its_input, its_output, told):
            os.close(descriptor)
        # It answers at once.
        pid = int(self._connection.recv(MOST_BYTES))
        stream = trio.lowlevel.FdStream
        return ForkedProcess(pid, stream(stdin), stream(stdout), stream(status))


@contextmanager
def fork_server() -> Iterator[ForkServer]:
    """Run the server; what is still running at the end is left to whoever started it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.faults.fork_server"]
    with ours:
        with its:
            server = subprocess.Popen(command, stdin=its.fileno(), cwd=PROJECT)
        try:
            assert ours.recv(MOST_BYTES) == READY
            yield ForkServer(ours)
        finally:
            server.kill()
            server.wait()
