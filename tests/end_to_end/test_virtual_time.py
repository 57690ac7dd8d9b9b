"""The daemon's relay on a clock the test holds."""

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.token_model import HashModel
from tests.clients.conversations import People
from tests.clients.virtual import open_virtual

LEVELS = {
    "solo": SimOptions(batch_slots=0),
    "batch": SimOptions(batch_slots=4, batch_groups=1),
    "pad-rows": SimOptions(active_rows=False),
    "active-rows": SimOptions(),
    "checkpoints": SimOptions(slot_checkpoints=2, branch_margin=100),
}


@pytest.mark.parametrize("level", LEVELS)
async def test_many_conversations_get_their_exact_tokens_through_the_relay(
    level: str, autojump_clock: MockClock
) -> None:
    engine = SimEngine(evolve(LEVELS[level], chunk=128, checkpoint_every=700), HashModel(300))
    settings = ServeSettings(long_read=300)
    async with open_virtual(engine, Sidecar(SidecarSettings()), settings) as client:
        played = await People(client, seed=5, eos_every=300).play(people=4, turns=3)
    assert played.ended >= 15
    assert engine.ended
    assert len(engine.ledger) >= played.ended
    assert [event for _, event in client.events if event.level in ("warning", "error")] == []
    assert trio.current_time() > 5


async def test_the_same_requests_take_the_same_virtual_time(autojump_clock: MockClock) -> None:
    async def run() -> list[float]:
        start = trio.current_time()
        engine = SimEngine(SimOptions())
        async with open_virtual(engine, Sidecar(SidecarSettings())) as client:
            moments = []
            for length in (5000, 300, 8000):
                await client.generate(list(range(1000, 1000 + length)), 100)
                moments.append(trio.current_time() - start)
                await trio.sleep(60)
        return moments

    first, second = await run(), await run()
    assert first == pytest.approx(second)
    # 5,000 tokens at 2,668 a second, and 99 steps at 67 a second, behind 0.1 s.
    assert first[0] == pytest.approx(0.1 + 4999 / 2668 + 99 / 67, rel=0.01)
