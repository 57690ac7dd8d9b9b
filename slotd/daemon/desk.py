"""Whose turn it is: one client is served, one more may wait, everybody else is refused.

Here: that rule. Not here: what a client is given (`slotd.daemon.life`).

A client may wait while the one before it is leaving: what that one had asked for is being stopped,
or its engine is being started again. A serve process that is restarted comes back while the old
one's connection may be still about to end, so a place is waited for a moment before it is refused.
"""

from contextlib import suppress

import trio

from slotd.daemon.client import Client

GRACE_S = 1.0
"""Seconds in which the client before may still leave."""
LOOK_S = 0.02
"""Seconds between two looks at whether it has."""


class Desk:
    """The one place there is, and the chair beside it."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self.served: Client | None = None
        self.waiting: Client | None = None
        self.closed = False
        self._changed = trio.Event()

    async def take_in(self, client: Client) -> str | None:
        """Let a client wait for its turn; return why it may not, in a line."""
        await self._clear_chair()
        refusal = self._refusal()
        with trio.move_on_after(GRACE_S):
            while refusal is not None and not self.closed:
                await trio.sleep(LOOK_S)
                await self._clear_chair()
                refusal = self._refusal()
        if refusal is not None:
            return refusal
        # Nothing is waited for from that answer to the end: the chair is taken by one at a time,
        # and whoever called has the first word to the client.
        self.waiting = client
        self._tell()
        return None

    async def next(self) -> Client | None:
        """Wait for a client and serve it from now on; None: there will be none."""
        self.served = None
        while await self.wanted():
            client, self.waiting = self.waiting, None
            assert client is not None
            if not client.gone:
                self.served = client
                return client
            await client.cut()
        return None

    async def wanted(self) -> bool:
        """Wait until somebody waits, or return False once it is closed."""
        while not self.closed and self.waiting is None:
            await self._changed.wait()
        return not self.closed

    def close(self) -> None:
        """Serve nobody after the one that is served."""
        self.closed = True
        self._tell()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not on after it is closed."""
        with trio.move_on_after(seconds):
            while not self.closed:
                await self._changed.wait()

    async def send_away(self, status: int) -> None:
        """Part from the one that waits; `status` is what its engine's end would have been."""
        if self.waiting is not None:
            client, self.waiting = self.waiting, None
            with suppress(trio.BrokenResourceError):
                await client.dismiss(status)

    async def _clear_chair(self) -> None:
        """Part from one that waited and has gone."""
        while self.waiting is not None and self.waiting.gone:
            left, self.waiting = self.waiting, None
            with trio.CancelScope(shield=True):
                await left.cut()

    def _refusal(self) -> str | None:
        if self.closed:
            return "slotd is stopping: attach again when it is back"
        if self.waiting is not None:
            return f"another client (process {self.waiting.pid}) waits to be served: end it first"
        if self.served is not None and not self.served.leaving:
            return f"another client (process {self.served.pid}) is attached: end it first"
        return None

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
