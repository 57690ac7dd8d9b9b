"""The target over the core: both directions interleaved, at every capability level.

Lives here: a play of lines, lies, noise and time around the sidecar and a simulated engine, and
what must hold after each step of it. Must not live here: how lines are written (`lines`).
"""

import json

from attrs import define, evolve

from slotd.core.output import Output
from slotd.core.settings import PAD_ROWS_SETTINGS, PARK_SETTINGS
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.snapshot import Snapshot
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.timing import Timing
from tests.clients.chosen import unchosen_lines
from tests.fuzz.lines import TURN, client_line, engine_line
from tests.fuzz.reading import Features
from tests.fuzz.taking import Taker

_LEVEL = SimOptions(timing=Timing.instant(), chunk=64, context=6000, frames=True)
LEVELS = [
    evolve(_LEVEL),
    evolve(_LEVEL, slot_checkpoints=2, branch_margin=20, checks_separator=" "),
    evolve(_LEVEL, active_rows=False),
    evolve(_LEVEL, batch_slots=4, batch_groups=1),
    evolve(_LEVEL, batch_slots=0, batch_groups=1),
    evolve(_LEVEL, slot_cache=False),
    evolve(_LEVEL, batch_slots=4, batch_groups=1, stop=False),
    evolve(_LEVEL, elastic=True, session_files=True, announce_turn_token=False),
    evolve(_LEVEL, drafts_offered=2, drafts_accepted=(0, 2), info_lines=3, main_cache=False),
]
MOST_STEPS = 200
CHECK_EVERY = 4
"""Steps from one look at the model to the next: looking costs more than the steps do."""


def play(data: bytes) -> Features:
    """Play a conversation made from some bytes.

    Raises AssertionError when the core fails inside (it would fail open, and that is not to be
    needed), tells what no JSON can hold, holds what cannot be, or loses or changes a line.
    """
    first = _Play(data, cut=False)
    first.run()
    if first.try_cuts:
        second = _Play(data, cut=True)
        second.run()
        assert second.said == first.said, "how the bytes are cut makes a difference"
    return frozenset(first.features)


@define
class _Said:
    """Everything that went in and came out, each way."""

    client: bytes = b""
    to_engine: bytes = b""
    engine: bytes = b""
    to_client: bytes = b""


class _Play:
    def __init__(self, data: bytes, cut: bool) -> None:
        self._taker = taker = Taker(data)
        self._options = taker.pick(LEVELS)
        settings = _settings(taker)
        decider = AdaptiveDecider() if taker.happens(4) else None
        self._sidecar = Sidecar(settings, decider)
        # Where slotd has lines of its own to send, lines are not compared.
        self._compared = settings.park in ("native", "off") and not settings.keep_loaded
        self._plain = settings.policy_name == "off" and settings.park == "off"
        self.try_cuts = taker.happens(4)
        self._size = 1 + taker.below(20)
        self._cut = cut
        self._now = 0.0
        self.features = set[str]()
        self.said = _Said()
        self._begin_engine()

    def run(self) -> None:
        for number in range(MOST_STEPS):
            if self._taker.empty:
                break
            self._step()
            if number % CHECK_EVERY == 0:
                self._check(self._sidecar.snapshot(self._now))
        while not self._sidecar.drained and self._work():
            pass
        self._take(self._sidecar.client_eof(self._now))
        self._take(self._sidecar.engine_eof(self._now))
        after = self._sidecar.snapshot(self._now)
        assert (after.slots, after.main, after.in_flight) == ((), None, ())
        if self._compared:
            _compare(self.said.client, self.said.to_engine, self._plain)
            _compare(self.said.engine, self.said.to_client, self._plain)

    def _begin_engine(self) -> None:
        self._engine = SimEngine(self._options)
        self._from_engine(self._engine.start())

    def _step(self) -> None:
        taker, sidecar = self._taker, self._sidecar
        kind = taker.below(16)
        if kind < 6:
            slots = [slot.history.tokens() for slot in sidecar.model.slots]
            self._from_client(client_line(taker, [held for held in slots if len(held)]))
        elif kind < 11:
            choice = taker.byte()
            self._work_on(1 + choice % 8, together=choice // 8 % 2 == 1)
        elif kind == 11:
            self._from_engine(engine_line(taker))
        elif kind == 12:
            noise = taker.some(60)
            (self._from_client if taker.happens(8) else self._from_engine)(noise)
        elif kind == 13:
            self._now += taker.pick([0.001, 1.0, 30.0, 400.0, 5000.0])
        elif kind == 14:
            if taker.happens(8):
                sidecar.replace_settings(evolve(sidecar.settings, policy=_settings(taker).policy))
            elif sidecar.settings.keep_loaded and sidecar.drained:
                self._take(sidecar.client_gone(self._now))
            else:
                self._take(sidecar.silent(self._now))
        elif taker.happens(2):
            self._take(sidecar.engine_eof(self._now))
            self._begin_engine()

    def _work_on(self, times: int, together: bool) -> None:
        """Let the engine do several things; `together`: what it prints arrives at once."""
        if not together:
            for _ in range(times):
                self._work()
            return
        output = b""
        for _ in range(times):
            step = None if self._engine.ended else self._engine.step()
            if step is None:
                break
            self._now += step.seconds
            output += step.output
        self._from_engine(output)

    def _work(self) -> bool:
        """Let the engine do one thing; False when it has nothing to do."""
        step = None if self._engine.ended else self._engine.step()
        if step is not None:
            self._now += step.seconds
            self._from_engine(step.output)
        return step is not None

    def _from_client(self, data: bytes) -> None:
        if not self._sidecar.drained:
            return
        self.said.client += data
        for piece in self._pieces(data):
            self._take(self._sidecar.from_client(piece, self._now))

    def _from_engine(self, data: bytes) -> None:
        self.said.engine += data
        for piece in self._pieces(data):
            self._take(self._sidecar.from_engine(piece, self._now))

    def _pieces(self, data: bytes) -> list[bytes]:
        """The data whole, or its beginning in small pieces: long prompts would take for ever."""
        if not self._cut:
            return [data]
        small = range(0, 20 * self._size, self._size)
        pieces = [data[at : at + self._size] for at in small]
        return [piece for piece in (*pieces, data[20 * self._size :]) if piece]

    def _take(self, output: Output) -> None:
        to_engine = b"".join(output.to_engine)
        self.said.to_engine += to_engine
        self.said.to_client += b"".join(output.to_client)
        self._engine.from_client(to_engine)
        for event in output.events:
            json.dumps(event.fields, allow_nan=False)
            failed = event.name == "error" and event.fields["where"] != "engine"
            assert not failed, f"the core failed inside: {event.fields}"
            self.features.add(f"{event.name} {event.fields.get('reason', '')}")
            if event.name == "drift":
                self.features.add(f"drift {event.fields['fact']} {event.fields['slots'] == []}")

    def _check(self, snapshot: Snapshot) -> None:
        """Check that what is believed can be."""
        count = snapshot.capabilities.batch_slots
        assert [slot.slot for slot in snapshot.slots] == list(range(count))
        assert sorted(slot.client_slot for slot in snapshot.slots) == list(range(count))
        assert len(snapshot.in_flight) <= 64
        reading = {request.slot for request in snapshot.in_flight if request.slot is not None}
        for slot in snapshot.slots:
            assert slot.tokens >= 0
            assert slot.state != "reading" or slot.slot in reading or snapshot.untracked
            assert all(0 < length <= slot.tokens for length in slot.checkpoints)
            self.features.add(f"{slot.state} {slot.valid} {slot.superseded} {slot.images}")


def _settings(taker: Taker) -> SidecarSettings:
    settings = SidecarSettings(
        policy_name=taker.pick(["retention", "retention", "retention", "off"]),
        park=taker.pick(PARK_SETTINGS),
        pad_rows=taker.pick(PAD_ROWS_SETTINGS),
        turn_token=taker.pick([None, TURN]),
        slot_key=taker.happens(8),
        keep_client_keys=taker.happens(4),
        keep_loaded=taker.happens(4),
    )
    if taker.happens(4):
        policy = evolve(
            settings.policy,
            ttl_max_s=taker.pick([0.0, 5.0, 120.0]),
            idle_value_zero_s=taker.pick([0.0, 60.0, 1800.0]),
            sibling_share=taker.pick([0.0, 0.5, 1.0]),
            park_kept_share=taker.pick([0.0, 0.98, 1.0]),
            park_min_value=taker.pick([0.0, 0.01, 10.0]),
            park_value_ratio=taker.pick([0.0, 2.0]),
            expired_keep_score=taker.pick([0.0, 0.01, 10.0]),
        )
        settings = evolve(settings, policy=policy)
    return settings


def _compare(given: bytes, passed: bytes, plain: bool) -> None:
    """Compare what went in with what came out: all of it, but for what slotd may write."""
    if plain:
        assert passed == given
    assert unchosen_lines(passed) == unchosen_lines(given)
