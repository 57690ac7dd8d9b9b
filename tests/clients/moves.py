"""Making the serve process make every move it can: promotion, yield, return.

Lives here: a round of two conversations that meet in all the ways, repeated until each move has
been seen, so that no test hangs on how fast the machine is.
"""

import random

from tests.clients.client import Client, Stream
from tests.clients.conversations import Tokens, text
from tests.clients.levels import Level
from tests.clients.reference import expected_tokens

MAX_ROUNDS = 60


def missing_moves(client: Client, level: Level) -> list[str]:
    """The moves possible at this level that were not made yet."""
    counts = client.serve.counts
    wanted = {
        "promoted": (level.promotes, counts.promoted),
        "yielded": (level.yields, counts.yielded),
        "returned": (level.returns, counts.returned),
    }
    return [name for name, (possible, times) in wanted.items() if possible and not times]


async def make_every_move(client: Client, level: Level, seed: int) -> None:
    """Play rounds until every possible move was made; check every token."""
    rng = random.Random(seed)
    for _ in range(MAX_ROUNDS):
        if not missing_moves(client, level):
            break
        long, short, other = text(rng, 4000), text(rng, 60), text(rng, 50)
        alone = client.begin(other, 150)
        await alone.tokens(3)
        await _check(client.begin(short, 10), short, 10)
        await _check(alone, other, 150)
        reader = client.begin(long, 60)
        await _check(client.begin(short, 10), short, 10)
        await _check(reader, long, 60)
    assert missing_moves(client, level) == []
    await client.idle()
    assert client.serve.surprises == []


async def _check(stream: Stream, prompt: Tokens, max_new: int) -> None:
    assert (await stream.result()).tokens == expected_tokens(prompt, max_new)
