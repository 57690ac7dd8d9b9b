"""A client killed in the middle of anything: the engine stays, and the next client is in step."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import Process, say
from tests.host.hosting import (
    KEPT,
    SIMULATED,
    Host,
    check_in_step,
    conversation,
    engine_pid,
    greeting,
    hear_until,
    hosted,
    prompt_text,
    reference,
)

Scene = Callable[[Process], None]

_begins = itertools.count(90_000)


def long() -> list[int]:
    """Return a second of reading, in chunks, that no scene has had before."""
    return [next(_begins), *range(5000, 25000)]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One host for all scenes: each leaves it to the next as it must for any client."""
    with hosted(tmp_path_factory.mktemp("host"), reference()) as host:
        yield host


def nothing(client: Process) -> None:
    """It has asked for nothing."""


def solo_read(client: Process) -> None:
    say(client, f"GEN 9 {prompt_text(long())}\n".encode())
    hear_until(client, "PP")


def solo_reply(client: Process) -> None:
    say(client, b"GEN 100000 1,2,3\n")
    hear_until(client, "T ")


def admission(client: Process) -> None:
    say(client, f"BGEN 1 9 {prompt_text(long())}\n".encode())
    hear_until(client, "PP")


def decoding(client: Process) -> None:
    for slot in (0, 1):
        say(client, f"BGEN {slot} 100000 {slot + 1},2,3\n".encode())
        hear_until(client, f"BT {slot} ")


def decoding_beside_a_read(client: Process) -> None:
    say(client, b"BGEN 0 100000 1,2,3\n")
    hear_until(client, "BT 0 ")
    admission(client)


def reading_that_gives_way(client: Process) -> None:
    admission(client)
    say(client, b"BYIELD 1\n")


def read_that_gave_way(client: Process) -> None:
    reading_that_gives_way(client)
    hear_until(client, "BADM 1 0")


def several_on_their_way(client: Process) -> None:
    admission(client)
    say(client, b"GEN 9 1,2,3\nVRAM 100\nGEN 100000 4,5,6\n")


def parking(client: Process) -> None:
    """What it leaves in the main session is parked, by slotd itself if need be, when it goes."""
    say(client, f"GEN 2 {prompt_text(long()[:4000])}\n".encode())
    hear_until(client, "DONE")
    say(client, b"BGEN 1 99999 4,5,6\n")


def unfinished_line(client: Process) -> None:
    say(client, b"GEN 5 1,2,3\nBGEN 0 5 1,2,")
    hear_until(client, "DONE")


SCENES = (
    nothing,
    solo_read,
    solo_reply,
    admission,
    decoding,
    decoding_beside_a_read,
    reading_that_gives_way,
    read_that_gave_way,
    several_on_their_way,
    parking,
    unfinished_line,
)


@pytest.mark.parametrize("scene", SCENES)
def test_the_next_client_is_in_step_after_a_kill(host: Host, scene: Scene) -> None:
    with host.client() as client:
        greeting(client)
        history = conversation(client, 2, KEPT)
        before = engine_pid(host)
        scene(client)
        client.kill()
    with host.client() as client:
        check_in_step(client, history)
        assert engine_pid(host) == before
        assert host.status()["engine"]["starts"] == 1
    assert host.events("error") == []
    assert host.events("drift") == []


@pytest.mark.parametrize("seen", ["place", "park", "parked"])
def test_a_park_of_slotds_own_comes_to_its_end_without_the_client(
    seen: str, tmp_path: Path
) -> None:
    with hosted(tmp_path, reference("--copy-ms-per-1k", "50"), "--park", "emulated") as host:
        with host.client() as client:
            greeting(client)
            history = conversation(client, 2, KEPT)
            parking(client)
            host.told(seen)
            client.kill()
        with host.client() as client:
            check_in_step(client, history)
        assert host.told("park")[0]["how"] == "emulated"
        assert host.told("parked")[0]["tokens"] == 4002
        assert host.events("error") == []
        assert host.events("drift") == []


def test_the_end_of_a_clients_input_is_its_going(host: Host) -> None:
    with host.client() as client:
        greeting(client)
        decoding(client)
        assert client.stdin is not None
        client.stdin.close()
        lines = hear_until(client, "BDONE")
        lines += hear_until(client, "BDONE")
        assert {line.split()[1] for line in lines if line.startswith("BDONE")} == {"0", "1"}
        assert client.wait() == 0


def test_a_client_that_reads_no_more_has_gone(host: Host) -> None:
    with host.client() as client:
        greeting(client)
        decoding(client)
        assert client.stdout is not None
        client.stdout.close()
        assert client.wait() == 128 + 13
    with host.client() as client:
        greeting(client)


def test_many_clients_in_a_row_each_find_the_conversation(host: Host) -> None:
    history: list[int] = KEPT
    for turn in range(4):
        with host.client() as client:
            greeting(client)
            history = conversation(client, turn % 3, [*history, 50 + turn])
            decoding(client)
            client.kill()
    with host.client() as client:
        check_in_step(client, history)


@pytest.mark.parametrize("left", [b"GENG1 40\nroot ::= ", b"GENG1 4\nroot\n"])
def test_a_frame_left_behind_is_nobodys(tmp_path: Path, left: bytes) -> None:
    engine = [*SIMULATED, "--batch", "3", "--frames", "--speeds", "instant"]
    with hosted(tmp_path, engine) as host:
        with host.client() as client:
            greeting(client)
            history = conversation(client, 1, KEPT)
            say(client, left)
            say_something_seen(client, host)
            client.kill()
        with host.client() as client:
            check_in_step(client, history)
        assert host.events("error") == []


def say_something_seen(client: Process, host: Host) -> None:
    """See to it that what was written before has arrived: all of it comes with the client's end."""
    assert client.stdin is not None
    client.stdin.close()
    host.told("client_gone")
