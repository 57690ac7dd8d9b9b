"""Running one engine between one client and the sidecar, until the engine has ended.

Here: the tasks of `slotd run` - the relay, the watch over the engine's process, the signals - and
slotd's exit status. Not here: starting the engine (`slotd.daemon.launch`); what is imported here
takes long enough that it is imported only once the engine has been started.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial

import trio
from attrs import field, frozen

from slotd.config.configuration import Configuration
from slotd.config.options import LOG_FORMAT, LOG_LEVEL
from slotd.core.events import Event
from slotd.core.sidecar import Sidecar
from slotd.daemon.control import ControlServer
from slotd.daemon.doors import Door
from slotd.daemon.keeper import Keeper
from slotd.daemon.latency import Latency
from slotd.daemon.launch import StartedEngine, exit_status
from slotd.daemon.memory import EventMemory
from slotd.daemon.relay import relay
from slotd.daemon.reload import Load, reload, settings_event, sidecar_settings
from slotd.daemon.signal_loop import obey_signals
from slotd.daemon.signals import ASK_TO_END, Action, TakenSignals, action
from slotd.daemon.status import Standing, status_object
from slotd.daemon.streams import PolledReader, PolledWriter, standard_input, standard_output
from slotd.daemon.watch import signal_name, watch
from slotd.logs.destination import Destination
from slotd.logs.opening import log_writer
from slotd.policy.json_fields import JsonValue


def run(
    engine: StartedEngine,
    load: Load,
    configuration: Configuration,
    destination: Destination,
    signals: TakenSignals,
    control: Door | None,
) -> int:
    """Relay between standard input and output and `engine`; return what to exit with."""
    writer = log_writer(destination, configuration[LOG_FORMAT], configuration[LOG_LEVEL])
    settings = sidecar_settings(configuration, hosted=False)
    with writer:
        keeper = Keeper(configuration, writer.log, time.monotonic)
        sidecar = keeper.sidecar(settings)
        running = _Run(engine, sidecar, load, writer.log, signals, time.monotonic())
        running.log(Event("engine_start", "info", {"pid": engine.process.pid}))
        running.log(settings_event(settings))
        try:
            return exit_status(trio.run(running.run, control))
        finally:
            keeper.close()


@frozen(eq=False)
class _Run:
    """One engine and one client."""

    engine: StartedEngine
    sidecar: Sidecar
    load: Load
    write_event: Callable[[Event], None]
    signals: TakenSignals
    started_at: float
    """Seconds of the monotonic clock."""
    memory: EventMemory = field(factory=EventMemory)
    latency: Latency = field(factory=Latency)
    ended: trio.Event = field(factory=trio.Event)

    def log(self, event: Event) -> None:
        """Tell of it, and remember it."""
        self.write_event(event)
        self.memory.add(event)

    async def run(self, control: Door | None) -> int:
        """Return the engine's return code as subprocess has it (negative: a signal)."""
        engine = self.engine
        os.set_blocking(engine.input, False)
        os.set_blocking(engine.output, False)
        engine_out = PolledReader(engine.output)
        async with trio.open_nursery() as background:
            background.start_soon(watch, engine.process, engine_out, self.ended, self.log)
            if control is not None:
                background.start_soon(ControlServer(control.socket, self.status).run)
            with trio.CancelScope() as delivering:
                obey = partial(self.obey, delivering.cancel, [])
                background.start_soon(obey_signals, self.signals, obey)
                await relay(
                    client_in=standard_input(),
                    client_out=standard_output(),
                    engine_in=PolledWriter(engine.input),
                    engine_out=engine_out,
                    sidecar=self.sidecar,
                    clock=time.monotonic,
                    log=self.log,
                    engine_ended=self.ended.wait,
                    latency=self.latency,
                )
            background.cancel_scope.cancel()
        return engine.process.returncode

    def obey(
        self, give_up: Callable[[], None], asked: list[int], number: int, by_kernel: bool
    ) -> None:
        """Do about a signal what `slotd.daemon.signals` says; `asked`: those that asked to end."""
        process = self.engine.process
        typed = by_kernel and number != signal.SIGTERM and _shares_terminal(process)
        what = action(number, typed=typed, asked=len(asked), engine_ended=self.ended.is_set())
        if number in ASK_TO_END:
            asked.append(number)
        self.log(
            Event("signal", "info", {"signal": signal_name(number), "action": what.name.lower()})
        )
        if what is Action.PASS_ON:
            process.send_signal(number)
        elif what is Action.RELOAD:
            reload(self.load, self.sidecar, self.log, hosted=False)
        elif what is Action.KILL:
            process.kill()
        elif what is Action.GIVE_UP:
            give_up()

    def status(self) -> dict[str, JsonValue]:
        """Return the status object of this moment."""
        now = time.monotonic()
        serving = self.sidecar.model.capabilities.ready
        standing = Standing(
            pid=os.getpid(),
            uptime_s=now - self.started_at,
            mode="run",
            socket=None,
            engine_state="stopped" if self.ended.is_set() else "serving" if serving else "loading",
            engine_pid=self.engine.process.pid,
            starts=1,
            ready_s=None,
            client_attached=True,
            client_pid=os.getppid(),
            client_since_s=now - self.started_at,
        )
        return status_object(standing, self.sidecar.snapshot(now), self.latency, self.memory)


def _shares_terminal(process: subprocess.Popen[bytes]) -> bool:
    """Whether what a terminal sends to slotd's process group reaches the engine as well."""
    try:
        return os.getpgid(process.pid) == os.getpgrp()
    except ProcessLookupError:  # it has just ended
        return True
