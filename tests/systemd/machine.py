"""The machine inside: installing the units, systemctl, the journal, clients.

Lives here: doing and asking. Must not live here: the tests.
"""

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from slotd.eyes.ask import ask
from tests.paths import PROJECT

UNITS = ("slotd.service", "slotd.socket", "slotd-metrics.service")
SLOTD = "/opt/slotd/bin/slotd"
SOCKET = "/run/slotd/engine.sock"
CONTROL = "/run/slotd/control.sock"
LONG_S = 300
"""Seconds after which something is taken for never to happen: far more than anything takes."""
HELD = Path("/opt/engine/held")
"""The simulated engine, loading until `let_go`."""
_GATE = Path("/etc/slotd/go")
left_running = ExitStack()
"""Stops and removes what `running` has left, when it is closed."""

Process = subprocess.Popen[bytes]
Found = TypeVar("Found")


def run(*command: str, status: int = 0) -> str:
    """Run a command, see that it ends with `status`, and return what it says."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, cwd=PROJECT)
    assert ran.returncode == status, (command, ran.returncode, ran.stdout, ran.stderr, journal())
    return ran.stdout + ran.stderr


def readme_block(name: str) -> str:
    """Return the shell block that the units' README marks with a name."""
    text = (PROJECT / "systemd" / "README.md").read_text()
    found = re.search(rf"<!-- run: {name} -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1]


def follow_readme(name: str) -> str:
    return run("sh", "-euc", readme_block(name))


@contextmanager
def installed(*, held: bool = False, drop_in: str = "", settings: str = "") -> Iterator[None]:
    """Install the units as their README says, for a simulated engine; remove them at the end."""
    left_running.close()
    follow_readme("install")
    program = HELD if held else Path("/opt/engine/strata")
    wait = f"while [ ! -e {_GATE} ]; do sleep 0.1; done"
    HELD.write_text(f'#!/bin/sh\n{wait}\nexec /opt/engine/strata "$@"\n')
    HELD.chmod(0o755)
    Path("/etc/slotd/engine.env").write_text(
        f"ENGINE={program}\nENGINE_ARGS=--serve --batch 6 --speed 50\n"
        "STRATA_PIPELINE_ACTIVE_ROWS=1\n"
    )
    if settings:
        Path("/etc/slotd/slotd.toml").write_text(settings)
    directory = Path("/etc/systemd/system/slotd.service.d")
    directory.mkdir()  # as `systemctl edit` would
    (directory / "test.conf").write_text(f"[Service]\nRestartSec=0.2\n{drop_in}\n")
    run("systemctl", "daemon-reload")
    try:
        yield
    finally:
        subprocess.run(["systemctl", "kill", "-s", "CONT", "slotd.service"], capture_output=True)
        run("systemctl", "stop", *UNITS)
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run(["systemctl", "reset-failed"], capture_output=True)
        run("systemctl", "disable", *UNITS)
        for name in ("slotd.toml", "engine.env", _GATE.name):
            Path("/etc/slotd", name).unlink(missing_ok=True)


@contextmanager
def running() -> Iterator[None]:
    """Have the service running, with nothing special about it; the next test may go on with it."""
    if shown("ActiveState") != "active":  # nobody else leaves it so
        with ExitStack() as own:
            own.enter_context(installed())
            run("systemctl", "start", "slotd.service")
            left_running.push(own.pop_all())
    try:
        yield
    except BaseException:
        left_running.close()
        raise


def let_go() -> None:
    """Let an engine that is held load to its end."""
    _GATE.touch()


def shown(name: str, unit: str = "slotd.service") -> str:
    return run("systemctl", "show", "--value", "-p", name, unit).strip()


def wait_for(found: Callable[[], Found]) -> Found:
    """Wait until something is found, and return it."""
    give_up = time.monotonic() + LONG_S
    while not (answer := found()):
        assert time.monotonic() < give_up, (shown("ActiveState"), shown("StatusText"), journal())
        time.sleep(0.05)
    return answer


def journal(*matches: str) -> list[dict[str, Any]]:
    """Return the journal's entries, oldest first."""
    exported = subprocess.run(
        ["journalctl", "-o", "json", "--all", "--no-pager", *(matches or ("-u", "slotd"))],
        capture_output=True,
        timeout=LONG_S,
    ).stdout
    return [json.loads(line) for line in exported.splitlines()]


def events(name: str) -> list[dict[str, Any]]:
    """Return the entries of an event since the service was started last."""
    invocation = shown("InvocationID")
    return journal("-t", "slotd", f"_SYSTEMD_INVOCATION_ID={invocation}", f"SLOTD_EVENT={name}")


def status() -> dict[str, Any]:
    return ask(CONTROL, wait_s=LONG_S)


class Client:
    """A serve process's side of an engine that it thinks it has started."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def hear_until(self, *starts: str) -> list[str]:
        """Read lines up to one that starts in one of these ways."""
        assert self.process.stdout is not None
        heard: list[str] = []
        while not (heard and heard[-1].startswith(starts)):
            line = self.process.stdout.readline().decode()
            assert line.endswith("\n"), (heard[-5:], self.process.poll(), journal()[-20:])
            heard.append(line.rstrip("\n"))
        return heard

    def rest(self) -> list[str]:
        """Read to the end."""
        assert self.process.stdout is not None
        return self.process.stdout.read().decode().splitlines()


@contextmanager
def attached(*command: str) -> Iterator[Client]:
    """Attach; the client is killed at the end."""
    with subprocess.Popen(
        command or (SLOTD, "attach"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None
    ) as process:
        try:
            yield Client(process)
        finally:
            process.send_signal(signal.SIGKILL)


def prompt(first: int, count: int) -> str:
    return ",".join(map(str, range(first, first + count)))


def reused(lines: list[str]) -> int:
    """Return how many prompt tokens the request among these lines reused."""
    (done,) = [line for line in lines if line.startswith("DONE ")]
    return int(done.split()[8])
