"""`slotd run --park emulated` in front of the reference engine, which has no `park=` here."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from slotd.sim.serve_requests import ServeSettings
from tests.clients.client import Client, EngineFailedError
from tests.clients.conversations import People, Tokens, text, turn
from tests.clients.levels import PACE, clean_environment
from tests.clients.process import open_client
from tests.clients.reference import TURN, engine_command, expected_tokens, read_ledger
from tests.clients.slotd import alarms, behind_slotd, named, read_log

ENGINES = {
    "batch": ("--batch", "4"),
    "pad rows": ("--batch", "6", "--batch-groups", "3"),
}
EVERY_ENGINE = pytest.mark.parametrize("engine", ENGINES)

HELD = 37_359
"""What the main session holds: the prompt and every token of the reply but the last."""
REPLY = 358
HEADER = 3
"""Tokens from the last turn's begin to the reply."""
BEFORE = HELD - (REPLY - 1) - HEADER
"""Tokens before the last turn: what the slot gives back whatever comes after the reply."""


def conversation(rng: random.Random) -> Tokens:
    """A prompt of several turns whose last one begins after `BEFORE` tokens."""
    opening = text(rng, BEFORE - 3 * 301)
    turns = [(TURN, *text(rng, 300)) for _ in range(3)]
    return opening + sum(turns, ()) + (TURN, 1001, 1002)


@EVERY_ENGINE
@pytest.mark.parametrize("park", ["emulated", "auto"])
async def test_the_conversations_next_turn_after_a_side_request(
    engine: str, park: str, tmp_path: Path
) -> None:
    rng = random.Random(37)
    long, side = conversation(rng), turn(rng, 296)
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    command = engine_command(*ENGINES[engine], "--ledger", str(ledger))
    command = behind_slotd(command, log, "--park", park)
    async with open_client(command, clean_environment()) as client:
        reply = await client.generate(long, REPLY)
        assert reply == expected_tokens(long, REPLY)
        assert await client.generate(side, 20) == expected_tokens(side, 20)
        following = long + reply + turn(rng, 40)
        assert await client.generate(following, 20) == expected_tokens(following, 20)
    rows = read_ledger(ledger)
    first, last = rows[0], rows[-1]
    assert first.prompt + REPLY - 1 == HELD
    events = read_log(log)
    assert alarms(events) == []
    if park == "auto":
        assert len(rows) == 3
        assert last.resumed == 0
        return
    own = rows[1]
    assert (own.verb, own.prompt, own.resumed, own.how) == ("BGEN", HELD + 1, HELD, "main")
    assert last.resumed == BEFORE == 36_999
    assert [event["how"] for event in named(events, "park")] == ["emulated"]
    assert [event["tokens"] for event in named(events, "parked")] == [HELD + 1]
    assert [event["tokens"] for event in named(events, "park_saved")] == [BEFORE]


@EVERY_ENGINE
async def test_the_next_turn_reuses_all_of_it_where_it_holds_the_engines_token(
    engine: str, tmp_path: Path
) -> None:
    """As after an end token, when the model puts what the client's template puts there."""
    rng = random.Random(38)
    long, side = conversation(rng), turn(rng, 296)
    ledger = tmp_path / "ledger.jsonl"
    command = engine_command(*ENGINES[engine], "--ledger", str(ledger))
    command = behind_slotd(command, tmp_path / "slotd.log", "--park", "emulated")
    async with open_client(command, clean_environment()) as client:
        reply = await client.generate(long, REPLY)
        await client.generate(side, 20)
        following = long + expected_tokens(long, REPLY + 1) + turn(rng, 40)
        assert await client.generate(following, 20) == expected_tokens(following, 20)
    assert len(reply) == REPLY
    assert read_ledger(ledger)[-1].resumed == HELD + 2


@EVERY_ENGINE
@pytest.mark.parametrize("more", [(), ("pad_rows=low", f"turn_token={TURN}")])
async def test_many_conversations_at_once_get_their_exact_tokens(
    engine: str, more: Sequence[str], tmp_path: Path
) -> None:
    """After each of its turns a long conversation is parked, and then the others come."""
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    options = (*PACE, *ENGINES[engine], "--copy-ms-per-1k", "5", "--ledger", str(ledger))
    set_too = [word for each in more for word in ("--set", f"slotd.{each}")]
    command = behind_slotd(engine_command(*options), log, "--park", "emulated", *set_too)
    rng = random.Random(39)
    transcript = text(rng, 6000)
    async with open_client(command, clean_environment(), ServeSettings(long_read=300)) as client:
        for seed in range(3):
            transcript += turn(rng, 150)
            reply = await client.generate(transcript, 40)
            assert reply == expected_tokens(transcript, 40)
            transcript += reply
            await People(client, seed).play(people=4, turns=1)
    assert client.process.returncode == 0
    events = read_log(log)
    assert alarms(events) == []
    assert len(named(events, "parked")) >= 3
    served = named(events, "solo_done") + named(events, "admitted") + named(events, "yielded")
    assert len(served) + len(named(events, "parked")) >= len(read_ledger(ledger))


@EVERY_ENGINE
async def test_clients_that_leave_in_the_middle_of_a_park(engine: str, tmp_path: Path) -> None:
    """The copy takes 40 ms; each side request's client goes away a little later into it."""
    rng = random.Random(40)
    log = tmp_path / "slotd.log"
    options = (*ENGINES[engine], "--copy-ms-per-1k", "10", "--step-ms", "2", "--chunk", "64")
    options = (*options, "--read-tok-s", "100000")
    command = behind_slotd(engine_command(*options), log, "--park", "emulated")
    transcript = text(rng, 4000) + turn(rng, 30)
    async with open_client(command, clean_environment()) as client:
        for moment in range(12):
            reply = await client.generate(transcript, 30)
            assert reply == expected_tokens(transcript, 30)
            transcript += reply + turn(rng, 100)
            side = turn(rng, 200)
            with client.begin(side, 500) as stream:
                with trio.move_on_after(moment * 0.005):
                    await stream.result()
            assert tuple(stream.got) == expected_tokens(side, 500)[: len(stream.got)]
        await client.idle()
        assert client.serve.surprises == []
    assert client.process.returncode == 0
    events = read_log(log)
    assert alarms(events) == []
    assert len(named(events, "parked")) >= 6


@pytest.mark.parametrize("line", [b"", b"QUIT\n"])
async def test_the_serve_process_leaves_in_the_middle_of_a_park(
    line: bytes, tmp_path: Path
) -> None:
    """Everything it had asked for is carried out, then the engine ends and slotd with it."""
    rng = random.Random(41)
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    options = ("--batch", "4", "--copy-ms-per-1k", "50", "--ledger", str(ledger))
    command = behind_slotd(engine_command(*options), log, "--park", "emulated")
    long, side = text(rng, 4000), turn(rng, 20)
    async with open_client(command, clean_environment(), quit_line=bool(line)) as client:
        await client.generate(long, 5)
        stream = client.begin(side, 5)
        await trio.sleep(0.05)
    assert client.process.returncode == 0
    assert stream.end is not None
    assert stream.end.tokens == expected_tokens(side, 5)
    assert [row.prompt for row in read_ledger(ledger)] == [4000, 4005, len(side)]
    assert alarms(read_log(log)) == []


async def _turns(client: Client, long: Tokens, side: Tokens) -> None:
    """Ask for more than the engine will print."""
    await client.generate(long, 1)
    for _ in range(20):
        await client.generate(side, 5)


@pytest.mark.parametrize("printed", range(9, 20, 2))
async def test_an_engine_that_dies_in_the_middle_of_a_park(printed: int, tmp_path: Path) -> None:
    """Nothing of slotd's own request is heard; the client sees its request fail, then the end."""
    rng = random.Random(42)
    options = ("--batch", "4", "--die-after", str(printed))
    command = behind_slotd(engine_command(*options), tmp_path / "log", "--park", "emulated")
    long, side = text(rng, 1500) + turn(rng, 1500), turn(rng, 20)
    async with open_client(command, clean_environment()) as client:
        with pytest.raises(EngineFailedError):
            await _turns(client, long, side)
    assert client.serve.surprises == []
    assert client.process.returncode == 1
