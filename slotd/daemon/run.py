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

import attrs
import trio

from slotd.config.configuration import Configuration
from slotd.config.options import (
    KEEP_CLIENT_KEYS,
    LOG_FORMAT,
    LOG_LEVEL,
    PARK,
    POLICY,
    SLOT_KEY,
)
from slotd.core.events import Event
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.daemon.launch import StartedEngine, exit_status
from slotd.daemon.relay import relay
from slotd.daemon.signals import ASK_TO_END, SENT_BY_KERNEL, Action, TakenSignals, action
from slotd.daemon.streams import PolledReader, PolledWriter, standard_input, standard_output
from slotd.logs.destination import Destination
from slotd.logs.opening import log_writer


def sidecar_settings(configuration: Configuration) -> SidecarSettings:
    """Return what the core is to act on."""
    return SidecarSettings(
        policy=configuration.policy_settings(),
        policy_name=configuration[POLICY],
        park=configuration[PARK],
        slot_key=configuration[SLOT_KEY],
        keep_client_keys=configuration[KEEP_CLIENT_KEYS],
    )


def run(
    engine: StartedEngine,
    configuration: Configuration,
    destination: Destination,
    signals: TakenSignals,
) -> int:
    """Relay between standard input and output and `engine`; return what to exit with."""
    writer = log_writer(destination, configuration[LOG_FORMAT], configuration[LOG_LEVEL])
    settings = sidecar_settings(configuration)
    with writer:
        writer.log(Event("engine_start", "info", {"pid": engine.process.pid}))
        writer.log(_settings_event(settings))
        return exit_status(trio.run(_run, engine, Sidecar(settings), writer.log, signals))


async def _run(
    engine: StartedEngine,
    sidecar: Sidecar,
    log: Callable[[Event], None],
    signals: TakenSignals,
) -> int:
    """Return the engine's return code as subprocess has it (negative: a signal)."""
    os.set_blocking(engine.input, False)
    os.set_blocking(engine.output, False)
    engine_out = PolledReader(engine.output)
    ended = trio.Event()
    async with trio.open_nursery() as background:
        background.start_soon(_watch, engine.process, engine_out, ended, log)
        with trio.CancelScope() as delivering:
            background.start_soon(
                _obey_signals, signals, engine.process, ended, delivering.cancel, log
            )
            await relay(
                client_in=standard_input(),
                client_out=standard_output(),
                engine_in=PolledWriter(engine.input),
                engine_out=engine_out,
                sidecar=sidecar,
                clock=time.monotonic,
                log=log,
                engine_ended=ended.wait,
            )
        background.cancel_scope.cancel()
    return engine.process.returncode


async def _watch(
    process: subprocess.Popen[bytes],
    engine_out: PolledReader,
    ended: trio.Event,
    log: Callable[[Event], None],
) -> None:
    """Wait for the engine's end, and see to it that the relay comes to its own."""
    await wait_until_exited(process)
    code = process.returncode
    how: dict[str, int | str]
    how = {"status": code} if code >= 0 else {"signal": _signal_name(-code)}
    log(Event("engine_exit", "info", dict(how)))
    engine_out.end_with_what_is_there()
    ended.set()


async def wait_until_exited(process: subprocess.Popen[bytes]) -> None:
    """Wait until `process` has exited; its return code is set then."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # reaped already, or a system that does not have them
        await trio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
        return
    try:
        while process.poll() is None:
            await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


async def _obey_signals(
    signals: TakenSignals,
    process: subprocess.Popen[bytes],
    ended: trio.Event,
    give_up: Callable[[], None],
    log: Callable[[Event], None],
) -> None:
    """Do about every signal what `slotd.daemon.signals` says."""
    asked = 0

    def obey(number: int, by_kernel: bool) -> None:
        nonlocal asked
        typed = by_kernel and number != signal.SIGTERM and _shares_terminal(process)
        what = action(number, typed=typed, asked=asked, engine_ended=ended.is_set())
        asked += number in ASK_TO_END
        log(Event("signal", "info", {"signal": _signal_name(number), "action": what.name.lower()}))
        if what is Action.PASS_ON:
            process.send_signal(number)
        elif what is Action.KILL:
            process.kill()
        elif what is Action.GIVE_UP:
            give_up()

    for number in signals.early:
        obey(number, by_kernel=False)
    while signals.numbers:
        info = await trio.to_thread.run_sync(
            signal.sigwaitinfo, signals.numbers, abandon_on_cancel=True
        )
        obey(info.si_signo, by_kernel=info.si_code == SENT_BY_KERNEL)


def _shares_terminal(process: subprocess.Popen[bytes]) -> bool:
    """Whether what a terminal sends to slotd's process group reaches the engine as well."""
    try:
        return os.getpgid(process.pid) == os.getpgrp()
    except ProcessLookupError:  # it has just ended
        return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _settings_event(settings: SidecarSettings) -> Event:
    numbers = attrs.asdict(settings.policy)
    return Event(
        "settings",
        "info",
        {
            "policy": settings.policy_name,
            "park": settings.park,
            "slot_key": settings.slot_key,
            "keep_client_keys": settings.keep_client_keys,
            **numbers,
        },
    )
