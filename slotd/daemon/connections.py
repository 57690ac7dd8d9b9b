"""Taking connections of a listening socket.

Here: accepting. Not here: what is said on a connection (`reception`, `control`).
"""

import socket
from collections.abc import Awaitable, Callable

import trio


async def serve_connections(
    listening: socket.socket,
    serve: Callable[[socket.socket], Awaitable[None]],
    most: int,
) -> None:
    """Accept connections for ever, each served by a task that owns it; past `most`, they wait."""
    listening.setblocking(False)
    places = trio.CapacityLimiter(most)
    async with trio.open_nursery() as nursery:
        while True:
            await trio.lowlevel.wait_readable(listening)
            try:
                connection, _ = listening.accept()
            except OSError:  # it is gone again; or no descriptor is left, and one may come free
                await trio.sleep(0.05)
                continue
            nursery.start_soon(_serve_one, connection, serve, places)


async def _serve_one(
    connection: socket.socket,
    serve: Callable[[socket.socket], Awaitable[None]],
    places: trio.CapacityLimiter,
) -> None:
    async with places:
        await serve(connection)
