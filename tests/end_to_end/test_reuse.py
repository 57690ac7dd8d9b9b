"""What the reference engine's ledger says was reused, with and without slotd's decisions."""

import random
from pathlib import Path

import pytest

from tests.clients.conversations import Tokens, text, turn
from tests.clients.levels import ACTIVE_ROWS, GROUPS, clean_environment
from tests.clients.process import open_client
from tests.clients.reference import engine_command, expected_tokens, read_ledger
from tests.clients.slotd import behind_slotd, named, read_log

HELD = 37_359
"""What the main session holds: the prompt and every token of the reply but the last."""

REPLY = 60
ENVIRONMENT = clean_environment() | ACTIVE_ROWS


def conversation(rng: random.Random, held: int) -> Tokens:
    """A prompt of several turns that, with its reply but the last token, has a length."""
    opening = text(rng, held - REPLY + 1 - 3 * 504)
    return opening + turn(rng, 500) + turn(rng, 500) + turn(rng, 500)


@pytest.mark.parametrize(("policy", "least", "most"), [("retention", HELD, HELD), ("off", 0, 0)])
async def test_a_parked_conversations_next_turn_after_a_side_request(
    policy: str, least: int, most: int, tmp_path: Path
) -> None:
    rng = random.Random(37)
    long, side = conversation(rng, HELD), turn(rng, 296)
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    engine = engine_command(*GROUPS, "--ledger", str(ledger))
    command = behind_slotd(engine, log, "--policy", policy)
    async with open_client(command, ENVIRONMENT) as client:
        reply = await client.generate(long, REPLY)
        assert reply == expected_tokens(long, REPLY)
        assert await client.generate(side, 20) == expected_tokens(side, 20)
        following = long + reply + turn(rng, 40)
        assert await client.generate(following, 20) == expected_tokens(following, 20)
    first, beside, last = read_ledger(ledger)
    assert first.prompt + REPLY - 1 == HELD
    assert beside.parked == (HELD if policy == "retention" else None)
    assert least <= last.resumed <= most
    assert [event["tokens"] for event in named(read_log(log), "parked")] == (
        [HELD] if policy == "retention" else []
    )


async def test_two_conversations_taking_turns_keep_their_own_slots(tmp_path: Path) -> None:
    """Each of them is admitted beside a third that decodes all the while."""
    rng = random.Random(38)
    log, ledger = tmp_path / "slotd.log", tmp_path / "ledger.jsonl"
    engine = engine_command(*GROUPS, "--step-ms", "1", "--ledger", str(ledger))
    transcripts = [text(rng, 5000), text(rng, 3000)]
    reused: list[tuple[int, int]] = []
    async with open_client(behind_slotd(engine, log), ENVIRONMENT) as client:
        with client.begin(text(rng, 100), 200_000) as beside:
            await beside.tokens(1)
            for _ in range(3):
                for which, before in enumerate(transcripts):
                    prompt = before + turn(rng, 20)
                    reply = await client.generate(prompt, 10)
                    assert reply == expected_tokens(prompt, 10)
                    transcripts[which] = prompt + reply
                    reused.append((len(before), len(prompt)))
    admitted = [row for row in read_ledger(ledger) if row.prompt in {new for _, new in reused}]
    # The first turns read everything; each later one all but the last reply token and its own.
    assert [row.resumed for row in admitted] == [0, 0] + [before - 1 for before, _ in reused[2:]]
