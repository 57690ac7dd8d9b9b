"""What becomes of the host when its engine ends: asked to, by itself, again and again."""

import socket
from pathlib import Path

import pytest

from tests.clients.reference import engine_command
from tests.clients.slotd import SLOTD
from tests.daemon.processes import HANGS_AFTER, hear, outcome, python_engine, say
from tests.host.hosting import (
    KEPT,
    conversation,
    engine_pid,
    greeting,
    hosted,
    is_alive,
    run_in_slot,
    wait_until,
)

SOON = ("--set", "host.backoff_s=0.05")
IMPATIENT = ("--set", "host.drain_s=0.3")

KNOWS_ONLY_REQUESTS = """
os.write(1, b"INFO batch_slots=2 slot_cache=1\\nREADY 999 stop\\n")
for line in sys.stdin:
    if line.startswith("GEN"):
        os.write(1, b"{}")
    if line == "QUIT\\n":
        break
"""
"""Answers one with what stands for the braces, and nothing else at all."""

MORTAL = """
os.write(1, b"READY 999 stop\\n")
for line in sys.stdin:
    if line.startswith("exit "):
        os._exit(int(line.split()[1]))
    if line == "QUIT\\n":
        break
"""


def test_a_quit_ends_the_engine_and_the_next_client_starts_it_again(tmp_path: Path) -> None:
    with hosted(tmp_path, engine_command("--batch", "2")) as host:
        with host.client() as client:
            greeting(client)
            history = conversation(client, 0, KEPT)
            first = engine_pid(host)
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0
        wait_until(lambda: not is_alive(first))
        wait_until(lambda: host.status()["engine"]["state"] == "stopped")
        engine = host.status()["engine"]
        assert (engine["pid"], engine["starts"]) == (None, 1)
        assert host.status()["slots"] == []
        with host.client() as client:
            greeting(client)
            assert run_in_slot(client, 0, [*history, 5], 2)[0] == 0  # nothing is left of it
            wait_until(lambda: host.status()["engine"]["starts"] == 2)
            engine = host.status()["engine"]
            assert engine["state"] == "serving"
            assert engine["pid"] != first
        assert host.events("engine_backoff") == []
        assert host.events("drift") == []


def test_an_engine_that_is_kept_loaded_outlives_a_quit(tmp_path: Path) -> None:
    kept = ("--set", "host.keep_loaded=true")
    with hosted(tmp_path, engine_command("--batch", "2"), *kept) as host:
        with host.client() as client:
            greeting(client)
            history = conversation(client, 0, KEPT)
            first = engine_pid(host)
            say(client, b"BGEN 1 99999 1,2,3\nQUIT\nGEN 5 1,2\n")
            assert client.stdout is not None
            client.stdout.read()  # a serve process reads on, and does not end its input either
            assert client.wait(HANGS_AFTER) == 0
        with host.client() as client:
            greeting(client)
            assert run_in_slot(client, 0, [*history, 5], 2)[0] == len(history)
            assert engine_pid(host) == first


def test_an_engine_that_keeps_dying_is_left_alone_longer_each_time(tmp_path: Path) -> None:
    with hosted(tmp_path, python_engine(tmp_path, MORTAL), *SOON) as host:
        for _ in range(4):
            with host.client() as client:
                greeting(client)
                say(client, b"exit 3\n")
                assert hear(client) == b""
                assert client.wait(HANGS_AFTER) == 3
        told = [event["seconds"] for event in host.told("engine_backoff", 4)]
        assert told == [0.05, 0.1, 0.2, 0.4]
        with host.client() as client:
            greeting(client)
            assert host.status()["engine"]["starts"] == 5


def test_a_client_waits_while_the_engine_is_left_alone(tmp_path: Path) -> None:
    longer = ("--set", "host.backoff_s=0.4")
    with hosted(tmp_path, python_engine(tmp_path, MORTAL), *longer) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"exit 3\n")
            assert client.wait(HANGS_AFTER) == 3
        host.told("engine_backoff")
        with host.client() as client:
            greeting(client)
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0


@pytest.mark.parametrize(("code", "status"), [("sys.exit(5)", 5), ("sys.exit(0)", 1)])
def test_an_engine_that_never_served_ends_the_host(tmp_path: Path, code: str, status: int) -> None:
    engine = python_engine(tmp_path, f'os.write(1, b"INFO a=1\\n"); {code}')
    command = [*SLOTD, "host", "--set", f"host.socket={tmp_path}/engine.sock", "--", *engine]
    assert outcome(command)[0] == status
    assert not (tmp_path / "engine.sock").exists()


@pytest.mark.parametrize(("engine", "status"), [("no-such-engine", 127), ("/", 126)])
def test_an_engine_that_cannot_be_started_is_one_line(
    tmp_path: Path, engine: str, status: int
) -> None:
    command = [*SLOTD, "host", "--set", f"host.socket={tmp_path}/engine.sock", "--", engine]
    got, out, err = outcome(command)
    assert (got, out) == (status, b"")
    assert err.startswith(b"slotd: engine ")
    assert err.count(b"\n") == 1
    assert not (tmp_path / "engine.sock").exists()


def test_an_engine_that_is_gone_when_it_is_wanted_again_is_told(tmp_path: Path) -> None:
    script = tmp_path / "program"
    script.write_text("#!/bin/sh\necho READY 99\nread line\n")
    script.chmod(0o755)
    with hosted(tmp_path, [str(script)], *SOON) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0
        moved = script.rename(tmp_path / "elsewhere")
        with host.client() as client:
            assert client.wait(HANGS_AFTER) == 127
        assert "there is no such file" in host.told("error")[0]["message"]
        moved.rename(script)
        with host.client() as client:
            greeting(client)


def test_an_engine_that_does_not_stop_is_killed_for_the_next_client(tmp_path: Path) -> None:
    deaf = python_engine(tmp_path, KNOWS_ONLY_REQUESTS.format("RESUME 0\\nT 5\\n"))
    with hosted(tmp_path, deaf, *IMPATIENT, *SOON) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"GEN 100 1,2,3\n")
            assert hear(client) == b"RESUME 0\n"
            client.kill()
        with host.client() as client:
            greeting(client)
        assert host.told("drain_stuck")[0]["silent_s"] == 0.3
        assert host.told("engine_exit")[0]["signal"] == "SIGKILL"


def test_lines_an_engine_has_no_answer_to_do_not_cost_its_model(tmp_path: Path) -> None:
    """An engine that passes over empty lines, and takes STATS for an order."""
    terse = python_engine(tmp_path, KNOWS_ONLY_REQUESTS.format("ERR bad request\\n"))
    with hosted(tmp_path, terse, *IMPATIENT) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"\nSTATS\n\n")
            assert client.stdin is not None
            client.stdin.close()
            assert client.wait(HANGS_AFTER) == 0
        with host.client() as client:
            assert greeting(client)[-1] == "READY 999 stop"
            assert host.status()["engine"]["starts"] == 1
        assert host.events("drain_stuck") == []


def test_an_engine_that_closes_its_output_is_not_taken_for_one_that_serves(tmp_path: Path) -> None:
    mute = """
os.write(1, b"READY 999 stop\\n")
sys.stdin.readline()
os.close(1)
signal.pause()
"""
    with hosted(tmp_path, python_engine(tmp_path, mute), *IMPATIENT, *SOON) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"GEN 9 1,2,3\n")
            assert hear(client) == b""
            assert client.wait(HANGS_AFTER) == 128 + 9
        assert host.told("engine_mute")[0]["silent_s"] == 0.3
        with host.client() as client:
            greeting(client)
            assert host.status()["engine"]["starts"] == 2


def test_the_end_does_not_wait_for_a_client_that_takes_no_lines(tmp_path: Path) -> None:
    talkative = """
import select
os.write(1, b"READY 999 stop\\n")
sys.stdin.readline()
os.set_blocking(1, False)
while select.select([], [1], [], 1)[1]:  # as long as somebody takes them
    os.write(1, b"T 1\\n" * 1000)
os._exit(3)
"""
    engine = python_engine(tmp_path, talkative)
    with (
        hosted(tmp_path, engine, *IMPATIENT, *SOON) as host,
        socket.socket(socket.AF_UNIX) as silent,
    ):
        silent.connect(host.socket)
        silent.sendall(b"SLOTD ATTACH 1\n")
        host.told("client_attached")
        silent.sendall(b"go\n")
        host.told("engine_exit")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0


def test_what_the_engine_has_is_what_it_would_have_had_without_slotd(tmp_path: Path) -> None:
    """Also when it is started again, long after slotd has blocked signals for itself."""
    engine = python_engine(
        tmp_path,
        """
status = dict(line.split(":\\t") for line in open("/proc/self/status") if ":\\t" in line)
said = [status["SigBlk"].strip(), status["SigIgn"].strip(), *sorted(os.listdir("/proc/self/fd"))]
said += sorted(name for name in os.environ if name.split("_")[0] in ("NOTIFY", "LISTEN"))
os.write(1, (" ".join(said) + "\\nREADY 999 stop\\n").encode())
sys.stdin.readline()
""",
    )
    with hosted(tmp_path, engine, *SOON) as host:
        said = []
        for _ in range(2):
            with host.client() as client:
                said += greeting(client)[:1]
                say(client, b"QUIT\n")
                assert client.wait(HANGS_AFTER) == 0
        assert said[0] == said[1]
        assert said[0].split()[0] == "0" * 16
