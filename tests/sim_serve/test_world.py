from collections.abc import Iterable

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request, ServeSettings
from slotd.sim.timing import Timing
from slotd.sim.token_model import HashModel
from slotd.sim.world import GoesAway, Plan, RequestRecord, StuckError, World
from tests.clients.people import Crowd, ids

PLAIN = SimOptions(
    batch_groups=1,
    timing=Timing(
        prompt_tok_s=1000, request_s=0.5, window_ms=(10, 20), solo_step_ms=5, copy_ms_per_1k=0
    ),
)
LEVELS = {
    "solo": SimOptions(batch_slots=0),
    "batch": SimOptions(batch_slots=4, batch_groups=1),
    "pad-rows": SimOptions(active_rows=False),
    "active-rows": SimOptions(),
    "checkpoints": SimOptions(slot_checkpoints=2, branch_margin=100),
    "no-slot-cache": SimOptions(slot_cache=False),
    "no-park": SimOptions(park=False),
    "no-turn-token": SimOptions(announce_turn_token=False),
    "no-stop": SimOptions(stop=False),
    "drafts": SimOptions(drafts_offered=3, drafts_accepted=(0, 3, 1)),
}
SIDECARS = {
    "none": None,
    "off": SidecarSettings(policy_name="off"),
    "retention": SidecarSettings(),
}


def ask(name: str, prompt: int, max_new: int, first: int = 1) -> Request:
    return Request(name, np.arange(first, first + prompt, dtype=np.int32), max_new)


def world(options: SimOptions = PLAIN, sidecar: Sidecar | None = None) -> World:
    return World(SimEngine(options), sidecar, Serve(ServeSettings(long_read=300)))


def test_one_request_takes_its_fixed_time_its_read_and_its_steps() -> None:
    (record,) = world().run([(10.0, ask("a", 1001, 5))])
    assert record.arrival == 10.0
    assert record.first_token == pytest.approx(10.0 + 0.5 + 1.0)
    assert record.end == pytest.approx(11.5 + 4 * 0.005)
    assert (record.prompt, record.reused, record.read, record.generated) == (1001, 0, 1001, 5)
    assert record.finish == "length"


def test_a_next_turn_reuses_what_the_first_left() -> None:
    model = HashModel()
    first = ask("a", 1000, 5)
    following = ids([*first.prompt, *model.reply(first.prompt, 5), 7, 8])

    def after(record: RequestRecord, tokens: tuple[int, ...]) -> Iterable[Plan]:
        return [(record.end + 30, Request("b", following, 2))] if record.id == "a" else ()

    here = world()
    first_record, record = here.run([(0, first)], after)
    assert record.arrival == first_record.end + 30
    assert (record.reused, record.read) == (1004, 3)
    assert record.wait == pytest.approx(0.502)


def test_what_was_reused_and_from_where_is_known_behind_a_sidecar() -> None:
    here = world(SimOptions(), Sidecar(SidecarSettings()))
    long, side = ask("a", 5000, 5), ask("b", 300, 5, first=90_000)
    again = ids([*long.prompt, *HashModel().reply(long.prompt, 5), 7])
    records = here.run([(0, long), (20, side), (40, Request("c", again, 2))])
    assert [record.reused for record in records] == [0, 0, 5004]
    assert records[2].source is not None
    assert records[2].source >= 0
    assert {event.name for _, event in here.events} >= {"engine_info", "place", "park", "parked"}


def test_two_requests_at_once_run_in_slots_and_both_moves_are_noted() -> None:
    here = world()
    records = here.run([(0, ask("a", 100, 300)), (0.7, ask("b", 100, 30, first=500))])
    by_name = {record.id: record for record in records}
    assert [leg.verb for leg in by_name["a"].legs] == ["GEN", "BGEN", "GEN"]
    assert [leg.verb for leg in by_name["b"].legs] == ["BGEN"]


def test_a_client_that_goes_away_leaves_a_record_and_its_user_may_go_on() -> None:
    gone: list[str] = []

    def after(record: RequestRecord, tokens: tuple[int, ...]) -> Iterable[Plan]:
        gone.append(record.finish)
        return [(0, ask("b", 10, 1))] if record.id == "a" else ()

    records = world().run([(0, ask("a", 101, 50)), (0.7, GoesAway("a")), (9, GoesAway("x"))], after)
    assert [(r.id, r.finish) for r in records] == [("a", "left"), ("b", "length")]
    assert records[0].end == 0.7
    assert 0 < records[0].generated < 50
    assert gone == ["left", "length"]


def test_arrivals_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1 s comes after one at 2 s"):
        world().run([(2, ask("a", 10, 1)), (1, ask("b", 10, 1))])


def test_an_engine_that_never_answers_is_noticed() -> None:
    class Mute(SimEngine):
        def step(self) -> None:
            return None

    with pytest.raises(StuckError, match="still running: a"):
        World(Mute(), None, Serve()).run([(0, ask("a", 10, 1))])


@pytest.mark.parametrize("sidecar", SIDECARS)
@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32), stale=st.booleans(), end_every=st.sampled_from([0, 150]))
def test_every_token_is_exact_at_every_level(
    level: str, sidecar: str, seed: int, stale: bool, end_every: int
) -> None:
    model = HashModel(end_every)
    between = SIDECARS[sidecar]
    here_sidecar = None if between is None else Sidecar(between)
    serve = Serve(ServeSettings(long_read=300, stale_lines=stale))
    options = evolve(LEVELS[level], chunk=128, checkpoint_every=700)
    here = World(SimEngine(options, model), here_sidecar, serve)
    crowd = Crowd(seed, people=4, turns=4, model=model)
    here.run(crowd.first(), crowd.after)
    assert crowd.checked >= 16
    assert serve.surprises == []
    assert [event for _, event in here.events if event.level in ("warning", "error")] == []


@pytest.mark.parametrize("sidecar", SIDECARS)
def test_the_same_seed_gives_the_same_world(sidecar: str) -> None:
    def run() -> tuple[object, ...]:
        between = SIDECARS[sidecar]
        model = HashModel()
        here = world(SimOptions(), None if between is None else Sidecar(between))
        crowd = Crowd(7, people=4, turns=4, model=model)
        return here.run(crowd.first(), crowd.after), here.events, here.now

    assert run() == run()
