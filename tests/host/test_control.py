"""The control socket: what the status says, and that nobody who asks is a burden."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command, expected_tokens
from tests.clients.slotd import SLOTD
from tests.daemon.processes import HANGS_AFTER, Process, behind_slotd, hear, outcome, say, started
from tests.host.hosting import (
    KEPT,
    Host,
    conversation,
    greeting,
    hear_until,
    hosted,
    reference,
    run_solo,
    wait_until,
)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with hosted(tmp_path, reference()) as host:
        yield host


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host for those who only look."""
    with hosted(tmp_path_factory.mktemp("host"), reference()) as host:
        host.status()  # it answers, from here on within what the commands wait for
        yield host


@pytest.fixture
def client(host: Host) -> Iterator[Process]:
    with host.client() as client:
        greeting(client)
        yield client


def test_it_says_what_is_held_and_what_runs(host: Host, client: Process) -> None:
    held = len(conversation(client, 0, KEPT))
    say(client, b"BGEN 1 99999 1,2,3\n")
    hear_until(client, "BT 1")
    say(client, b"GEN 99999 1,2,3\n")
    hear_until(client, "T ")
    status = host.status()
    assert set(status) == {
        "slotd",
        "engine",
        "client",
        "slots",
        "main",
        "in_flight",
        "settings",
        "counters",
        "latency",
        "events",
    }
    assert status["slotd"]["mode"] == "host"
    assert status["slotd"]["pid"] == host.process.pid
    assert status["slotd"]["socket"] == host.socket
    engine = status["engine"]
    assert (engine["state"], engine["starts"]) == ("serving", 1)
    assert engine["capabilities"]["batch_slots"] == 3
    assert status["client"]["attached"] is True
    assert status["client"]["since_s"] >= 0
    slots = {slot["client_slot"]: slot for slot in status["slots"]}
    assert (slots[0]["state"], slots[0]["tokens"]) == ("idle", held)
    assert slots[1]["state"] == "decoding"
    assert [request["verb"] for request in status["in_flight"]] == ["GEN"]
    assert status["settings"]["ttl_max_s"] == 120
    assert status["counters"]["requests"] == 3
    assert sum(status["counters"]["placements"].values()) == 3
    assert status["counters"]["read_tokens"] >= len(KEPT)
    latency = status["latency"]
    assert latency["buckets"]["+Inf"] == latency["count"] > 0
    assert latency["sum_s"] > 0
    named = [event["event"] for event in status["events"]]
    assert named[:2] == ["engine_start", "settings"]
    assert {"client_attached", "place", "admitted", "slot_done"} <= set(named)


def test_no_event_in_it_holds_tokens(host: Host, client: Process) -> None:
    run_solo(client, [777_77, 888_88, 999_99], 3)
    text = json.dumps(host.status())
    assert "77777" not in text
    assert str(expected_tokens([777_77, 888_88, 999_99], 3)[0]) not in text


def test_the_last_events_are_kept_and_no_more(host: Host, client: Process) -> None:
    for _ in range(60):
        run_solo(client, [1, 2, 3], 1)
    events = wait_until(
        lambda: (told := host.status()["events"])[-1]["event"] == "solo_done" and told
    )
    assert len(events) == 96
    assert "engine_start" not in [event["event"] for event in events]


def test_the_command_prints_it_for_programs_and_people(looked_at: Host) -> None:
    with looked_at.client() as client:
        greeting(client)
        conversation(client, 0, [1, 2, 3])
    command = [*SLOTD, "status", "--control", looked_at.control]
    status, out, err = outcome([*command, "--json"])
    assert (status, err) == (0, b"")
    assert json.loads(out)["slotd"]["pid"] == looked_at.process.pid
    status, out, err = outcome(command)
    assert (status, err) == (0, b"")
    assert b"serving" in out
    assert b"\x1b" not in out
    environment = clean_environment() | {"SLOTD_SOCKET": looked_at.socket}
    assert outcome([*SLOTD, "status"], env=environment)[0] == 0


def test_where_nobody_answers_it_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.sock"
    status, out, err = outcome([*SLOTD, "status", "--control", str(path)])
    assert (status, out) == (1, b"")
    assert err.decode().startswith(f"slotd: socket {path}: nobody listens there: ")
    assert err.count(b"\n") == 1


def test_mistakes_in_other_settings_do_not_keep_it_from_looking(looked_at: Host) -> None:
    settings = looked_at.directory / "slotd.toml"
    settings.write_text(f"[host]\nsocket = '{looked_at.socket}'\n[policy]\nttl_max_s = -1\n")
    environment = clean_environment() | {"SLOTD_CONFIG": str(settings)}
    status, out, err = outcome([*SLOTD, "status"], env=environment)
    assert (status, err) == (0, b"")
    assert b"serving" in out


def test_a_file_that_cannot_be_read_is_told_and_the_usual_socket_asked(looked_at: Host) -> None:
    settings = looked_at.directory / "slotd.toml"
    settings.write_text("[policy\n")
    environment = clean_environment() | {"SLOTD_CONFIG": str(settings)}
    environment |= {"SLOTD_SOCKET": looked_at.socket}
    status, out, err = outcome([*SLOTD, "status"], env=environment)
    first, second = err.decode().splitlines()
    assert status == 0
    assert b"serving" in out
    assert first.startswith(f"slotd: {settings}: is not valid TOML: ")
    assert second == f"slotd: asking {looked_at.control} (another: --control SOCKET)"


def asked(path: str, question: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(HANGS_AFTER)
        asking.connect(path)
        asking.sendall(question)
        return asking.makefile("rb").read()


@pytest.mark.parametrize(
    "question",
    [b"status\n", b'{"ask":"QUIT"}\n', b"[" * 500 + b"\n", b"x" * 1024, b"\xff\n", b"[]\n"],
)
def test_another_question_is_answered_with_the_right_one(looked_at: Host, question: bytes) -> None:
    assert asked(looked_at.control, question).startswith(b'{"error":"ask for the status')
    assert looked_at.status()["engine"]["state"]


def test_those_who_say_nothing_or_read_nothing_hold_up_nobody(host: Host, client: Process) -> None:
    with ExitStack() as crowd:
        for number in range(40):
            idle = crowd.enter_context(socket.socket(socket.AF_UNIX))
            idle.connect(host.control)
            if number % 2:
                idle.sendall(b'{"ask":"status"}\n')
        assert tuple(run_solo(client, [1, 2, 3], 20)[1]) == expected_tokens([1, 2, 3], 20)
        # Those before have their time; then it is this one's turn.
        assert json.loads(asked(host.control, b'{"ask":"status"}\n'))["client"]["attached"]


def test_a_run_has_one_when_it_is_set(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    options = ("--set", f"host.control_socket={path}", "--log-file", str(tmp_path / "log"))
    command = behind_slotd(engine_command("--batch", "2"), *options)
    with started(command, env=clean_environment()) as slotd:
        while not hear(slotd).startswith(b"READY"):
            pass
        status = Host(slotd, tmp_path).status()
        assert (status["slotd"]["mode"], status["engine"]["state"]) == ("run", "serving")
        assert status["slotd"]["pid"] == slotd.pid
        say(slotd, b"QUIT\n")
        assert slotd.wait(HANGS_AFTER) == 0
    assert not path.exists()


def test_a_run_without_it_has_none(tmp_path: Path) -> None:
    with started(behind_slotd(engine_command()), env=clean_environment(), cwd=tmp_path) as slotd:
        assert hear(slotd).startswith(b"INFO")
        assert list(tmp_path.iterdir()) == []
