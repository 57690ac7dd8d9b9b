"""Attaching: what a client sees, who is refused, and the exit status of each way to end."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command, expected_tokens
from tests.clients.slotd import SLOTD, SLOTD_ENGINE
from tests.daemon.processes import HANGS_AFTER, hear, outcome, python_engine, say, started
from tests.host.hosting import (
    Host,
    engine_pid,
    greeting,
    hear_until,
    held_up,
    hosted,
    let_go,
    run_in_slot,
    wait_until,
)

OBEDIENT = """
print("INFO batch_slots=1 slot_cache=1\\nnever heard of\\nREADY 999 stop", flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == "exit":
        os._exit(int(rest[0]))
    if word == "die":
        os.kill(os.getpid(), int(rest[0]))
    if word == "say":
        os.write(1, b"T 1\\n" * int(rest[0]) + b"ERR last words")
        os._exit(4)
    if word == "QUIT":
        break
"""
"""An engine that ends as it is told to."""


@pytest.fixture
def obedient(host_of_obedient: Host) -> Host:
    """A host that serves, whatever the test before did to its engine."""
    if host_of_obedient.status()["engine"]["state"] != "serving":
        with host_of_obedient.client() as client:
            greeting(client)
    return host_of_obedient


@pytest.fixture(scope="module")
def host_of_obedient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host that starts such an engine again at once."""
    directory = tmp_path_factory.mktemp("host")
    at_once = ("--set", "host.backoff_s=0")
    with hosted(directory, python_engine(directory, OBEDIENT), *at_once) as host:
        yield host


def test_every_client_sees_what_a_fresh_engine_prints(tmp_path: Path) -> None:
    engine = engine_command("--batch", "2")
    fresh = outcome(engine, b"QUIT\n", env=clean_environment())[1]
    with hosted(tmp_path, engine) as host:
        for _ in range(2):
            status, out, err = outcome([*SLOTD, "attach", host.socket])
            assert (status, out, err) == (0, fresh, b"")


def test_lines_nobody_knows_are_part_of_it(obedient: Host) -> None:
    with obedient.client() as client:
        assert greeting(client)[1:] == ["never heard of", "READY 999 stop"]


def test_a_client_that_attaches_while_the_model_loads_waits_for_ready(tmp_path: Path) -> None:
    engine, gate = held_up(tmp_path, engine_command("--batch", "2"))
    with hosted(tmp_path, engine) as host, host.client() as client:
        host.told("client_attached")
        assert host.status()["engine"]["state"] == "loading"
        let_go(gate)
        assert greeting(client)[-1].startswith("READY")
        prompt = [1, 2, 3]
        assert tuple(run_in_slot(client, 1, prompt, 3)[1]) == expected_tokens(prompt, 3)


@pytest.mark.parametrize("last", [b"", b"QUIT\n"])
def test_one_that_has_said_its_last_while_it_loads_still_hears_it(
    tmp_path: Path, last: bytes
) -> None:
    engine, gate = held_up(tmp_path, engine_command("--batch", "2"))
    with hosted(tmp_path, engine) as host, host.client() as client:
        host.told("client_attached")
        say(client, last)
        assert client.stdin is not None
        client.stdin.close()
        assert host.told("stream_closed")[0]["stream"] == "client_in"
        let_go(gate)
        assert greeting(client)[-1].startswith("READY")
        assert hear(client) == b""
        assert client.wait(HANGS_AFTER) == 0


def test_one_that_goes_while_it_loads_leaves_the_next_in_step(tmp_path: Path) -> None:
    engine, gate = held_up(tmp_path, engine_command("--batch", "2"))
    with hosted(tmp_path, engine) as host:
        with host.client() as client:
            host.told("client_attached")
            say(client, b"BGEN 0 5 1,2,3\n")
            assert client.stdin is not None
            client.stdin.close()
            host.told("drain")
            let_go(gate)
            assert client.wait(HANGS_AFTER) == 0
        with host.client() as client:
            greeting(client)
            prompt = [4, 5, 6]
            assert tuple(run_in_slot(client, 0, prompt, 3)[1]) == expected_tokens(prompt, 3)
        assert host.status()["engine"]["starts"] == 1


@pytest.mark.parametrize(
    ("told", "status"), [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("die 9", 137)]
)
def test_the_exit_status_is_the_engines(obedient: Host, told: str, status: int) -> None:
    with obedient.client() as client:
        greeting(client)
        say(client, f"{told}\n".encode())
        assert hear(client) == b""
        assert client.wait(HANGS_AFTER) == status
        assert obedient.process.poll() is None


def test_everything_a_dying_engine_printed_arrives(obedient: Host) -> None:
    with obedient.client() as client:
        greeting(client)
        say(client, b"say 50000\n")
        assert client.stdout is not None
        # Its input stays open: a client that ends it has gone.
        assert client.stdout.read() == b"T 1\n" * 50_000 + b"ERR last words"
        assert client.wait(HANGS_AFTER) == 4


def test_a_second_client_is_told_so_and_refused(obedient: Host) -> None:
    with obedient.client() as client:
        greeting(client)
        status, out, err = outcome([*SLOTD, "attach", obedient.socket])
        assert (status, out) == (75, b"")
        assert err.decode() == (
            f"slotd attach: socket {obedient.socket}: refused: "
            f"another client (process {client.pid}) is attached: end it first\n"
        )
        assert obedient.told("client_refused")[0]["message"].startswith("another client")
        say(client, b"exit 6\n")
        assert client.wait(HANGS_AFTER) == 6


def test_without_a_socket_it_is_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "none.sock"
    assert outcome([*SLOTD, "attach", str(missing)])[::2] == (
        75,
        f"slotd attach: socket {missing}: there is no such socket: "
        "start 'slotd host', or name the socket of one\n".encode(),
    )


def test_a_socket_nobody_listens_on_is_one_line(tmp_path: Path) -> None:
    path = str(tmp_path / "left.sock")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    status, _, err = outcome([*SLOTD, "attach", path])
    assert status == 75
    assert err.decode().endswith("nobody listens there: start 'slotd host' again\n")
    status, _, err = outcome([*SLOTD, "attach", str(tmp_path)])
    assert status == 75
    assert err.count(b"\n") == 1


def test_a_host_that_hangs_up_before_it_answers_is_told_from_a_stranger(tmp_path: Path) -> None:
    path = str(tmp_path / "gone.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        with started([*SLOTD, "attach", path], stderr=subprocess.PIPE) as client:
            connection, _ = listening.accept()
            connection.recv(99)
            connection.close()
            _, err = client.communicate(timeout=HANGS_AFTER)
    assert client.returncode == 75
    assert err.decode().endswith("gone without a word: see why its host ended\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_stranger_is_told_that_they_may_not(tmp_path: Path) -> None:
    attaching = f"""
import os
from slotd.daemon.attach import AttachError, attach
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    attach({str(tmp_path / "engine.sock")!r})
except AttachError as error:
    print(error)
"""
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(0o755)
    with hosted(tmp_path, python_engine(tmp_path, OBEDIENT)):
        status, out, err = outcome([sys.executable, "-c", attaching])
        assert (status, err) == (0, b"")
        assert out.decode().endswith(
            "you may not connect to it: be in its group, or run as its user\n"
        )


def test_whoever_speaks_another_language_is_told(obedient: Host) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(obedient.socket)
        raw.sendall(b"GEN 5 1,2,3\n")
        said = raw.makefile("rb").read()
    assert said.startswith(b"ERR ")
    assert said.count(b"\n") == 1
    with obedient.client() as client:
        greeting(client)


def test_a_client_without_a_pipe_for_the_status_is_served(obedient: Host) -> None:
    gone = len(obedient.events("client_gone"))
    with socket.socket(socket.AF_UNIX) as raw, raw.makefile("rb") as lines:
        raw.connect(obedient.socket)
        raw.sendall(b"SLOTD ATTACH 1\n")
        assert lines.readline() == b"SLOTD OK\n"
        assert lines.readline().startswith(b"INFO ")
    obedient.told("client_gone", gone + 1)


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_the_sockets_let_in_their_user_and_group_only(tmp_path: Path, mask: int) -> None:
    with hosted(tmp_path, python_engine(tmp_path, OBEDIENT), umask=mask) as host:
        for path in (host.socket, host.control):
            wait_until(Path(path).exists)
            assert stat.S_IMODE(Path(path).stat().st_mode) == 0o660


def test_the_sockets_are_gone_when_the_host_is(tmp_path: Path) -> None:
    with hosted(tmp_path, python_engine(tmp_path, OBEDIENT)) as host:
        host.told("engine_ready")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0
        assert not Path(host.socket).exists()
        assert not Path(host.control).exists()


def test_what_a_killed_host_left_is_replaced(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, OBEDIENT)
    with hosted(tmp_path, engine) as host:
        host.told("engine_ready")
        host.process.kill()
        host.process.wait(HANGS_AFTER)
        assert Path(host.socket).exists()
    with hosted(tmp_path, engine) as host:
        host.told("engine_ready", 2)
        with host.client() as client:
            greeting(client)


def test_a_second_host_on_the_same_socket_is_refused(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, OBEDIENT)
    with hosted(tmp_path, engine) as host:
        host.told("engine_ready")
        command = [*SLOTD, "host", "--set", f"host.socket={host.socket}", "--", *engine]
        status, _, err = outcome(command)
        assert status == 2
        assert err.decode() == (
            f"slotd: socket {host.socket}: cannot be made: another process listens there: "
            "set host.socket to a path slotd can have\n"
        )


@pytest.mark.parametrize(
    ("path", "reason"),
    [("no/such/engine.sock", "No such file or directory"), ("file", "something else of that name")],
)
def test_a_socket_that_cannot_be_made_is_one_line(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "file").write_text("here")
    where = tmp_path / path
    status, _, err = outcome([*SLOTD, "host", "--set", f"host.socket={where}", "--", "cat"])
    assert status == 2
    assert err.decode().startswith(f"slotd: socket {where}: cannot be made: ")
    assert reason in err.decode()
    assert err.count(b"\n") == 1
    assert (tmp_path / "file").read_text() == "here"


def test_slotd_engine_attaches_when_it_is_told_to(tmp_path: Path, obedient: Host) -> None:
    environment = clean_environment() | {"SLOTD_ATTACH": obedient.socket}
    with started([*SLOTD_ENGINE, "--serve", "--batch", "6"], env=environment) as client:
        greeting(client)
        say(client, b"exit 8\n")
        assert client.wait(HANGS_AFTER) == 8
    environment["SLOTD_ATTACH"] = str(tmp_path / "none")
    status, _, err = outcome(SLOTD_ENGINE, env=environment)
    assert status == 75
    assert err.startswith(b"slotd-engine: socket ")
    assert err.count(b"\n") == 1


def test_the_executable_of_a_shim_attaches_as_well(tmp_path: Path, obedient: Host) -> None:
    """For a serve process that reads BUILD.json beside what it starts."""
    engine = tmp_path / "strata"
    engine.write_text("#!/bin/sh\nexit 9\n")
    engine.chmod(0o755)
    (tmp_path / "BUILD.json").write_text("{}")
    directory = tmp_path / "in-its-place"
    assert outcome([*SLOTD, "shim", str(directory), "--engine", str(engine)])[0] == 0
    environment = clean_environment() | {"SLOTD_ATTACH": obedient.socket}
    status, out, err = outcome([str(directory / "strata"), "--serve"], env=environment)
    assert (status, err) == (0, b"")
    assert out.startswith(b"INFO ")
    assert (directory / "BUILD.json").exists()


def test_mistakes_in_other_settings_do_not_keep_it_from_attaching(
    tmp_path: Path, obedient: Host
) -> None:
    settings = tmp_path / "slotd.toml"
    settings.write_text("[policy]\nttl_max_s = -1\n[nonsense]\n")
    environment = clean_environment() | {"SLOTD_CONFIG": str(settings)}
    attached = environment | {"SLOTD_ATTACH": obedient.socket}
    named = environment | {"SLOTD_SOCKET": obedient.socket}
    for command, environment in ((SLOTD_ENGINE, attached), ([*SLOTD, "attach"], named)):
        status, out, err = outcome(command, env=environment)
        assert (status, err) == (0, b"")
        assert out.startswith(b"INFO ")
    settings.write_text(f"[slotd]\nattach = '{obedient.socket}'\nengine = 1\n")
    del attached["SLOTD_ATTACH"]
    assert outcome(SLOTD_ENGINE, env=attached)[0] == 0


def test_standard_streams_that_are_closed_are_not_taken_for_the_socket(obedient: Host) -> None:
    drains = obedient.events("drain")
    environment = clean_environment() | {"SLOTD_ATTACH": obedient.socket}
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *SLOTD_ENGINE]
    status, out, err = outcome(closed, env=environment)
    assert (status, err) == (0, b"")
    assert out.startswith(b"INFO ")
    closed[2] = 'exec "$@" >&-'
    assert outcome(closed, env=environment)[0] == 0
    assert obedient.events("drain") == drains  # it was told nothing


def test_output_that_cannot_be_written_is_one_line(obedient: Host) -> None:
    with (
        Path("/dev/full").open("w") as full,
        obedient.client(stdout=full, stderr=subprocess.PIPE) as client,
    ):
        assert client.stderr is not None
        assert client.stderr.read() == (
            b"slotd attach: standard output: cannot be written: "
            b"No space left on device: give a pipe\n"
        )
        assert client.wait(HANGS_AFTER) == 75


@pytest.mark.parametrize("number", [15, 2])
def test_a_signal_ends_the_client_as_it_would_have_the_engine(obedient: Host, number: int) -> None:
    gone = len(obedient.events("client_gone"))
    with obedient.client() as client:
        greeting(client)
        pid = engine_pid(obedient)
        client.send_signal(number)
        assert client.wait(HANGS_AFTER) == -number
    obedient.told("client_gone", gone + 1)
    assert engine_pid(obedient) == pid


def test_a_host_that_is_killed_is_told_from_an_engine_that_ended(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, OBEDIENT)
    with hosted(tmp_path, engine) as host, host.client(stderr=subprocess.PIPE) as client:
        greeting(client)
        host.process.kill()
        _, err = client.communicate(timeout=HANGS_AFTER)
        assert client.returncode == 75
        assert err.decode().endswith("slotd has gone without a word: see why its host ended\n")


def test_a_large_prompt_and_many_lines_pass(tmp_path: Path) -> None:
    with hosted(tmp_path, engine_command("--batch", "2")) as host, host.client() as client:
        greeting(client)
        prompt = [1 + n % 9999 for n in range(200_000)]
        assert tuple(run_in_slot(client, 0, prompt, 2000)[1]) == expected_tokens(prompt, 2000)
        say(client, b"QUIT\n")
        assert client.wait(HANGS_AFTER) == 0


def test_a_stop_passes_while_the_client_does_not_read(tmp_path: Path) -> None:
    with hosted(tmp_path, engine_command("--batch", "2")) as host, host.client() as client:
        greeting(client)
        say(client, b"BGEN 0 250000 1,2,3\n")
        hear_until(client, "BADM")
        say(client, b"BSTOP 0\n")
        assert hear_until(client, "BDONE")[-1].split()[3] == "cancel"
