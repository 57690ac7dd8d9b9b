"""A recorded conversation cut in every way gives the same bytes to both sides."""

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import Literal

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.token_model import HashModel
from slotd.sim.world import World
from tests.clients.people import Crowd

Side = Literal["client", "engine"]
LEVELS = {
    "batch": SimOptions(batch_slots=4, batch_groups=1),
    "pad-rows": SimOptions(active_rows=False),
    "active-rows": SimOptions(),
    "checkpoints": SimOptions(slot_checkpoints=2, branch_margin=100, checks_separator=" "),
}


@frozen
class Run:
    """What one side wrote until the other one wrote something; `now` in seconds."""

    side: Side
    data: bytes
    now: float


class RecordingSidecar(Sidecar):
    """A sidecar that notes what it is given."""

    def __init__(self, settings: SidecarSettings) -> None:
        super().__init__(settings)
        self.pieces: list[Run] = []

    def from_client(self, data: bytes, now: float) -> Output:
        self.pieces.append(Run("client", data, now))
        return super().from_client(data, now)

    def from_engine(self, data: bytes, now: float) -> Output:
        self.pieces.append(Run("engine", data, now))
        return super().from_engine(data, now)


@cache
def recorded(level: str) -> tuple[Run, ...]:
    """A conversation of a few people, as what the two sides wrote in turn."""
    options = evolve(LEVELS[level], chunk=128, checkpoint_every=700)
    sidecar = RecordingSidecar(SidecarSettings())
    serve = Serve(ServeSettings(long_read=300, stale_lines=True))
    crowd = Crowd(11, people=3, turns=3, model=HashModel(), opening=300)
    World(SimEngine(options, crowd.model), sidecar, serve).run(crowd.first(), crowd.after)
    assert crowd.checked >= 9
    turns = groupby(sidecar.pieces, key=lambda piece: piece.side)
    runs = ((side, list(pieces)) for side, pieces in turns)
    return tuple(
        Run(side, b"".join(p.data for p in pieces), pieces[0].now) for side, pieces in runs
    )


def outcome(
    runs: Sequence[Run], cuts: Sequence[Sequence[int]], policy: str
) -> tuple[list[bytes], list[bytes], list[Event]]:
    """What both sides get, run by run, when each run is cut at the given places; the events."""
    sidecar = Sidecar(SidecarSettings(policy_name=policy))
    to_engine, to_client, events = list[bytes](), list[bytes](), list[Event]()
    for run, places in zip(runs, cuts, strict=True):
        outputs = []
        for start, end in zip([0, *places], [*places, len(run.data)], strict=True):
            take = sidecar.from_client if run.side == "client" else sidecar.from_engine
            outputs.append(take(run.data[start:end], run.now))
        to_engine.append(b"".join(piece for output in outputs for piece in output.to_engine))
        to_client.append(b"".join(piece for output in outputs for piece in output.to_client))
        events += [event for output in outputs for event in output.events]
    return to_engine, to_client, events


@pytest.mark.parametrize("policy", ["retention", "off"])
@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=12, deadline=None)
@given(
    places=st.lists(st.floats(0, 1, exclude_max=True), max_size=50),
    stride=st.none() | st.integers(3, 5000),
)
def test_any_cuts_change_nothing(
    level: str, policy: str, places: list[float], stride: int | None
) -> None:
    """Cut at some places of the whole recording, and every so many bytes of each run."""
    runs = recorded(level)
    size = sum(len(run.data) for run in runs)
    somewhere = [int(place * size) for place in places]
    cuts, before = [], 0
    for run in runs:
        here = {place - before for place in somewhere if before < place < before + len(run.data)}
        here.update(range(stride or len(run.data), len(run.data), stride or 1))
        cuts.append(sorted(here))
        before += len(run.data)
    assert outcome(runs, cuts, policy) == outcome(runs, [() for _ in runs], policy)


@pytest.mark.parametrize("level", LEVELS)
def test_byte_by_byte_changes_nothing(level: str) -> None:
    runs = recorded(level)
    whole = outcome(runs, [() for _ in runs], "retention")
    every_byte = [range(1, len(run.data)) for run in runs]
    assert outcome(runs, every_byte, "retention") == whole


@pytest.mark.parametrize("level", LEVELS)
def test_off_hands_every_byte_on(level: str) -> None:
    runs = recorded(level)
    to_engine, to_client, _ = outcome(runs, [() for _ in runs], "off")
    assert b"".join(to_engine) == b"".join(run.data for run in runs if run.side == "client")
    assert b"".join(to_client) == b"".join(run.data for run in runs if run.side == "engine")
