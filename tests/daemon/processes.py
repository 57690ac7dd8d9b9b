"""slotd as a process in front of small engines written for a test.

Lives here: starting, talking to and cleaning up such processes. Must not live here: the tests.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.clients.forks import BlockingFork, can_be_forked
from tests.clients.slotd import SLOTD

HANGS_AFTER = 600
"""Seconds after which a process is taken for hanging: far more than any takes."""

FORKED_WITH = {"stdin", "stdout", "stderr", "env", "bufsize"}
"""What can be asked of a fork; slotd is started in the ordinary way where more is."""

Process = subprocess.Popen[bytes] | BlockingFork


def python_engine(directory: Path, body: str) -> list[str]:
    """Write an engine with this body and return its command line."""
    script = directory / "engine.py"
    script.write_text(f"import os, signal, subprocess, sys, threading\n{body}")
    return [sys.executable, str(script)]


def behind_slotd(engine: Sequence[str], *options: str) -> list[str]:
    """Return the command line of `engine` behind `slotd run`."""
    return [*SLOTD, "run", *options, "--", *engine]


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[Process]:
    """Start `command` with pipes, unless the options say otherwise; at the end none of it is left.

    It leads a session of its own, all of which is killed, also when it hangs: whoever waits for a
    line of it then reads its end.
    """
    usual = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process: Process
    if can_be_forked(command) and options.keys() <= FORKED_WITH:
        process = BlockingFork.start(command, **{**usual, **options})
    else:
        process = subprocess.Popen(command, **{**usual, "start_new_session": True, **options})

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)

    hanging = threading.Timer(HANGS_AFTER, kill)
    hanging.daemon = True
    hanging.start()
    try:
        yield process
    finally:
        hanging.cancel()
        kill()
        process.wait(HANGS_AFTER)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def say(process: Process, data: bytes) -> None:
    """Write to the process and see to it that it gets there."""
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def hear(process: Process) -> bytes:
    """Read a line of the process."""
    assert process.stdout is not None
    return process.stdout.readline()


def outcome(command: Sequence[str], data: bytes = b"", **options: Any) -> tuple[int, bytes, bytes]:
    """Run `command` to its end with `data` as its input: exit status, output, standard error."""
    with started(command, **{"stderr": subprocess.PIPE, **options}) as process:
        out, err = process.communicate(data, timeout=HANGS_AFTER)
        return process.wait(), out, err
