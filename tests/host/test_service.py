"""What a service manager is told, and the sockets it passes."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
import trio
from attrs import define, field

from slotd.daemon.notify import Notifier
from slotd.daemon.service import Service
from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command
from tests.clients.slotd import SLOTD
from tests.daemon.processes import HANGS_AFTER, Process, outcome, python_engine, say, started
from tests.host.hosting import (
    Host,
    greeting,
    hear_until,
    held_up,
    hosted,
    let_go,
    reference,
    wait_until,
)


@define
class Manager:
    """The other end of NOTIFY_SOCKET."""

    path: str
    heard: list[str] = field(factory=list)
    _end: socket.socket = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._end.bind(self.path)
        self._end.setblocking(False)

    def close(self) -> None:
        self._end.close()

    def lines(self) -> list[str]:
        """Return every line heard so far."""
        while True:
            try:
                self.heard += self._end.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.heard

    def hears(self, start: str, times: int = 1) -> list[str]:
        """Wait for so many lines that start in this way."""

        def enough() -> list[str]:
            found = [line for line in self.lines() if line.startswith(start)]
            return found if len(found) >= times else []

        found: list[str] = wait_until(enough)
        return found


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with closing(Manager(str(tmp_path / "notify"))) as manager:
        yield manager


def told(manager: Manager, **more: str) -> dict[str, str]:
    return clean_environment() | {"NOTIFY_SOCKET": manager.path} | more


def test_it_is_ready_when_the_engine_is(tmp_path: Path, manager: Manager) -> None:
    engine, gate = held_up(tmp_path, engine_command("--batch", "2"))
    with hosted(tmp_path, engine, env=told(manager)) as host:
        manager.hears("STATUS=loading the engine")
        manager.hears("EXTEND_TIMEOUT_USEC=")
        assert "READY=1" not in manager.lines()
        let_go(gate)
        manager.hears("READY=1")
        manager.hears("STATUS=serving no client, 0 of 2 slots busy")
        with host.client() as client:
            greeting(client)
            manager.hears("STATUS=serving client")
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0
        manager.hears("STATUS=engine ended with status 0: starts again for the next client")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0
        manager.hears("STOPPING=1")
        assert manager.lines().count("READY=1") == 1


def test_a_reload_is_told_with_its_time(tmp_path: Path, manager: Manager) -> None:
    with hosted(tmp_path, engine_command(), env=told(manager)) as host:
        manager.hears("READY=1")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        host.process.send_signal(signal.SIGHUP)
        manager.hears("READY=1", 2)
        lines = manager.lines()
        assert lines.count("RELOADING=1") == 1
        assert lines.index("RELOADING=1") < len(lines) - 1 - lines[::-1].index("READY=1")
        (stamp,) = manager.hears("MONOTONIC_USEC=")
        assert int(stamp.partition("=")[2]) >= before


def test_a_reload_before_the_engine_serves_makes_nothing_ready(
    tmp_path: Path, manager: Manager
) -> None:
    engine, gate = held_up(tmp_path, engine_command())
    with hosted(tmp_path, engine, env=told(manager)) as host:
        host.told("settings")
        host.process.send_signal(signal.SIGHUP)
        host.told("settings", 2)
        assert not {"READY=1", "RELOADING=1"} & set(manager.lines())
        let_go(gate)
        manager.hears("READY=1")


def test_it_tells_that_it_is_alive_as_often_as_it_must(tmp_path: Path, manager: Manager) -> None:
    with hosted(tmp_path, engine_command(), env=told(manager, WATCHDOG_USEC="200000")):
        manager.hears("WATCHDOG=1", 3)


def test_it_tells_so_in_the_middle_of_work(tmp_path: Path, manager: Manager) -> None:
    engine = reference("--step-ms", "0")
    environment = told(manager, WATCHDOG_USEC="200000")
    with hosted(tmp_path, engine, env=environment) as host, host.client() as client:
        greeting(client)
        for slot in range(3):
            say(client, b"BGEN %d 200000 %d,2,3\n" % (slot, slot))
        hear_until(client, "BT 2")
        count = manager.lines().count("WATCHDOG=1")
        with pumped(client):
            manager.hears("WATCHDOG=1", count + 3)


@contextmanager
def pumped(client: Process) -> Iterator[None]:
    """Take what a client is sent, to the end of its stream, beside what else is done."""
    assert client.stdout is not None
    thread = threading.Thread(target=client.stdout.read)
    thread.start()
    yield
    client.kill()
    thread.join()


def test_a_loop_that_hangs_is_not_alive(tmp_path: Path, manager: Manager) -> None:
    with hosted(tmp_path, engine_command(), env=told(manager, WATCHDOG_USEC="100000")) as host:
        manager.hears("WATCHDOG=1")
        host.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: _is_stopped(host))
        count = manager.lines().count("WATCHDOG=1")
        time.sleep(0.3)
        assert manager.lines().count("WATCHDOG=1") == count
        host.process.send_signal(signal.SIGCONT)
        manager.hears("WATCHDOG=1", count + 1)


async def test_only_the_loop_that_relays_tells_that_it_is_alive(manager: Manager) -> None:
    interval_s = 0.02
    given = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": str(int(2e6 * interval_s))}
    with closing(Notifier(given)) as notifier:
        service = Service(notifier, lambda: "here", lambda: False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(service.run)
            await trio.testing.wait_all_tasks_blocked()
            count = manager.lines().count("WATCHDOG=1")
            assert count > 0
            time.sleep(10 * interval_s)  # noqa: ASYNC251 - this is the hanging
            assert manager.lines().count("WATCHDOG=1") == count
            nursery.cancel_scope.cancel()


def _is_stopped(host: Host) -> bool:
    stat = Path(f"/proc/{host.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] in "Tt"


def test_the_watchdog_of_another_process_is_none_of_its_business() -> None:
    def watchdog_s(**more: str) -> float | None:
        given = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "5000000"} | more
        with closing(Notifier(given)) as notifier:
            return notifier.watchdog_s

    assert watchdog_s() == 5
    assert watchdog_s(WATCHDOG_PID=str(os.getpid())) == 5
    assert watchdog_s(WATCHDOG_PID="1") is None
    assert watchdog_s(WATCHDOG_USEC="often") is None
    assert watchdog_s(NOTIFY_SOCKET="") is None


def test_nobody_to_tell_or_nobody_there_is_no_matter(tmp_path: Path) -> None:
    for address in ("", "nonsense", str(tmp_path / "none"), "@nobody-is-there"):
        with closing(Notifier({"NOTIFY_SOCKET": address} if address else {})) as notifier:
            notifier.ready("here")
            notifier.alive()


def test_the_engine_is_told_nothing_of_the_manager(tmp_path: Path, manager: Manager) -> None:
    engine = python_engine(
        tmp_path,
        """
names = sorted(n for n in os.environ if n.split("_")[0] in ("NOTIFY", "LISTEN", "WATCHDOG"))
os.write(1, f"INFO n={len(names)}\\nREADY 9 stop\\n".encode())
sys.stdin.readline()
""",
    )
    environment = told(manager, WATCHDOG_USEC="9000000", LISTEN_FDS="0", LISTEN_FDNAMES="")
    with hosted(tmp_path, engine, env=environment) as host, host.client() as client:
        assert greeting(client)[0] == "INFO n=0"


PASSING = """
import os, sys
names, numbers = sys.argv[1], [int(number) for number in sys.argv[2].split(",")]
for place, number in enumerate(numbers):
    os.dup2(number, 3 + place)
for number in numbers:
    os.close(number)
told = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(numbers)), "LISTEN_FDNAMES": names}
os.execvpe(sys.argv[3], sys.argv[3:], os.environ | told)
"""
"""Becomes a command that has descriptors from 3 on, and is told of them as systemd tells it."""


@pytest.mark.parametrize("names", [("engine",), ("engine", "control"), ("control", "engine")])
def test_passed_sockets_are_used_and_left_where_they_are(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    engine = python_engine(
        tmp_path,
        """
fds = sorted(map(int, os.listdir("/proc/self/fd")))
os.write(1, b"INFO n=%d\\nREADY 9 stop\\n" % len([fd for fd in fds if fd > 2]))
sys.stdin.readline()
""",
    )
    with ExitStack() as passed:
        numbers = []
        for place, name in enumerate(names):
            listening = passed.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listening.bind(str(tmp_path / f"{name}.sock"))
            listening.listen(5)
            # Out of the way of the numbers they get.
            numbers.append(os.dup2(listening.fileno(), 200 + place))
            passed.callback(os.close, numbers[-1])
        before = [sys.executable, "-c", PASSING, ":".join(names), ",".join(map(str, numbers))]
        command = [*before, *SLOTD, "host", "--set", "host.socket=/no/such/place.sock"]
        command += ["--set", f"host.control_socket={tmp_path}/control.sock"]
        command += ["--log-file", str(tmp_path / "log"), "--", *engine]
        with started(command, env=clean_environment(), pass_fds=numbers) as process:
            host = Host(process, tmp_path)
            host.told("engine_ready")
            with host.client() as client:
                assert greeting(client)[0] == "INFO n=1"  # what lists them is open as well
                assert host.status()["client"]["attached"]
            process.terminate()
            assert process.wait(HANGS_AFTER) == 0
    assert (tmp_path / "engine.sock").exists()
    assert (tmp_path / "control.sock").exists() == ("control" in names)


def test_who_waits_for_a_slotd_that_cannot_start_is_told_and_does_not_wait_on(
    tmp_path: Path,
) -> None:
    """A service manager would start it again and again for them."""
    path = str(tmp_path / "engine.sock")
    broken = clean_environment() | {"SLOTD_POLICY": "none"}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(5)
        number = os.dup2(listening.fileno(), 200)
        before = [sys.executable, "-c", PASSING, "engine", str(number)]
        command = [*before, *SLOTD, "host", "--set", f"host.control_socket={tmp_path}/control.sock"]
        for engine, environment, status in (
            ("/no/such/engine", clean_environment(), 127),
            ("cat", broken, 2),
        ):
            with ExitStack() as crowd:
                # One says what it wants, one does not.
                waiting = [crowd.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
                for each in waiting:
                    each.connect(path)
                waiting[1].sendall(b"SLOTD ATTACH 1\n")
                ended = outcome([*command, "--", engine], env=environment, pass_fds=[number])
                assert ended[0] == status
                assert ended[2].count(b"\n") == 1
                for each in waiting:
                    assert each.recv(999) == b"SLOTD REFUSED slotd cannot start: see its log\n"
        os.close(number)


def test_what_is_no_listening_socket_is_one_line(tmp_path: Path) -> None:
    script = 'exec 3</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
    status, _, err = outcome(["sh", "-c", script, "sh", *SLOTD, "host", "--", "cat"])
    assert status == 2
    assert err.decode().startswith("slotd: descriptor 3 (unknown): passed by the service manager")
    assert err.count(b"\n") == 1
