"""One client on the host's socket: its two directions and where its engine's status goes.

Here: what is done with one connection. Not here: how it came in (`slotd.daemon.reception`) and
whose turn it is (`slotd.daemon.desk`).
"""

import os
import select
import socket
from contextlib import suppress

import trio
from trio.abc import ReceiveStream

from slotd.daemon.lane import Lane
from slotd.daemon.streams import PolledReader, PolledWriter


class Stoppable(ReceiveStream):
    """A stream that can be told to have ended."""

    def __init__(self, stream: ReceiveStream) -> None:
        """Own `stream`."""
        self._stream = stream
        self._reading: trio.CancelScope | None = None
        self.stopped = False
        """Nothing more is read of it."""

    def stop(self) -> None:
        """Let what was read so far be the last."""
        self.stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what is there; b"" at the end, and once it was stopped.

        Nothing that was read is lost: the streams here are only cancelled while they wait.
        """
        if self.stopped:
            await trio.lowlevel.checkpoint()
            return b""
        with trio.CancelScope() as self._reading:
            data = bytes(await self._stream.receive_some(max_bytes))
            if not data:
                self.stopped = True
            return data
        return b""

    async def aclose(self) -> None:
        """Close the stream."""
        self.stopped = True
        await self._stream.aclose()


class Client:
    """A connection that has said what it wants."""

    def __init__(self, connection: socket.socket, status: int | None, pid: int) -> None:
        """Own `connection` and `status`, the writing end of a pipe; `pid` is the other side's."""
        self.pid = pid
        self.since = trio.current_time()
        """When it came, in seconds of trio's clock."""
        self.attached = False
        """It has the engine."""
        self._connection = connection
        self._status = status
        # Each end of a stream owns what it closes.
        self.source = Stoppable(PolledReader(connection.dup()))
        self.lane = Lane(PolledWriter(connection))

    @property
    def leaving(self) -> bool:
        """It has said its last word, whether that was read already or not."""
        return self.source.stopped or self._hung_up(select.POLLRDHUP | select.POLLHUP)

    @property
    def gone(self) -> bool:
        """Nobody is at the other end any more."""
        return self.lane.ended or self._hung_up(select.POLLHUP)

    async def dismiss(self, status: int) -> None:
        """Give it what is queued, the engine's exit status, and the end of the stream."""
        self.tell_status(status)
        await self.lane.aclose()
        await self.source.aclose()

    async def cut(self) -> None:
        """Part from it at once."""
        self.tell_status(None)
        await self.lane.cut()
        await self.source.aclose()

    def tell_status(self, status: int | None) -> None:
        """Write the status for the other side to read once the stream has ended; None: nothing."""
        if self._status is None:
            return
        if status is not None:
            with suppress(OSError):  # nobody reads it
                os.write(self._status, b"%d\n" % status)
        os.close(self._status)
        self._status = None

    def _hung_up(self, signs: int) -> bool:
        if self._connection.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._connection, signs)
        return any(found & signs for _, found in poll.poll(0))
