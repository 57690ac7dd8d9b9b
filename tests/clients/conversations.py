"""Many people's conversations at once, every token checked.

Lives here: what people with agent clients send (a growing transcript, side requests, a transcript
whose end is rewritten, clients that go away, long first reads), and the check that each got the
tokens it must get. Must not live here: engines and pipes (`tests.clients.process`).
"""

import random
from collections.abc import Sequence
from typing import Protocol

import trio
from attrs import define

from tests.clients.client import Client
from tests.clients.reference import TURN, expected_tokens

Tokens = tuple[int, ...]


class Rng(Protocol):
    """What is needed of `random.Random`."""

    def randrange(self, start: int, stop: int) -> int: ...

    def random(self) -> float: ...


def text(rng: Rng, length: int) -> Tokens:
    """Tokens of a text: below the special ones."""
    return tuple(rng.randrange(1000, 200_000) for _ in range(length))


def turn(rng: Rng, length: int) -> Tokens:
    """A user's turn of a length, and the header of the reply to it."""
    return (TURN, *text(rng, length), TURN, 1001, 1002)


@define
class Played:
    """How much was played: requests that ended, and clients that went away."""

    ended: int = 0
    left: int = 0


class People:
    """The people in front of one client; `play` runs them all."""

    def __init__(self, client: Client, seed: int, eos_every: int = 0) -> None:
        self._client = client
        self._seed = seed
        self._eos_every = eos_every
        self._system = text(random.Random(seed), 250)
        self.played = Played()

    async def play(self, people: int, turns: int) -> Played:
        """Play every person's conversation at once; return when the engine is idle again.

        One person's has more turns than the others', so that it is left alone at the end.
        """
        async with trio.open_nursery() as nursery:
            for person in range(people):
                more = turns if person == 0 else 0
                nursery.start_soon(self._converse, person, turns + more)
        await self._client.idle()
        assert self._client.serve.surprises == []
        return self.played

    async def _converse(self, person: int, turns: int) -> None:
        rng = random.Random(f"{self._seed}/{person}")
        long_start = rng.random() < 0.4
        transcript = self._system + text(rng, 2500 if long_start else 40)
        for _ in range(turns):
            transcript += turn(rng, rng.randrange(3, 120))
            kind = rng.random()
            if kind < 0.15:
                await self._leave(transcript, rng.randrange(0, 25))
            elif kind < 0.35:
                await self._beside(transcript, rng)
            elif kind < 0.5:
                await self._classify(transcript, rng)
            elif kind < 0.56:
                await self._ask(transcript, 20, pictures="pictures.bin")
            elif kind < 0.62:
                await self._ask(transcript, 20, cvec=0)
            elif kind < 0.68:
                await self._ask(transcript, 20, keys={"ckpt": "0", "temperature": "0.5"})
            transcript += await self._ask(transcript, rng.randrange(1, 90))
            for _ in range(rng.randrange(0, 4)):
                await trio.lowlevel.checkpoint()

    async def _ask(
        self,
        prompt: Tokens,
        max_new: int,
        keys: dict[str, str] | None = None,
        cvec: int = 1,
        pictures: str | None = None,
    ) -> Tokens:
        """Run one request and check it; return the reply."""
        with self._client.begin(prompt, max_new, keys, cvec, pictures) as stream:
            got = (await stream.result()).tokens
        assert got == expected_tokens(prompt, max_new, self._eos_every)
        self.played.ended += 1
        return got

    async def _leave(self, prompt: Tokens, after: int) -> None:
        """Go away after some tokens (0: at once, whatever the request is doing)."""
        with self._client.begin(prompt, 60) as stream:
            await stream.tokens(after)
        expected = expected_tokens(prompt, 60, self._eos_every)
        assert tuple(stream.got) == expected[: len(stream.got)]
        self.played.left += 1

    async def _beside(self, prompt: Tokens, rng: Rng) -> None:
        """Send side requests while the main one runs."""
        sides: Sequence[Tokens] = [turn(rng, rng.randrange(5, 60)) for _ in range(2)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask, prompt, 70)
            for side in sides:
                nursery.start_soon(self._ask, side, 12)

    async def _classify(self, transcript: Tokens, rng: Rng) -> None:
        """Send the transcript with another end, twice; the end is rewritten in between."""
        closing = turn(rng, 15)
        await self._ask(transcript + closing, 3)
        await self._ask(transcript + text(rng, 30) + closing, 3)
