"""Parks by slotd's own requests in virtual time: exact tokens, and nothing wrongly believed."""

import pytest
from attrs import evolve

from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.policy.settings import PolicySettings
from slotd.sim.engine import SimEngine
from slotd.sim.options import TURN_TOKEN, Faults, SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.timing import Timing
from slotd.sim.token_model import HashModel
from slotd.sim.world import World
from tests.clients.people import Crowd

SLOW = Timing(
    prompt_tok_s=3000, request_s=0.02, window_ms=(15, 18, 21), solo_step_ms=12, copy_ms_per_1k=40
)
BATCH = SimOptions(
    batch_slots=4, batch_groups=1, active_rows=False, chunk=256, checkpoint_every=700, timing=SLOW
)
PAD_ROWS = evolve(BATCH, batch_slots=6, batch_groups=3)
LEVELS = {
    "batch": BATCH,
    "batch, two slots": evolve(BATCH, batch_slots=2),
    "batch, one slot": evolve(BATCH, batch_slots=1),
    "batch, checkpoints": evolve(BATCH, slot_checkpoints=3),
    "batch, no stop": evolve(BATCH, stop=False),
    "batch, drafts": evolve(BATCH, drafts_offered=3, drafts_accepted=(0, 3, 1)),
    "batch, no slot cache": evolve(BATCH, slot_cache=False),
    "pad rows": PAD_ROWS,
    "pad rows, groups of three": evolve(PAD_ROWS, batch_groups=2),
    "padding safe, no park": evolve(PAD_ROWS, active_rows=True, park=False),
    "no batch": evolve(BATCH, batch_slots=0),
    "copies fail": evolve(BATCH, faults=Faults(admissions=frozenset(range(2, 400, 5)))),
}
EVERYTHING = PolicySettings(park_min_value=0)
SETTINGS = {
    "emulated": SidecarSettings(EVERYTHING, park="emulated"),
    "turn token": SidecarSettings(EVERYTHING, park="emulated", turn_token=TURN_TOKEN),
    "low rows": SidecarSettings(EVERYTHING, park="emulated", pad_rows="low"),
}


def play(options: SimOptions, settings: SidecarSettings, seed: int) -> tuple[Crowd, World, Sidecar]:
    """Let five people talk; return once nothing is left to happen."""
    model = HashModel(200)
    crowd = Crowd(seed, people=5, turns=4, model=model)
    engine, sidecar = SimEngine(options, model), Sidecar(settings)
    serve = Serve(ServeSettings(long_read=600, stale_lines=True))
    world = World(engine, sidecar, serve)
    world.run(crowd.first(), crowd.after)
    assert serve.surprises == []
    holdings = engine.holds()
    for number, slot in enumerate(sidecar.model.slots):
        held = holdings.slots[number]
        assert slot.idle
        if slot.valid:
            assert held.valid, number
            assert held.tokens.tolist() == slot.history.tokens().tolist()
            assert set(slot.checkpoints) <= set(held.checkpoints), number
    if sidecar.model.main.valid and sidecar.model.main.exact:
        assert holdings.main.tokens.tolist() == sidecar.model.main.history.tokens().tolist()
    return crowd, world, sidecar


@pytest.mark.parametrize(("settings", "seed"), [*zip(SETTINGS, (1, 2, 1), strict=True)])
@pytest.mark.parametrize("level", LEVELS)
def test_every_token_is_exact_and_nothing_is_wrongly_believed(
    level: str, settings: str, seed: int
) -> None:
    crowd, world, _ = play(LEVELS[level], SETTINGS[settings], seed)
    assert crowd.checked >= 20
    told = [event.name for _, event in world.events]
    assert "error" not in told
    assert "drift" not in told
    if level in ("no batch", "batch, no slot cache"):
        assert "parked" not in told
    elif level != "batch, one slot":
        # With one, a park is possible before a solo request only.
        assert "parked" in told
