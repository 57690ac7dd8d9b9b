"""The serve process, slotd's relay and the simulated engine as trio tasks, on a mock clock.

Lives here: what `slotd run` joins with pipes and processes, joined with memory streams; the time
each of the engine's steps takes is slept, so it needs a `MockClock` that jumps. Must not live here:
the relay (`slotd.daemon.relay`) or what a test expects.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.abc import ReceiveStream, SendStream
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from slotd.core.events import Event
from slotd.core.sidecar import Sidecar
from slotd.daemon.relay import relay
from slotd.sim.engine import SimEngine
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import ServeSettings
from tests.clients.client import Client


class VirtualClient(Client):
    """A client on memory streams; `events` are slotd's with their moments in seconds."""

    def __init__(self, serve: Serve, stdin: SendStream, stdout: ReceiveStream) -> None:
        super().__init__(serve, stdin, stdout)
        self.events: list[tuple[float, Event]] = []


async def run_engine(engine: SimEngine, stdin: ReceiveStream, stdout: SendStream) -> None:
    """Run the simulated engine on two streams until it ends."""
    arrived = trio.Event()

    async def listen() -> None:
        nonlocal arrived
        while data := await stdin.receive_some():
            engine.from_client(bytes(data))
            arrived.set()
        engine.eof()
        arrived.set()

    async with trio.open_nursery() as nursery, stdout:
        nursery.start_soon(listen)
        await stdout.send_all(engine.start())
        while not engine.ended:
            # Everybody acts on what it printed before it goes on: then the order in which trio runs
            # its tasks, which is drawn anew in every run, makes no difference.
            await wait_all_tasks_blocked()
            arrived = trio.Event()
            step = engine.step()
            if step is not None:
                await trio.sleep(step.seconds)
                if step.output:
                    await stdout.send_all(step.output)
            elif not engine.ended:
                await arrived.wait()
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_virtual(
    engine: SimEngine, sidecar: Sidecar, settings: ServeSettings | None = None
) -> AsyncIterator[VirtualClient]:
    """Join the three; at the end, end the engine and wait until all of them have ended."""
    serve_end, client_end = memory_stream_pair()
    relay_end, engine_end = memory_stream_pair()
    client = VirtualClient(Serve(settings), serve_end.send_stream, serve_end.receive_stream)

    async def between() -> None:
        await relay(
            client_in=client_end.receive_stream,
            client_out=client_end.send_stream,
            engine_in=relay_end.send_stream,
            engine_out=relay_end.receive_stream,
            sidecar=sidecar,
            clock=trio.current_time,
            log=lambda event: client.events.append((trio.current_time(), event)),
        )

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_engine, engine, engine_end.receive_stream, engine_end.send_stream)
        nursery.start_soon(between)
        nursery.start_soon(client.run)
        await client.until(lambda: client.serve.ready)
        yield client
        client.close(quit_line=True)
