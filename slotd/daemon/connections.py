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
    """Accept connections for ever, each served by a task that owns it.

    Past `most` they wait outside, where they take none of this process's descriptors.
    """
    listening.setblocking(False)
    places = trio.Semaphore(most)
    async with trio.open_nursery() as nursery:
        while True:
            await places.acquire()
            connection = await _accepted(listening)
            nursery.start_soon(_serve_one, connection, serve, places)


async def _accepted(listening: socket.socket) -> socket.socket:
    while True:
        await trio.lowlevel.wait_readable(listening)
        try:
            return listening.accept()[0]
        except OSError:  # it is gone again; or no descriptor is left, and one may come free
            await trio.sleep(0.05)


async def _serve_one(
    connection: socket.socket,
    serve: Callable[[socket.socket], Awaitable[None]],
    places: trio.Semaphore,
) -> None:
    try:
        await serve(connection)
    finally:
        places.release()
