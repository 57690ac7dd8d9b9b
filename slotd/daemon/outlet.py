"""Where the engine's lines go in host mode: to whoever is served, and its greeting into memory.

Here: a sink for the relay whose client comes and goes. Not here: whose turn it is.
"""

from collections.abc import Callable, Iterable

import trio

from protocol import Ready, parse_engine_line
from slotd.daemon.client import Client

MOST_GREETING = 1 << 20
"""Bytes of the engine's lines up to its READY that are kept at most."""


class Outlet:
    """The lines of one engine's life."""

    def __init__(self, greeted: Callable[[], None]) -> None:
        """Begin with nobody served; `greeted` is called when the engine's READY has passed."""
        self.client: Client | None = None
        self._greeting: list[bytes] = []
        self._size = 0
        self._is_greeted = False
        self._greeted = greeted

    @property
    def is_greeted(self) -> bool:
        """The engine has printed READY."""
        return self._is_greeted

    def serve(self, client: Client) -> None:
        """Give a client what a fresh engine has printed so far, and all it prints from now on."""
        client.lane.put(self._greeting)
        self.client = client

    def put(self, pieces: Iterable[bytes]) -> None:
        """Queue lines for the client; without one they are nobody's."""
        lines = list(pieces)
        if not self._is_greeted:
            self._keep(lines)
        if self.client is not None:
            self.client.lane.put(lines)

    async def flush(self) -> None:
        """Wait until the client has them; one that no longer reads is leaving."""
        client = self.client
        if client is not None:
            try:
                await client.lane.flush()
            except trio.BrokenResourceError:
                client.source.stop()

    def drain_soon(self, nursery: trio.Nursery) -> None:
        """Have the client's lines written by a task of its own."""
        if self.client is not None:
            self.client.lane.drain_soon(nursery)

    async def settle(self) -> None:
        """Wait when the client takes less than it causes."""
        if self.client is not None:
            await self.client.lane.settle()

    async def aclose(self) -> None:
        """Write what is queued; the client's stream stays open for the engine's status."""
        await self.flush()

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            if self._size + len(line) <= MOST_GREETING:
                self._greeting.append(line)
                self._size += len(line)
            if isinstance(parse_engine_line(line), Ready):
                self._is_greeted = True
                self._greeted()
                return
