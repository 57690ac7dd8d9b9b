from pathlib import Path

import pytest

from slotd.sim.serve_requests import ServeSettings
from tests.clients.conversations import People
from tests.clients.levels import LEVELS, Level
from tests.clients.moves import make_every_move
from tests.clients.process import open_client
from tests.clients.reference import read_ledger
from tests.clients.slotd import alarms, behind_slotd, named, read_log

EVERY_LEVEL = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)


@pytest.mark.parametrize(
    ("level", "policy"),
    [*((level, "retention") for level in LEVELS), (LEVELS[0], "off"), (LEVELS[3], "off")],
    ids=lambda value: value.name if isinstance(value, Level) else value,
)
async def test_many_conversations_get_their_exact_tokens(
    level: Level, policy: str, tmp_path: Path
) -> None:
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    engine = level.engine("--eos-every", "300", "--ledger", str(ledger))
    command = behind_slotd(engine, log, "--policy", policy)
    async with open_client(command, level.environment, ServeSettings(long_read=300)) as client:
        played = await People(client, seed=3, eos_every=300).play(people=4, turns=3)
    assert client.process.returncode == 0
    assert played.ended >= 15
    events = read_log(log)
    assert alarms(events) == []
    served = read_ledger(ledger)
    if policy == "retention" and level.slots:
        assert len(named(events, "place")) >= len(served)
    told = named(events, "solo_done") + named(events, "admitted") + named(events, "yielded")
    assert len(told) >= len(served)


@EVERY_LEVEL
async def test_every_move_is_made_and_every_token_is_exact(level: Level, tmp_path: Path) -> None:
    log = tmp_path / "slotd.log"
    settings = ServeSettings(long_read=300, stale_lines=True)
    async with open_client(behind_slotd(level.engine(), log), level.environment, settings) as here:
        await make_every_move(here, level, seed=4)
    assert alarms(read_log(log)) == []


@pytest.mark.parametrize("quit_line", [True, False])
async def test_quit_and_the_end_of_input_end_the_engine_and_slotd(
    quit_line: bool, tmp_path: Path
) -> None:
    level, log = LEVELS[1], tmp_path / "slotd.log"
    command = behind_slotd(level.engine(), log)
    async with open_client(command, level.environment, quit_line=quit_line) as client:
        await client.generate([5, 6, 7], 3)
    assert client.process.returncode == 0
    assert [event["status"] for event in named(read_log(log), "engine_exit")] == [0]
