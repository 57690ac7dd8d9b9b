"""Host mode: one engine after the other, for the clients that attach to one socket.

Here: the tasks of `slotd host` and the order of engines' lives; its exit status. Not here: what
happens within one life (`slotd.daemon.life`), who is served (`slotd.daemon.desk`).

The first engine is started at once, and one that ends before it was ever READY ends the host with
its status, so that whoever started the host knows. After that, an engine that has ended is started
again for the next client: one that was asked to end at once, one that died after a while that
doubles each time. Nothing is believed of an engine that is gone; what was counted stays.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

import trio
from attrs import frozen

from slotd.config.configuration import Configuration
from slotd.config.options import BACKOFF_S, DRAIN_S, LOG_FORMAT, LOG_LEVEL
from slotd.core.counters import Counters
from slotd.core.events import Event
from slotd.daemon.backoff import Backoff
from slotd.daemon.control import ControlServer
from slotd.daemon.desk import Desk
from slotd.daemon.doors import Doors
from slotd.daemon.keeper import Keeper
from slotd.daemon.latency import Latency
from slotd.daemon.launch import EngineStartError, StartedEngine, exit_status, start_engine
from slotd.daemon.life import Life
from slotd.daemon.memory import EventMemory
from slotd.daemon.notify import Notifier
from slotd.daemon.reception import Reception
from slotd.daemon.reload import Load, reload, settings_event, sidecar_settings
from slotd.daemon.service import Service
from slotd.daemon.signal_loop import obey_signals, send_again
from slotd.daemon.signals import ASK_TO_END, RELOADS, TakenSignals
from slotd.daemon.status import EngineState, Standing, status_object
from slotd.daemon.watch import signal_name
from slotd.logs.destination import Destination
from slotd.logs.opening import log_writer
from slotd.policy.json_fields import JsonValue

NEVER_SERVED = 1
"""Exit status when the first engine ended well before it was READY."""


@frozen
class Starter:
    """Starts the engine again as it was started first."""

    command: Sequence[str]
    environment: Mapping[str, str]
    signals: TakenSignals

    def start(self) -> StartedEngine:
        """Start it. Raises EngineStartError."""
        with self.signals.unblocked():
            engine = start_engine(self.command, self.environment)
        send_again(self.signals)
        return engine


def host(
    engine: StartedEngine,
    starter: Starter,
    load: Load,
    configuration: Configuration,
    destination: Destination,
    doors: Doors,
    notifier: Notifier,
) -> int:
    """Host `engine`, which has just been started, and those after it; return what to exit with."""
    writer = log_writer(destination, configuration[LOG_FORMAT], configuration[LOG_LEVEL])
    with writer:
        everything = Host(starter, load, configuration, doors, notifier, writer.log)
        try:
            return trio.run(everything.run, engine)
        finally:
            everything.keeper.close()


class Host:
    """Everything that outlives an engine."""

    def __init__(
        self,
        starter: Starter,
        load: Load,
        configuration: Configuration,
        doors: Doors,
        notifier: Notifier,
        log: Callable[[Event], None],
    ) -> None:
        """Begin with nothing running; `run` is for the engine that was started first."""
        self._starter = starter
        self._load = load
        self._settings = sidecar_settings(configuration, hosted=True)
        self._doors = doors
        self._write_event = log
        self._memory = EventMemory()
        self._latency = Latency()
        self._counters = Counters()
        self.keeper = Keeper(configuration, log, time.monotonic)
        """What outlives slotd itself."""
        self._desk = Desk()
        self._backoff = Backoff(configuration[BACKOFF_S])
        self._drain_s = configuration[DRAIN_S]
        self._service = Service(notifier, self._status_line, self._wants_time)
        self._sidecar = self.keeper.sidecar(self._settings, self._counters)
        self._life: Life | None = None
        self._giving_up: trio.CancelScope | None = None
        """Around what may wait for a client after its engine has ended."""
        self._gave_up = False
        self._started_at = time.monotonic()
        self._starts = 0
        self._state: EngineState = "loading"
        self._state_since = self._started_at
        self._ready_at: float | None = None
        self._last_end = ""
        self._asked_to_end = 0

    async def run(self, engine: StartedEngine) -> int:
        """Host engines until asked to end; return what to exit with."""
        async with trio.open_nursery() as nursery:
            reception = Reception(self._doors.engine.socket, self._desk, self._log)
            control = ControlServer(self._doors.control.socket, self.status)
            nursery.start_soon(reception.run)
            nursery.start_soon(control.run)
            nursery.start_soon(self._service.run)
            nursery.start_soon(obey_signals, self._starter.signals, self._obey)
            status = await self._lives(engine)
            nursery.cancel_scope.cancel()
        return status

    def status(self) -> dict[str, JsonValue]:
        """Return the status object of this moment."""
        now = time.monotonic()
        client = self._desk.served
        life = self._life
        standing = Standing(
            pid=os.getpid(),
            uptime_s=now - self._started_at,
            mode="host",
            socket=self._doors.engine.path,
            engine_state=self._state,
            engine_pid=None if life is None else life.process.pid,
            starts=self._starts,
            ready_s=None if self._ready_at is None else now - self._ready_at,
            client_attached=client is not None,
            client_pid=None if client is None else client.pid,
            client_since_s=None if client is None else trio.current_time() - client.since,
        )
        return status_object(standing, self._sidecar.snapshot(now), self._latency, self._memory)

    # -- lives -------------------------------------------------------------------------------------

    async def _lives(self, engine: StartedEngine) -> int:
        code = await self._live(engine)
        if not self._desk.closed and self._ready_at is None:
            self._desk.close()
            await self._part(exit_status(code))
            return exit_status(code) or NEVER_SERVED
        while not self._desk.closed:
            await self._between(code)
            if await self._desk.wanted():
                code = await self._start_again()
        await self._part(exit_status(code))
        return 0

    async def _start_again(self) -> int:
        """Start the engine and live its life; return its return code."""
        try:
            engine = self._starter.start()
        except EngineStartError as error:
            self._log(Event("error", "error", {"where": "engine", "message": str(error)}))
            await self._desk.send_away(error.status)
            return error.status
        return await self._live(engine)

    async def _live(self, engine: StartedEngine) -> int:
        self._starts += 1
        self._ready_at = None
        self._log(Event("engine_start", "info", {"pid": engine.process.pid}))
        self._log(settings_event(self._settings))
        before = self._sidecar
        self._sidecar = self.keeper.sidecar(self._settings, self._counters)
        self._sidecar.model.requests = before.model.requests
        self._life = Life(
            engine,
            self._sidecar,
            self._desk,
            clock=time.monotonic,
            log=self._log,
            latency=self._latency,
            drain_s=self._drain_s,
            greeted=self._greeted,
            changed=self._service.tell,
        )
        self._is("loading")
        with self._until_given_up():
            await self._life.run()
        code = engine.process.returncode
        return 0 if code is None else code

    async def _between(self, code: int) -> None:
        """Part from the client of an engine that has ended, and leave that alone for a while."""
        status = exit_status(code)
        self._last_end = f"with status {code}" if code >= 0 else f"by {signal_name(-code)}"
        if code:
            served = 0.0 if self._ready_at is None else time.monotonic() - self._ready_at
            self._backoff.died(served)
        else:
            self._backoff.ended()
        self._life, self._ready_at = None, None
        delay = self._backoff.delay_s
        self._is("waiting" if delay else "stopped")
        ended_at = trio.current_time()
        await self._part(status)
        if delay:
            self._log(Event("engine_backoff", "warning", {"seconds": delay}))
            await self._desk.sleep(ended_at + delay - trio.current_time())
        self._is("stopped")

    async def _part(self, status: int) -> None:
        """Give the client of an engine that has ended its status and the end of the stream."""
        client, self._desk.served = self._desk.served, None
        if client is not None:
            with self._until_given_up():
                await client.dismiss(status)
            with trio.CancelScope(shield=True):
                await client.cut()
            if client.attached:
                client.attached = False
                self._log(Event("client_gone", "info", {"pid": client.pid}))
        if self._desk.closed:
            await self._desk.send_away(status)

    def _greeted(self) -> None:
        self._ready_at = time.monotonic()
        self._is("serving")
        self._service.ready()

    # -- signals -----------------------------------------------------------------------------------

    def _obey(self, number: int, typed: bool) -> None:
        what = "pass_on"
        process = None if self._life is None else self._life.process
        if number in RELOADS:
            what = "reload"
        elif number in ASK_TO_END:
            what = "kill" if self._asked_to_end else "end"
            self._asked_to_end += 1
        self._log(Event("signal", "info", {"signal": signal_name(number), "action": what}))
        if what == "reload":
            self._reload()
        elif what == "end":
            self._end()
        elif what == "kill" and (self._life is None or self._life.ended):
            self._give_up()
        elif process is not None and process.poll() is None:
            process.send_signal(number) if what == "pass_on" else process.kill()

    def _give_up(self) -> None:
        self._gave_up = True
        if self._giving_up is not None:
            self._giving_up.cancel()

    def _until_given_up(self) -> trio.CancelScope:
        self._giving_up = trio.CancelScope()
        if self._gave_up:
            self._giving_up.cancel()
        return self._giving_up

    def _reload(self) -> None:
        self._service.reloading()
        configuration = reload(self._load, self._sidecar, self._log, hosted=True)
        if configuration is not None:
            self._settings = sidecar_settings(configuration, hosted=True)
        self._service.reloaded()

    def _end(self) -> None:
        self._desk.close()
        self._service.stopping()
        if self._life is not None:
            self._life.stop_client()

    # -- what there is to tell ---------------------------------------------------------------------

    def _log(self, event: Event) -> None:
        self._write_event(event)
        self._memory.add(event)

    def _is(self, state: EngineState) -> None:
        self._state, self._state_since = state, time.monotonic()
        self._service.tell()

    def _wants_time(self) -> bool:
        return self._state == "loading" or self._desk.closed

    def _status_line(self) -> str:
        if self._desk.closed:
            return "stopping: waiting for the engine to give its memory back"
        if self._state == "loading":
            return f"loading the engine for {time.monotonic() - self._state_since:.0f} s"
        if self._state == "waiting":
            return f"engine ended {self._last_end}: starts again in a moment"
        if self._state == "stopped":
            return f"engine ended {self._last_end}: starts again for the next client"
        snapshot = self._sidecar.model
        busy = sum(slot.taken for slot in snapshot.slots)
        client = self._desk.served
        who = "no client" if client is None else f"client {client.pid}"
        return f"serving {who}, {busy} of {len(snapshot.slots)} slots busy"
