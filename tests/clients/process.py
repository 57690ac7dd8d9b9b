"""The serve process in front of a real subprocess.

Lives here: starting the engine (or slotd before it) and seeing it end, by its process id. Must not
live here: the pump (`client`).
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import BinaryIO

import trio

from slotd.sim.serve import Serve
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.serve_slots import SlotStrategy
from tests.clients.client import Client
from tests.clients.forks import TrioFork, can_be_forked

HANGS_AFTER = 300
"""Seconds after which a test is taken for hanging: far more than any takes."""

Process = trio.Process | TrioFork


@asynccontextmanager
async def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    stderr: BinaryIO | None = None,
    fork: bool = True,
) -> AsyncIterator[Process]:
    """Start a process on two pipes; at the end nothing of its session is left.

    Args:
        command: its command line.
        environment: its whole environment.
        stderr: where its stderr goes (None: the tests').
        fork: do without slotd's imports, if it is slotd (`forks`).
    """
    process: Process
    if fork and can_be_forked(command):
        process = TrioFork.start(command, environment, stderr.fileno() if stderr else 2)
    else:
        process = await trio.lowlevel.open_process(
            command,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    await pipe.aclose()


class ProcessClient(Client):
    """A client on a subprocess's pipes."""

    def __init__(self, serve: Serve, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(serve, process.stdin, process.stdout)
        self.process = process


@asynccontextmanager
async def open_client(
    command: Sequence[str],
    environment: Mapping[str, str],
    settings: ServeSettings | None = None,
    strategy: SlotStrategy | None = None,
    stderr: BinaryIO | None = None,
    quit_line: bool = True,
    hangs_after: float = HANGS_AFTER,
    fork: bool = True,
) -> AsyncIterator[ProcessClient]:
    """Start an engine and a serve process on it; at the end, end the engine and wait for it.

    Args:
        command: the engine's command line.
        environment: its whole environment.
        settings: the serve process's.
        strategy: how the serve process picks slots.
        stderr: where the engine's stderr goes (None: the tests').
        quit_line: end it with `QUIT` before the end of its stdin (else with the latter alone).
        hangs_after: seconds after which all of it is taken for hanging.
        fork: as for `started`.
    """
    with trio.fail_after(hangs_after):
        async with started(command, environment, stderr, fork) as process:
            client = ProcessClient(Serve(settings, strategy), process)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.run)
                await client.until(lambda: client.serve.ready)
                yield client
                client.close(quit_line)
            await process.wait()
