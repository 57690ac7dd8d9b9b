"""A lane: everything that goes to one side, written in the order it was decided.

Bytes for the engine can come of what the client wrote and of what the engine wrote, and so can
bytes for the client. Whatever task is writing, the order is that of the decisions. Not here: where
the bytes come from (`slotd.daemon.relay`).
"""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

import trio
from trio.abc import SendStream

MOST_WAITING = 32 << 20
"""Bytes that may wait in a lane before the direction it does not belong to waits as well: two of
the longest lines."""


class Lane:
    """A first-in first-out queue in front of a stream.

    The direction that mostly fills a lane waits until its bytes are written: that is the
    backpressure. The other direction only leaves bytes in it, and goes on.
    """

    def __init__(self, stream: SendStream) -> None:
        """Write to `stream`, which the lane closes."""
        self._stream = stream
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._writing = trio.StrictFIFOLock()
        self._drain_is_coming = False
        self._ended = False

    def put(self, pieces: Iterable[bytes]) -> None:
        """Queue `pieces`; after the stream has ended they are dropped, as by a closed pipe."""
        data = b"".join(pieces)
        if data and not self._ended:
            self._pieces.append(data)
            self._waiting += len(data)

    async def flush(self) -> None:
        """Wait until everything put so far is written.

        Raises BrokenResourceError when nobody reads it any more, now or since an earlier flush.
        """
        try:
            self._writing.acquire_nowait()
        except trio.WouldBlock:
            await self._writing.acquire()
        try:
            await self._write_pieces()
        finally:
            self._writing.release()

    def drain_soon(self, nursery: trio.Nursery) -> None:
        """Have what is queued written by a task of its own."""
        if self._pieces and not self._drain_is_coming:
            self._drain_is_coming = True
            nursery.start_soon(self._drain)

    async def settle(self) -> None:
        """Return at once, unless more is waiting than memory should hold."""
        if self._waiting > MOST_WAITING:
            await self._drain()

    async def aclose(self) -> None:
        """Write what is queued, then close the stream."""
        await self._drain()
        self._end()
        await self._stream.aclose()

    async def cut(self) -> None:
        """Close the stream at once; what is queued is dropped, and nobody waits for it any more."""
        self._end()
        await self._stream.aclose()

    @property
    def ended(self) -> bool:
        """Nobody reads the stream any more."""
        return self._ended

    async def _drain(self) -> None:
        self._drain_is_coming = False
        # The direction this lane belongs to is told of a broken stream at its own next flush.
        with suppress(trio.BrokenResourceError):
            await self.flush()

    async def _write_pieces(self) -> None:
        while self._pieces:
            data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            try:
                await self._stream.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._end()
            self._waiting = sum(map(len, self._pieces))
        if self._ended:
            raise trio.BrokenResourceError("nobody reads this any more")

    def _end(self) -> None:
        self._ended = True
        self._pieces.clear()
        self._waiting = 0
