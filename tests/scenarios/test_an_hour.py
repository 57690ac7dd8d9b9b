"""An hour of two people with agents, through the daemon's relay, on a clock the test holds.

The serve process, the relay with the sidecar, and the simulated engine are trio tasks joined by
memory streams, under a `MockClock` that jumps. In which order trio runs tasks that are ready at the
same time is drawn anew in every run; the bytes and the log must not depend on it.
"""

import random
from collections.abc import Sequence
from typing import Literal

import trio
from attrs import Factory, define, evolve, frozen
from trio.testing import MockClock

from protocol.tokens import TokenIds
from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.sim.engine import SimEngine
from slotd.sim.serve_requests import Counts
from slotd.sim.timing import SOLO_TOK_S, Timing
from slotd.sim.token_model import HashModel
from tests.clients.virtual import VirtualClient, open_virtual
from tests.scenarios.conversations import Classifier, Conversation, Writer
from tests.scenarios.stage import CHECKPOINTS

HOUR_S = 3600
ENGINE = evolve(
    CHECKPOINTS,
    drafts_offered=3,
    drafts_accepted=(2, 1, 3),
    # A step gives three tokens on average, at the published speed.
    timing=Timing(solo_step_ms=3000 / SOLO_TOK_S),
)
Way = Literal["client to slotd", "slotd to engine", "engine to slotd", "slotd to client"]


class Recorded(Sidecar):
    """A sidecar that keeps all bytes of the four ways through it."""

    def __init__(self) -> None:
        super().__init__(SidecarSettings())
        ways: Sequence[Way] = (
            "client to slotd",
            "slotd to engine",
            "engine to slotd",
            "slotd to client",
        )
        self.bytes = {way: bytearray() for way in ways}

    def from_client(self, data: bytes, now: float) -> Output:
        """Take bytes the client wrote."""
        self.bytes["client to slotd"] += data
        return self._kept(super().from_client(data, now))

    def from_engine(self, data: bytes, now: float) -> Output:
        """Take bytes the engine wrote."""
        self.bytes["engine to slotd"] += data
        return self._kept(super().from_engine(data, now))

    def _kept(self, output: Output) -> Output:
        self.bytes["slotd to engine"] += b"".join(output.to_engine)
        self.bytes["slotd to client"] += b"".join(output.to_client)
        return output


@frozen
class Hour:
    """All there is to compare of one hour."""

    bytes: dict[Way, bytearray]
    events: list[tuple[float, Event]]
    counts: Counts
    asked: int
    left: int
    seconds: float


@define(eq=False)
class Town:
    """What the people share: the client, the system prompt, and the count of what they did."""

    client: VirtualClient
    system: TokenIds
    model: HashModel = Factory(HashModel)
    asked: int = 0
    left: int = 0

    async def ask(self, prompt: TokenIds, max_new: int) -> tuple[int, ...]:
        """Run one request to its end and check every token."""
        got = await self.client.generate(prompt.tolist(), max_new)
        assert list(got) == self.model.reply(prompt, max_new)
        self.asked += 1
        return got

    async def leave(self, prompt: TokenIds, after: float) -> None:
        """Go away some seconds after asking."""
        with self.client.begin(prompt.tolist(), 400):
            await trio.sleep(after)
        self.left += 1


@define(eq=False)
class Worker:
    """One person with an agent, a classifier that checks its steps, and side requests."""

    town: Town
    chance: random.Random
    writer: Writer

    async def work(self) -> None:
        """Work until the hour is over, one session after another."""
        await trio.sleep(self.chance.uniform(0, 30))
        while trio.current_time() < HOUR_S:
            await self.session()

    async def session(self) -> None:
        """Ask, let the agent take its steps, read; several times."""
        agent = Conversation(self.writer, self.town.system)
        agent.say(self.chance.randrange(3_000, 7_000))
        checked = Classifier(self.writer)
        length = self.chance.randrange(6_000, 8_000)
        for _ in range(self.chance.randrange(4, 7)):
            for step in range(self.chance.randrange(2, 4)):
                agent.hear(await self.town.ask(agent.told, self.chance.randrange(15, 60)))
                length += self.chance.randrange(200, 400)
                await self.town.ask(checked.query(length), 6)
                await trio.sleep(self.chance.uniform(1, 12))
                agent.say(self.chance.randrange(100, 1_500))
                if step == 1:
                    await self.beside(agent)
            await trio.sleep(self.chance.uniform(60, 300))
            if trio.current_time() > HOUR_S:
                return

    async def beside(self, agent: Conversation) -> None:
        """Send side requests while the agent answers, or change one's mind and ask again."""
        if self.chance.random() < 0.3:
            await self.town.leave(agent.told, self.chance.uniform(0.2, 4))
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.town.ask, agent.told, 60)
            await trio.sleep(self.chance.uniform(0.1, 1))
            nursery.start_soon(self.town.ask, Conversation(self.writer).say(300), 24)


async def an_hour(seed: int) -> Hour:
    """Let two people work for an hour."""
    sidecar, engine = Recorded(), SimEngine(ENGINE)
    async with open_virtual(engine, sidecar) as client:
        town = Town(client, Writer(seed).text(3_000))
        async with trio.open_nursery() as nursery:
            for person in range(2):
                chance = random.Random(f"{seed}/{person}")
                worker = Worker(town, chance, Writer(chance.randrange(1 << 32)))
                nursery.start_soon(worker.work)
        await client.idle()
        assert client.serve.surprises == []
    assert engine.ended
    return Hour(
        sidecar.bytes,
        client.events,
        client.serve.counts,
        town.asked,
        town.left,
        trio.current_time(),
    )


def run(seed: int) -> Hour:
    """Run an hour on a clock of its own."""
    return trio.run(an_hour, seed, clock=MockClock(autojump_threshold=0))


def test_same_seed_gives_the_same_hour_to_the_byte() -> None:
    first, second = run(seed=2), run(seed=2)
    assert first.bytes == second.bytes
    assert first.events == second.events
    assert first == second
    # And it was an hour in which everything happened.
    assert first.seconds >= HOUR_S
    assert first.asked > 150
    counts = first.counts
    assert min(counts.promoted, counts.returned, counts.yielded, counts.cancelled) > 0
    told = {event.name for _, event in first.events}
    assert told >= {"place", "park", "park_skip", "parked", "admitted", "slot_done", "yielded"}
    assert [event for _, event in first.events if event.level in ("warning", "error")] == []
