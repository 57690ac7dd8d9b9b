from pathlib import Path

import pytest

from slotd.sim.serve_requests import ServeSettings
from tests.clients.client import EngineFailedError
from tests.clients.conversations import People
from tests.clients.levels import LEVELS, Level
from tests.clients.moves import make_every_move
from tests.clients.process import open_client
from tests.clients.reference import expected_tokens, read_ledger

EVERY_LEVEL = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)


@EVERY_LEVEL
async def test_many_conversations_get_their_exact_tokens(level: Level, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    command = level.engine("--eos-every", "300", "--ledger", str(ledger))
    async with open_client(command, level.environment, ServeSettings(long_read=300)) as client:
        played = await People(client, seed=1, eos_every=300).play(people=4, turns=3)
    assert client.process.returncode == 0
    assert played.ended >= 15
    assert len(read_ledger(ledger)) >= played.ended


@EVERY_LEVEL
async def test_every_move_is_made_and_every_token_is_exact(level: Level) -> None:
    settings = ServeSettings(long_read=300, stale_lines=True)
    async with open_client(level.engine(), level.environment, settings) as client:
        await make_every_move(client, level, seed=2)


async def test_the_end_of_stdin_alone_ends_the_engine_too() -> None:
    level = LEVELS[1]
    async with open_client(level.engine(), level.environment, quit_line=False) as client:
        assert await client.generate([5, 6, 7], 3) == expected_tokens([5, 6, 7], 3)
    assert client.process.returncode == 0


async def test_a_refused_request_says_why_and_disturbs_no_other() -> None:
    level = LEVELS[1]
    async with open_client(level.engine(), level.environment) as client:
        other = client.begin([1, 2, 3], 50)
        refused = client.begin([999_999], 5)
        with pytest.raises(EngineFailedError, match="outside the vocabulary"):
            await refused.result()
        assert (await other.result()).tokens == expected_tokens([1, 2, 3], 50)


async def test_an_engine_that_dies_fails_every_request() -> None:
    level = LEVELS[1]
    command = level.engine("--die-after", "20")
    async with open_client(command, level.environment) as client:
        streams = [client.begin([1, 2, number], 50) for number in range(3)]
        for stream in streams:
            with pytest.raises(EngineFailedError, match="the engine has ended"):
                await stream.result()
    assert client.process.returncode == 1
