"""The relay: bytes of both sides through the sidecar, at the pace of whoever is slower.

Here: the two directions, what the end of each means for the others, and the order of what is
written. Not here: what a line means (`slotd.core`), and which descriptors the streams are
(`slotd.daemon.streams`). It works on any trio streams and owns no clock.

What ends what:

- the client's end of input is passed on when everything before it, an unfinished last line and what
  the sidecar still holds included, is written; the engine then takes the time it needs;
- the engine's end of output is passed on when everything it printed is written;
- a client that no longer reads: the engine's output is closed, so that its next line fails as it
  would have without slotd; what the client writes still passes;
- an engine that no longer reads: the client's input is closed, likewise.

A client that reads slowly holds up the engine's output by the pipe between them and one read of
slotd's, and nothing else: what it writes goes to the engine all the while.
"""

from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import Protocol

import trio
from attrs import frozen
from trio.abc import ReceiveStream, SendStream

from slotd.core.events import Event
from slotd.core.output import Output
from slotd.daemon.lane import Lane
from slotd.daemon.latency import Latency

READ_FROM_CLIENT = 1 << 18
READ_FROM_ENGINE = 1 << 16
"""Bytes: the most that is read at once, and so what slotd holds of a side that is not taken."""


class Translator(Protocol):
    """What the relay needs of a `Sidecar`."""

    def from_client(self, data: bytes, now: float) -> Output:
        """Take bytes the client wrote."""

    def from_engine(self, data: bytes, now: float) -> Output:
        """Take bytes the engine wrote."""

    def learn(self) -> Iterable[Event]:
        """Take in what was passed on without."""

    def client_eof(self, now: float) -> Output:
        """Take the end of the client's stream."""

    def engine_eof(self, now: float) -> Output:
        """Take the end of the engine's stream."""

    @property
    def holds(self) -> bool:
        """Something of the client's is still to go to the engine."""


class Sink(Protocol):
    """What a direction needs of a `Lane`."""

    def put(self, pieces: Iterable[bytes]) -> None:
        """Queue bytes."""

    async def flush(self) -> None:
        """Wait until they are written; raises BrokenResourceError when nobody reads them."""

    def drain_soon(self, nursery: trio.Nursery) -> None:
        """Have them written by another task."""

    async def settle(self) -> None:
        """Wait when too many are queued."""

    async def aclose(self) -> None:
        """Write what is queued, and nothing after it."""


async def relay(
    *,
    client_in: ReceiveStream,
    client_out: SendStream,
    engine_in: SendStream,
    engine_out: ReceiveStream,
    sidecar: Translator,
    clock: Callable[[], float],
    log: Callable[[Event], None],
    engine_ended: Callable[[], Awaitable[object]] | None = None,
    latency: Latency | None = None,
) -> None:
    """Relay until both directions have ended.

    `clock` gives the seconds the sidecar is told; `log` takes every event and must not block.
    With `engine_ended`, which returns once the engine's process is gone, the client's direction
    ends then as well: when what the engine printed has been delivered there is nothing left to do.
    `latency` counts how long each chunk was held.
    Every stream is closed on the way, except those that are cut short by that or by a cancellation.
    """
    to_client, to_engine = Lane(client_out), Lane(engine_in)
    taken, deaf, waiting_for_it = trio.lowlevel.ParkingLot(), trio.Event(), False

    def take(output: Output) -> None:
        # Every step here is a part of what a token's line is held up for.
        if output.to_engine:
            to_engine.put(output.to_engine)
        to_client.put(output.to_client)
        for event in output.events:
            log(event)
        if waiting_for_it:
            taken.unpark_all()

    async def nothing_held() -> None:
        nonlocal waiting_for_it
        waiting_for_it = True
        while sidecar.holds and not deaf.is_set():
            await taken.park()

    async with trio.open_nursery() as nursery:
        upstream = Direction(
            source=client_in,
            most=READ_FROM_CLIENT,
            translate=sidecar.from_client,
            finish=sidecar.client_eof,
            own=to_engine,
            other=to_client,
            names=("client_in", "engine_in"),
            latency=latency,
            all_gone=nothing_held,
        )
        downstream = Direction(
            source=engine_out,
            most=READ_FROM_ENGINE,
            translate=sidecar.from_engine,
            finish=sidecar.engine_eof,
            own=to_client,
            other=to_engine,
            names=("engine_out", "client_out"),
            latency=latency,
            learn=sidecar.learn,
        )
        nursery.start_soon(upstream.run, clock, take, log, nursery)
        await downstream.run(clock, take, log, nursery)
        deaf.set()  # the sidecar hears no more of what it waits for
        taken.unpark_all()
        if engine_ended is not None:
            await engine_ended()
            nursery.cancel_scope.cancel()


@frozen
class Direction:
    """One way through the sidecar."""

    source: ReceiveStream
    most: int
    translate: Callable[[bytes, float], Output]
    finish: Callable[[float], Output]
    own: Sink
    """Where what is read here mostly goes; waited for."""
    other: Sink
    """Where it seldom goes; not waited for."""
    names: tuple[str, str]
    """Of the source and of its own lane's stream, for the log."""
    latency: Latency | None = None
    learn: Callable[[], Iterable[Event]] | None = None
    """What is left to do about what was read, once it is written; what there is to tell of it."""
    all_gone: Callable[[], Awaitable[None]] | None = None
    """Waits, at the end, until everything that came from the source is in a lane."""

    async def run(
        self,
        clock: Callable[[], float],
        take: Callable[[Output], None],
        log: Callable[[Event], None],
        nursery: trio.Nursery,
    ) -> None:
        """Relay until the source has ended or nobody reads what comes of it."""
        source_name, sink_name = self.names
        try:
            while data := await self._read():
                read_at = perf_counter()
                take(self.translate(data, clock()))
                self.other.drain_soon(nursery)
                try:
                    await self.own.flush()
                    if self.latency is not None:
                        self.latency.add(perf_counter() - read_at)
                finally:  # also of what nobody takes any more
                    if self.learn is not None:
                        for event in self.learn():
                            log(event)
                await self.other.settle()
        except trio.BrokenResourceError:  # whoever should have read it has gone
            log(_closed(sink_name))
            await self.source.aclose()
            return
        log(_closed(source_name))
        take(self.finish(clock()))
        self.other.drain_soon(nursery)
        if self.all_gone is not None:
            await self.all_gone()
        await self.own.aclose()

    async def _read(self) -> bytes:
        """Return the next bytes, b"" at the end; a source that broke has ended."""
        try:
            return bytes(await self.source.receive_some(self.most))
        except trio.BrokenResourceError:
            return b""


def _closed(stream: str) -> Event:
    """Tell that somebody closed their end of `stream`."""
    return Event("stream_closed", "info", {"stream": stream})
