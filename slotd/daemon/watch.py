"""Watching the engine's process for its end.

Here: waiting for it, and telling of it. Not here: what follows from it (`run`, `life`).
"""

import os
import signal
import subprocess
from collections.abc import Callable

import trio

from slotd.core.events import Event
from slotd.daemon.streams import PolledReader


async def watch(
    process: subprocess.Popen[bytes],
    engine_out: PolledReader,
    ended: trio.Event,
    log: Callable[[Event], None],
) -> None:
    """Wait for the engine's end, and see to it that what it printed comes to its own."""
    await wait_until_exited(process)
    code = process.returncode
    how: dict[str, int | str]
    how = {"status": code} if code >= 0 else {"signal": signal_name(-code)}
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


def signal_name(number: int) -> str:
    """Return a signal's name, also of one that has none of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
