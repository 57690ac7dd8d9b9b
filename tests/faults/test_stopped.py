"""Sides that stand still for a while: the other one waits, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import trio

from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command, expected_tokens
from tests.clients.slotd import behind_slotd, named, read_log
from tests.faults.conversation import ENGINE, ENVIRONMENT, ids
from tests.faults.talk import HANGS_AFTER, Talk, check_tokens, talking

LONG = ids(*range(5000, 5100))
OTHER = ids(*range(7000, 7040))
STANDS_STILL_S = 1.5
PIPES = 400_000
"""More bytes than both pipes from the engine to the client, and what slotd holds, have room for."""


async def test_a_client_that_does_not_read_can_still_stop_what_runs(tmp_path: Path) -> None:
    """Two slots decode and a solo request runs when it stops reading; then it sends its stops."""
    log, errors = tmp_path / "log", tmp_path / "errors"
    engine = engine_command(*ENGINE)
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.until(b"READY")
        for slot in (b"0", b"1"):
            await talk.say(b"BGEN " + slot + b" 200000 " + LONG + b"," + slot + b"\n")
            await talk.until(b"BADM " + slot + b" 1")
        await talk.say(b"GEN 200000 " + OTHER + b"\n")
        await talk.until(b"T ")
        await trio.sleep(STANDS_STILL_S)
        await talk.say(b"STOP\nBSTOP 0\nBSTOP 1\n")
        await trio.sleep(STANDS_STILL_S)
        await talk.until(b"DONE", b"BDONE 0", b"BDONE 1")
        # What runs was held up by the pipes, and then it was stopped: no more came than they hold.
        counts = talk.check_tokens()
        assert max(counts) < PIPES // 3
        assert min(counts) >= 1
        # slotd knows what the stopped requests have left: the first one goes on from all of it.
        prompt = [*map(int, LONG.split(b",")), 0]
        goes_on = [*prompt, *expected_tokens(prompt, counts[0])]
        await talk.say(b"BGEN 3 2 " + ids(*goes_on) + b"\n")
        await talk.until(b"BADM 3 1", b"BDONE 3")
        assert talk.check_tokens() == [*counts, 2]
        assert await talk.end() == 0
    events = read_log(log)
    assert named(events, "drift") == []
    assert named(events, "place")[-1]["reason"] == "continue"
    assert named(events, "place")[-1]["hint"] == len(goes_on) - 1
    assert named(events, "admitted")[-1]["reused"] == len(goes_on) - 1
    finishes = [event["finish"] for event in named(events, "slot_done")]
    assert finishes == ["cancel", "cancel", "length"]
    assert named(events, "solo_done")[0]["finish"] == "cancel"
    assert "Traceback" not in errors.read_text()


async def test_an_engine_that_is_stopped_and_goes_on(tmp_path: Path) -> None:
    log, errors = tmp_path / "log", tmp_path / "errors"
    engine = engine_command(*ENGINE, "--step-ms", "2")
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.until(b"READY")
        pid = engine_of(talk.process.pid)
        await talk.say(b"BGEN 0 100 " + LONG + b"\n")
        await talk.until(b"BT 0")
        os.kill(pid, signal.SIGSTOP)
        await talk.say(b"BGEN 1 9 " + OTHER + b"\nBGEN 2 9 " + LONG + b",7,8\n")
        await trio.sleep(STANDS_STILL_S)
        os.kill(pid, signal.SIGCONT)
        await talk.until(b"BADM 1 1", b"BADM 2 1", b"BDONE 0", b"BDONE 1", b"BDONE 2")
        assert talk.check_tokens() == [100, 9, 9]
        assert await talk.end() == 0
    assert named(read_log(log), "drift") == []
    assert errors.read_text() == ""


def engine_of(slotd: int) -> int:
    """The process id of the engine, slotd's only child."""
    return int(Path(f"/proc/{slotd}/task/{slotd}/children").read_text())


CLIENT = """
import os, sys
requests, wanted = sys.argv[1].encode().decode("unicode_escape"), int(sys.argv[2])
os.write(1, requests.encode())
for line in sys.stdin.buffer:
    os.write(2, line)
    wanted -= line.startswith(b"BDONE")
    if not wanted:
        break
os.close(1)
for line in sys.stdin.buffer:
    os.write(2, line)
"""


def test_a_client_that_is_stopped_and_goes_on(tmp_path: Path) -> None:
    """A client in a process of its own, which says on its standard error what it hears."""
    said = b"BGEN 0 30000 " + LONG + b"\nBGEN 1 20000 " + OTHER + b"\n"
    heard, log = tmp_path / "heard", tmp_path / "log"
    to_engine, from_engine = os.pipe(), os.pipe()
    script = [sys.executable, "-c", CLIENT, said.decode().replace("\n", "\\n"), "2"]
    with heard.open("wb") as transcript:
        client = subprocess.Popen(
            script, stdin=from_engine[0], stdout=to_engine[1], stderr=transcript
        )
    slotd = subprocess.Popen(
        behind_slotd(engine_command(*ENGINE), log),
        stdin=to_engine[0],
        stdout=from_engine[1],
        env=clean_environment(),
    )
    for end in (*to_engine, *from_engine):
        os.close(end)
    try:
        until = time.monotonic() + HANGS_AFTER
        while b"BT 1" not in heard.read_bytes():
            assert time.monotonic() < until
            time.sleep(0.01)
        client.send_signal(signal.SIGSTOP)
        time.sleep(STANDS_STILL_S)
        client.send_signal(signal.SIGCONT)
        assert (slotd.wait(HANGS_AFTER), client.wait(HANGS_AFTER)) == (0, 0)
    finally:
        for process in (client, slotd):
            process.kill()
            process.wait()
    assert check_tokens(said, heard.read_bytes()) == [30000, 20000]
    assert named(read_log(log), "drift") == []


async def test_an_engine_that_stalls_for_good_ends_when_slotd_is_asked_to(tmp_path: Path) -> None:
    log, errors = tmp_path / "log", tmp_path / "errors"
    engine = engine_command(*ENGINE, "--stall-after", "14")
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.until(b"READY")
        await talk.say(b"BGEN 0 4 " + LONG + b"\nBGEN 1 20 " + OTHER + b"\n")
        await talk.until(b"BADM 0 1")
        # It goes on listening, and nothing it is told moves it.
        await talk.say(b"STOP\nBSTOP 0\n")
        with trio.move_on_after(STANDS_STILL_S):
            await _hear_all(talk)
        assert talk.process.returncode is None
        talk.process.send_signal(signal.SIGTERM)
        assert await talk.end() == 128 + signal.SIGTERM
        talk.check_tokens()
    assert named(read_log(log), "engine_exit")[0]["signal"] == "SIGTERM"
    assert errors.read_text() == ""


async def _hear_all(talk: Talk) -> None:
    while True:
        await talk.hear()
