"""The serve process in front of a real subprocess.

Lives here: starting the engine (or slotd before it) and seeing it end, by its process id. Must not
live here: the pump (`client`).
"""

import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import IO

import trio

from slotd.sim.serve import Serve
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.serve_slots import SlotStrategy
from tests.clients.client import Client

HANGS_AFTER = 300
"""Seconds after which a test is taken for hanging: far more than any takes."""


class ProcessClient(Client):
    """A client on a subprocess's pipes."""

    def __init__(self, serve: Serve, process: trio.Process) -> None:
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
    stderr: int | IO[bytes] | None = None,
    quit_line: bool = True,
    hangs_after: float = HANGS_AFTER,
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
    """
    with trio.fail_after(hangs_after):
        async with trio.open_nursery() as nursery:
            process: trio.Process = await nursery.start(
                partial(
                    trio.run_process,
                    command,
                    env=dict(environment),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    check=False,
                )
            )
            client = ProcessClient(Serve(settings, strategy), process)
            nursery.start_soon(client.run)
            await client.until(lambda: client.serve.ready)
            yield client
            client.close(quit_line)
