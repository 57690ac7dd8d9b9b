"""Starting the engine, as early and as much like slotd's own parent would have done as possible.

Here: the engine's process and its two pipes, what it inherits, and the refusals. Not here: when it
is started (`slotd.daemon.startup`) and anything that happens once it runs.

What the engine has is what it would have had in slotd's place: its arguments, the environment, the
working directory, standard error, further descriptors that slotd was given, the signal mask, the
ignored signals, the process group and the terminal. Two things differ: standard input and output
are pipes of slotd's, and SIGPIPE is never ignored (Python cannot tell what it was before; a serve
process that starts engines with its language's usual means does not ignore it either).
"""

import errno
import fcntl
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from attrs import frozen

ENGINE_INPUT_PIPE = 1 << 20
"""Bytes asked for in the pipe to the engine, so that a long prompt goes in few pieces. The pipe
from the engine keeps the system's size: what is in it is ahead of what the client takes."""

MISSING, NOT_EXECUTABLE = 127, 126
"""Exit statuses, as shells have them."""


class EngineStartError(Exception):
    """The engine cannot be started; the message is one line."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        """What slotd exits with."""


@frozen
class StartedEngine:
    """The engine's process and slotd's ends of its pipes."""

    process: subprocess.Popen[bytes]
    input: int
    """Descriptor of the end that is written; blocking as yet."""
    output: int
    """Descriptor of the end that is read; blocking as yet."""


def inherited_environment() -> dict[str, str]:
    """Return the environment slotd was started with.

    Python adds LC_CTYPE to its own when the locale is the plain C one (PEP 538); the engine must
    not have it from that.
    """
    environment = dict(os.environ)
    if "LC_CTYPE" in environment:
        with suppress(OSError), open("/proc/self/environ", "rb") as given:  # noqa: PTH123 - start-up
            if not any(entry.startswith(b"LC_CTYPE=") for entry in given.read().split(b"\0")):
                del environment["LC_CTYPE"]
    return environment


def start_engine(command: Sequence[str], environment: Mapping[str, str]) -> StartedEngine:
    """Start `command` with `environment`.

    Raises EngineStartError when it cannot be found or executed.
    """
    engine_reads, input_end, output_end, engine_writes = _two_pipes(command[0])
    with suppress(OSError):  # the user's pipes are over a limit: the usual size will do
        fcntl.fcntl(input_end, fcntl.F_SETPIPE_SZ, ENGINE_INPUT_PIPE)
    try:
        process = subprocess.Popen(
            command,
            stdin=engine_reads,
            stdout=engine_writes,
            env=environment,
            pass_fds=_given_descriptors(),
        )
    except OSError as error:
        os.close(input_end)
        os.close(output_end)
        raise _refusal(command[0], error) from None
    finally:
        os.close(engine_reads)
        os.close(engine_writes)
    return StartedEngine(process, input_end, output_end)


def _two_pipes(engine: str) -> tuple[int, int, int, int]:
    """Return both ends of two pipes, the reading one of each first."""
    ends: tuple[int, ...] = ()
    try:
        ends = os.pipe()
        return (*ends, *os.pipe())
    except OSError as error:  # no descriptor is left
        for end in ends:
            os.close(end)
        raise _refusal(engine, error) from None


def _given_descriptors() -> list[int]:
    """Return the descriptors slotd was started with besides the standard ones.

    Python makes none inheritable that it opens. (Naming them also keeps subprocess from using
    posix_spawn, which leaves two signals of the C library's own ignored in the engine.)
    """
    with os.scandir("/proc/self/fd") as entries:
        # One by one: at the end of the listing, its own descriptor is closed.
        return [
            n for n in (int(entry.name) for entry in entries) if n > 2 and os.get_inheritable(n)
        ]


def exit_status(returncode: int) -> int:
    """Return what to exit with for a process's `returncode`: 128 + n for signal n."""
    return returncode if returncode >= 0 else 128 - returncode


def _refusal(engine: str, error: OSError) -> EngineStartError:
    if not engine:
        return EngineStartError("engine '': give the path of the engine's executable", MISSING)
    if error.errno == errno.ENOENT and not os.access(engine, os.F_OK):
        where = "there is no such file" if os.sep in engine else "there is none in PATH"
        return EngineStartError(
            f"engine {engine}: {where}: give the path of the engine's executable", MISSING
        )
    if error.errno == errno.ENOENT:
        reason = "the interpreter or loader it names is missing"
    elif error.errno == errno.EACCES and os.access(engine, os.X_OK):
        reason = "is a directory"
    elif error.errno == errno.EACCES:
        reason = "you may not execute it"
    elif error.errno == errno.ENOEXEC:
        reason = "is not a program this system can run"
    else:
        reason = error.strerror or "unknown reason"
    return EngineStartError(
        f"engine {engine}: cannot be executed: {reason}: give the path of the engine's executable",
        NOT_EXECUTABLE,
    )
