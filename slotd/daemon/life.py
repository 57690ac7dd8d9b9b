"""One engine's life in host mode: a process, its sidecar, and the clients it serves in turn.

Here: the relay's two directions with clients that come and go, and the way from one client to the
next. Not here: starting engines (`slotd.daemon.host`), whose turn it is (`slotd.daemon.desk`), and
what has to be stopped when a client goes (`slotd.core.drain`).

A client's end of input, a client that no longer reads, its `QUIT` where the engine is kept loaded,
and slotd's own end are the same: no more of its lines are read, what it had asked for is stopped,
and it is given the engine's lines until that is done: at the least what a fresh engine prints, as
that would not have read a word before. The one after it is served from then on.

An engine that prints nothing for a while although something of a client's is still to end does not
end it any more, or the client does not take the lines: first the client is cut off, then the engine
is killed. One that still loads is waited for. So is one that has closed its output, for as long:
it can serve nobody, and its client waits for its end.
"""

import os
from collections.abc import Callable

import trio

from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar
from slotd.daemon.client import Client
from slotd.daemon.desk import Desk
from slotd.daemon.lane import Lane
from slotd.daemon.latency import Latency
from slotd.daemon.launch import StartedEngine
from slotd.daemon.outlet import Outlet
from slotd.daemon.relay import READ_FROM_CLIENT, READ_FROM_ENGINE, Direction
from slotd.daemon.streams import PolledReader, PolledWriter
from slotd.daemon.watch import watch


class KeptOpen(Lane):
    """The lane to the engine as a client sees it: the end of the client is not its end."""

    async def aclose(self) -> None:
        """Write what is queued."""
        try:
            await self.flush()
        except trio.BrokenResourceError:
            return

    async def close(self) -> None:
        """Write what is queued, and let the engine see the end of its input."""
        await super().aclose()


class Life:
    """An engine from its start to its end."""

    def __init__(
        self,
        engine: StartedEngine,
        sidecar: Sidecar,
        desk: Desk,
        *,
        clock: Callable[[], float],
        log: Callable[[Event], None],
        latency: Latency,
        drain_s: float,
        greeted: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        """Begin beside a process that has just been started.

        `greeted` is called at its READY, `changed` when clients come and go.
        """
        self.process = engine.process
        self.sidecar = sidecar
        self.outlet = Outlet(greeted)
        self._desk = desk
        self._clock = clock
        self._log = log
        self._latency = latency
        self._drain_s = drain_s
        self._changed = changed
        os.set_blocking(engine.input, False)
        os.set_blocking(engine.output, False)
        self._to_engine = KeptOpen(PolledWriter(engine.input))
        self._engine_out = PolledReader(engine.output)
        self._ended = trio.Event()
        self._heard: trio.Event | None = None

    @property
    def ended(self) -> bool:
        """The process has exited."""
        return self._ended.is_set()

    async def run(self) -> None:
        """Serve clients until the engine has ended.

        The client it served last is still at the desk, and has been given everything but that.
        """
        downstream = Direction(
            source=self._engine_out,
            most=READ_FROM_ENGINE,
            translate=self.sidecar.from_engine,
            finish=self.sidecar.engine_eof,
            own=self.outlet,
            other=self._to_engine,
            names=("engine_out", "client_out"),
            latency=self._latency,
            learn=self.sidecar.learn,
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, self.process, self._engine_out, self._ended, self._log)
            nursery.start_soon(self._lose_patience)
            nursery.start_soon(self._serve, nursery)
            await downstream.run(self._clock, self._take, self._log, nursery)
            await self._exit()
            nursery.cancel_scope.cancel()
        await self._to_engine.cut()

    async def _exit(self) -> None:
        """Wait for the exit of an engine that has closed its output, with which it mostly comes."""
        with trio.move_on_after(self._drain_s):
            await self._ended.wait()
        if not self.ended and not self._desk.closed:
            self._log(Event("engine_mute", "error", {"silent_s": self._drain_s}))
            self.process.kill()
        await self._ended.wait()

    def stop_client(self) -> None:
        """Read no more of the client, and look again at what it is given still."""
        if self.outlet.client is not None:
            self.outlet.client.source.stop()
        if self._heard is not None:
            self._heard.set()

    # -- clients -----------------------------------------------------------------------------------

    async def _serve(self, nursery: trio.Nursery) -> None:
        """Serve one client after the other; when there will be none any more, end the engine."""
        while (client := await self._desk.next()) is not None:
            self._log(Event("client_attached", "info", {"pid": client.pid}))
            client.attached = True
            self.outlet.serve(client)
            self._changed()
            await self._read(client, nursery)
            await self._in_step(client)
            if self._desk.closed:
                break
            self._let_go(client)
            await self._part(client)
        await self._end_engine()

    async def _read(self, client: Client, nursery: trio.Nursery) -> None:
        """Take what a client writes until it has written its last."""
        upstream = Direction(
            source=client.source,
            most=READ_FROM_CLIENT,
            translate=self.sidecar.from_client,
            finish=self.sidecar.client_gone,
            own=self._to_engine,
            other=self.outlet,
            names=("client_in", "engine_in"),
            latency=self._latency,
        )
        await self.outlet.flush()
        await upstream.run(self._clock, self._take, self._log, nursery)

    async def _in_step(self, client: Client) -> None:
        """Wait until nothing of a client's is under way, however that is brought about.

        One that still listens to an engine that still loads gets what that greets with.
        """
        while (
            not self.sidecar.drained
            or self._to_engine.ended
            or not (self.outlet.is_greeted or client.gone)
        ):
            if self._desk.closed and not self.outlet.is_greeted:
                return  # whatever it is to do, it has not begun
            self._heard = trio.Event()
            with trio.move_on_after(self._drain_s) as waiting:
                await self._heard.wait()
            if not waiting.cancelled_caught or not self.outlet.is_greeted:
                continue
            self._take(self.sidecar.silent(self._clock()))
            if self.sidecar.drained:
                continue
            if self.outlet.client is not None and not client.lane.ended:
                self._let_go(client)
                await client.cut()
            else:
                self._log(Event("drain_stuck", "error", {"silent_s": self._drain_s}))
                self.process.kill()
                await trio.sleep_forever()

    async def _lose_patience(self) -> None:
        """Cut off a client that keeps others waiting and does not take a gone engine's last lines.

        Others: the next one, or whoever asked slotd to end.
        """
        await self._ended.wait()
        await self._desk.wanted()
        await trio.sleep(self._drain_s)
        if self.outlet.client is not None:
            await self.outlet.client.cut()

    def _let_go(self, client: Client) -> None:
        self.outlet.client, client.attached = None, False
        self._log(Event("client_gone", "info", {"pid": client.pid}))
        self._changed()

    async def _part(self, client: Client) -> None:
        """Give a client the end of its stream; one that does not take it is cut off."""
        with trio.move_on_after(self._drain_s):
            await client.dismiss(0)
            return
        await client.cut()

    async def _end_engine(self) -> None:
        """Ask the engine to end, which it does when it has given its memory back."""
        if self.outlet.is_greeted:
            self._to_engine.put([b"QUIT\n"])
        else:  # it does not read yet
            self.process.terminate()
        await self._to_engine.close()

    def _take(self, output: Output) -> None:
        self._to_engine.put(output.to_engine)
        self.outlet.put(output.to_client)
        for event in output.events:
            self._log(event)
        if output.quits:
            self.stop_client()
        if self._heard is not None:
            self._heard.set()
