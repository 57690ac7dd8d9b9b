"""`slotd host` as a process, the clients that attach to it, and what it logs.

Lives here: starting, waiting for facts and talking. Must not live here: the tests.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from slotd.eyes.ask import ask
from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command, expected_tokens
from tests.clients.slotd import SLOTD
from tests.daemon.processes import HANGS_AFTER, Process, hear, python_engine, say, started

SIMULATED = (sys.executable, "-m", "slotd.sim", "--serve")

Tokens = Sequence[int]

KEPT = list(range(1000, 4000))
"""A conversation that is worth more than what else is left in the slots."""


def wait_until(condition: Any) -> Any:
    """Return what `condition` returns once that is something."""
    give_up = time.monotonic() + HANGS_AFTER
    while not (found := condition()):
        assert time.monotonic() < give_up, "it never came to that"
        time.sleep(0.02)
    return found


@frozen
class Host:
    """A running `slotd host`."""

    process: Process
    directory: Path

    @property
    def socket(self) -> str:
        return str(self.directory / "engine.sock")

    @property
    def control(self) -> str:
        return str(self.directory / "control.sock")

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the logged events of a name so far; a line being written is left for later."""
        log = self.directory / "log"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        told = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in told if event["event"] == name]

    def told(self, name: str, times: int = 1) -> list[dict[str, Any]]:
        """Wait until events of a name were logged so often; return them."""

        def enough() -> list[dict[str, Any]]:
            found = self.events(name)
            return found if len(found) >= times else []

        found: list[dict[str, Any]] = wait_until(enough)
        return found

    def status(self) -> dict[str, Any]:
        """Return the status of a moment after it was asked for, not one that is given again."""
        given: dict[str, Any] = ask(self.control, wait_s=HANGS_AFTER)

        def fresh() -> dict[str, Any]:
            status: dict[str, Any] = ask(self.control, wait_s=HANGS_AFTER)
            return status if status["slotd"]["uptime_s"] > given["slotd"]["uptime_s"] else {}

        found: dict[str, Any] = wait_until(fresh)
        return found

    @contextmanager
    def client(self, **options: Any) -> Iterator[Process]:
        """Attach; the client leaves at the end as if it were killed."""
        with started([*SLOTD, "attach", self.socket], **options) as process:
            yield process


@contextmanager
def hosted(directory: Path, engine: Sequence[str], *options: str, **popen: Any) -> Iterator[Host]:
    """Host an engine with its sockets and its log in a directory."""
    where = ("--set", f"host.socket={directory}/engine.sock")
    log = ("--log-file", str(directory / "log"), "--log-level", "debug")
    command = [*SLOTD, "host", *where, *log, *options, "--", *engine]
    popen.setdefault("env", clean_environment())
    with started(command, **popen) as process:
        host = Host(process, directory)
        sockets = [Path(host.socket), Path(host.control)]
        wait_until(lambda: process.poll() is not None or all(path.exists() for path in sockets))
        yield host


def reference(*options: str) -> list[str]:
    """Return the reference engine, slow enough that things can happen in the middle."""
    pace = ("--read-tok-s", "20000", "--step-ms", "5", "--chunk", "256")
    return engine_command("--batch", "3", *pace, *options)


def held_up(directory: Path, engine: Sequence[str]) -> tuple[list[str], Path]:
    """Return an engine that loads until the returned named pipe is opened for writing."""
    gate = directory / "gate"
    os.mkfifo(gate)
    body = f"open({str(gate)!r}).close()\nos.execv({engine[0]!r}, {list(engine)!r})"
    return python_engine(directory, body), gate


def let_go(gate: Path) -> None:
    """Let an engine that is held up go on."""
    gate.open("w").close()


def hear_until(client: Process, *starts: str) -> list[str]:
    """Read lines up to one that starts in one of these ways; the end of the stream fails."""
    lines: list[str] = []
    while True:
        line = hear(client).decode()
        assert line, f"the stream ended after {lines[-5:]}"
        lines.append(line.rstrip("\n"))
        if line.startswith(starts):
            return lines


def greeting(client: Process) -> list[str]:
    """Read what an engine says before it serves."""
    return hear_until(client, "READY")


def prompt_text(prompt: Tokens) -> str:
    return ",".join(map(str, prompt))


def run_in_slot(client: Process, slot: int, prompt: Tokens, max_new: int) -> tuple[int, list[int]]:
    """Run a request in a slot to its end; return what was reused, and its tokens."""
    say(client, f"BGEN {slot} {max_new} {prompt_text(prompt)}\n".encode())
    lines = hear_until(client, "BDONE", "ERR")
    assert lines[-1].startswith(f"BDONE {slot} "), lines
    return _resumed(lines), _tokens(lines, slot)


def run_solo(client: Process, prompt: Tokens, max_new: int) -> tuple[int, list[int]]:
    """Run a solo request to its end; return what was reused, and its tokens."""
    say(client, f"GEN {max_new} {prompt_text(prompt)}\n".encode())
    lines = hear_until(client, "DONE", "ERR")
    assert lines[-1].startswith("DONE "), lines
    return _resumed(lines), _tokens(lines, None)


def _resumed(lines: list[str]) -> int:
    (line,) = [line for line in lines if line.startswith("RESUME ")]
    return int(line.split()[1])


def _tokens(lines: list[str], slot: int | None) -> list[int]:
    got = []
    for line in lines:
        verb, *fields = line.split()
        if verb == "T" or (verb == "BT" and int(fields[0]) == slot):
            got.append(int(fields[-1]))
    return got


def conversation(client: Process, slot: int, prompt: Tokens, max_new: int = 6) -> list[int]:
    """Run a request in a slot and check its tokens; return what the slot then holds."""
    tokens = run_in_slot(client, slot, prompt, max_new)[1]
    assert tuple(tokens) == expected_tokens(prompt, max_new)
    return [*prompt, *tokens[:-1]]


def check_in_step(client: Process, history: Tokens) -> None:
    """Check that the next client is in step and that a conversation was kept for it."""
    assert hear_until(client, "READY")[0].startswith("INFO ")
    reused, tokens = run_in_slot(client, 0, [*history, 31, 32], 5)
    assert tuple(tokens) == expected_tokens([*history, 31, 32], 5)
    assert reused == len(history)
    for slot in (1, 2):
        other = [51, 52, slot]
        assert tuple(run_in_slot(client, slot, other, 5)[1]) == expected_tokens(other, 5)
    alone = [41, 42, 43]
    assert tuple(run_solo(client, alone, 4)[1]) == expected_tokens(alone, 4)


def engine_pid(host: Host) -> int:
    pid = host.status()["engine"]["pid"]
    assert isinstance(pid, int)
    return pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
