r"""How a client comes in: the few bytes before the engine's own.

    client to host    SLOTD ATTACH 1\n     and, with its first byte, the writing end of a pipe
    host to client    SLOTD OK\n           then what the engine prints, and what the client writes
                      SLOTD REFUSED <why>\n   and the end

When the engine has ended, or the client has and everything it had asked for was stopped, its exit
status is written into the pipe as a decimal number (128 + n for signal n), and both are closed. The
pipe may be left out. Whoever says something else is told how to come in: in one `ERR` line, as it
may take this for an engine.

Here: that, and the listening socket. Not here: whose turn it is (`slotd.daemon.desk`).
"""

import array
import os
import socket
import stat
import struct
from collections.abc import Callable
from contextlib import suppress

import trio

from slotd.core.events import Event
from slotd.daemon.client import Client
from slotd.daemon.connections import serve_connections
from slotd.daemon.desk import Desk
from slotd.daemon.hello import HELLO, OK, REFUSED
from slotd.daemon.lane import Lane
from slotd.daemon.streams import PolledWriter

FIRST_LINE_S = 10.0
"""Seconds in which a client must have said what it wants."""
MOST_AT_ONCE = 32
"""Connections that have not said it yet."""
_ERR = b"ERR this is the socket of 'slotd host': connect to it with 'slotd attach SOCKET'\n"


class Reception:
    """Takes connections and leads clients to the desk."""

    def __init__(self, listening: socket.socket, desk: Desk, log: Callable[[Event], None]) -> None:
        """Take connections of `listening`, which stays the caller's to close."""
        self._listening = listening
        self._desk = desk
        self._log = log

    async def run(self) -> None:
        """Take connections for ever."""
        await serve_connections(self._listening, self._receive, MOST_AT_ONCE)

    async def _receive(self, connection: socket.socket) -> None:
        hello, pipes = b"", list[int]()
        with trio.move_on_after(FIRST_LINE_S):
            hello = await _first_line(connection, pipes)
        status = pipes.pop() if pipes and hello == HELLO else None
        for pipe in pipes:
            os.close(pipe)
        if hello != HELLO:
            await _say_last(connection, _ERR)
            return
        client = Client(connection, status, peer(connection)[0])
        refusal = await self._desk.take_in(client)
        if refusal is None:
            client.lane.put([OK])
            with suppress(trio.BrokenResourceError):  # it has gone already: its turn will tell
                await client.lane.flush()
            return
        self._log(Event("client_refused", "warning", {"pid": client.pid, "message": refusal}))
        client.lane.put([REFUSED, refusal.encode(), b"\n"])
        with trio.move_on_after(FIRST_LINE_S):
            await client.dismiss(0)
            return
        await client.cut()


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", found)
    return pid, uid


async def _first_line(connection: socket.socket, pipes: list[int]) -> bytes:
    """Read up to the first line's end; the first pipe that came with it is added to `pipes`."""
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < len(HELLO):
            await trio.lowlevel.wait_readable(connection)
            data, ancillary, _, _ = connection.recvmsg(
                len(HELLO) - len(line),
                socket.CMSG_SPACE(16),
                # No engine started later inherits them.
                socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC,
            )
            for found in _descriptors(ancillary):
                if not pipes and stat.S_ISFIFO(os.fstat(found).st_mode):
                    os.set_blocking(found, False)
                    pipes.append(found)
                else:
                    os.close(found)
            if not data:
                break
            line += data
    except OSError:  # it has gone
        return b""
    return line


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return list(found)


async def _say_last(connection: socket.socket, line: bytes) -> None:
    lane = Lane(PolledWriter(connection))
    lane.put([line])
    with trio.move_on_after(FIRST_LINE_S):
        await lane.aclose()
        return
    await lane.cut()
