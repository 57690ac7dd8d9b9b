"""A client, a sidecar and a simulated engine in one process, joined by four pipes of bytes.

Lives here: the pipes, virtual time, and every check that needs both the model and the truth. Must
not live here: what the client writes and expects (`client`), which lines may pass (`wire`).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, repeat

from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.settings import OFF
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.policy.decide import Decider
from slotd.sim.caches import Holdings
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.token_model import HashModel
from tests.model_equivalence.own_wire import OwnWire
from tests.model_equivalence.truth import Known, excess, missing
from tests.model_equivalence.wire import (
    ADMISSIONS,
    GENERATES,
    Wire,
    fields_of,
    is_request,
    number_of,
)

_UNKNOWN_MAIN = (b"RELEASED", b"RESTORED", b"SESSION", b"FATAL")
_EVERYTHING = 1 << 30


class Bench:
    """Bytes move only when a test says so; whatever moves is checked."""

    def __init__(
        self,
        options: SimOptions,
        end_every: int,
        settings: SidecarSettings,
        decider: Decider | None = None,
        *,
        strict: bool = True,
    ) -> None:
        """Begin with an engine that has printed its greeting, which nobody has read.

        `strict`: the client behaves, so the model must know everything that can be known.
        """
        self.options = options
        self.engine = SimEngine(options, HashModel(end_every))
        self.sidecar = Sidecar(settings, decider)
        self.strict = strict
        self.now = 0.0
        self.sizes: Iterator[int] = repeat(_EVERYTHING)
        """How many bytes a pipe hands over at a time."""
        self.own = OwnWire(options.batch_slots) if settings.park == "emulated" else None
        """The wire, where slotd has requests of its own on it."""
        self.wire: Wire = self.own or Wire(options.batch_slots)
        self.known = Known()
        self.events: list[Event] = []
        self.client_line: Callable[[bytes], None] = lambda _: None
        """Gets each line the client reads."""
        self._to_sidecar = bytearray()
        self._to_engine = bytearray()
        self._from_engine = bytearray(self.engine.start())
        self._to_client = bytearray()
        self._client_reads = bytearray()
        self._hints: dict[int, int] = {}
        self._ready = False
        self.use(settings)
        self.known.all_reported = self.own is None
        self.wire.off = settings.policy_name == OFF

    def use(self, settings: SidecarSettings) -> None:
        """Let the sidecar decide by other settings."""
        self.sidecar.replace_settings(settings)
        off = settings.policy_name == OFF
        decides = self._ready and self.options.batch_slots > 0 and not off
        self.wire.keeps_keys = settings.keep_client_keys or not decides
        self.wire.off = self.wire.off and off

    def in_chunks(self, sizes: Iterable[int]) -> None:
        """Hand over bytes in chunks of these sizes, around and around."""
        self.sizes = cycle(sizes)

    # -- the four pipes --------------------------------------------------------------------------

    def write(self, item: bytes) -> None:
        """Let the client write a line or a frame."""
        self.wire.wrote(item)
        self._to_sidecar += item

    def to_sidecar(self, most: int = _EVERYTHING) -> None:
        for data in self._taken(self._to_sidecar, most):
            self._passed(self.sidecar.from_client(data, self.now))
        self._check_waiting()

    def to_engine(self, most: int = _EVERYTHING) -> None:
        for data in self._taken(self._to_engine, most):
            self.engine.from_client(data)

    def engine_works(self) -> bool:
        """Let the engine do a step; its output waits in the pipe. False: it has nothing to do."""
        step = self.engine.step()
        if step is None:
            return False
        self.now += step.seconds
        self._from_engine += step.output
        return True

    def from_engine(self, most: int = _EVERYTHING) -> None:
        for data in self._taken(self._from_engine, most):
            self._say(data)
        self._check_waiting()
        self.check()

    def to_client(self, most: int = _EVERYTHING) -> None:
        for data in self._taken(self._to_client, most):
            self._client_reads += data
        *lines, rest = bytes(self._client_reads).split(b"\n")
        self._client_reads[:] = rest
        for line in lines:
            self.client_line(line + b"\n")

    def end_of_client(self) -> None:
        """Let the client close its pipe, with everything it has written."""
        self.to_sidecar()
        self.wire.ends = True
        self._passed(self.sidecar.client_eof(self.now))
        while self.sidecar.holds:
            self.to_engine()
            self.engine_works()
            self.from_engine()
            self.to_client()
        self.to_engine()
        self.engine.eof()
        self.wire.hung_up = True

    def client_leaves(self, most: int) -> None:
        """Let a client be gone that has written so many bytes of what it would have; drain.

        From then on the engine's lines are for the next one.
        """
        self.to_sidecar(most)
        self._to_sidecar.clear()
        self.wire.leave()
        self._passed(self.sidecar.client_gone(self.now))
        self.client_line = lambda _: None
        self.run()
        assert self.sidecar.drained
        self.wire.drains = False
        self._hints.clear()
        assert not self._client_reads
        assert {held.state for held in self.engine.holds().slots} <= {"idle", "yielded"}
        assert all(slot.idle for slot in self.sidecar.model.slots)

    def end_of_engine(self) -> None:
        """Let the engine's pipe close: nothing is believed of it any more."""
        output = self.sidecar.engine_eof(self.now)
        assert (output.to_client, output.to_engine) == ([], [])
        self._told(output.events)
        model = self.sidecar.model
        assert (model.slots, len(model.flight), model.main.valid) == ([], 0, False)

    def run(self, steps: int = _EVERYTHING) -> None:
        """Let everything arrive and the engine work, step by step, until it is idle."""
        while True:
            self.to_sidecar()
            self.to_engine()
            works = steps > 0 and self.engine_works()
            self.from_engine()
            self.to_client()
            steps -= 1
            waiting = self._to_sidecar or self._to_engine
            if not works and not (waiting and steps > 0):
                return

    def _taken(self, pipe: bytearray, most: int) -> Iterator[bytes]:
        left = min(most, len(pipe))
        while left > 0:
            size = min(left, next(self.sizes))
            data = bytes(pipe[:size])
            del pipe[:size]
            left -= size
            yield data

    # -- checks ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Compare the model with the truth, if all the engine printed has been read."""
        if self._from_engine:
            return
        model, holdings = self.sidecar.model, self.engine.holds()
        assert len(model.slots) == len(holdings.slots)
        numbering = model.numbering
        slots = range(len(model.slots))
        assert [numbering.engine_slot(number) for number in slots] == self.wire.engine_slot
        assert [numbering.client_slot(slot) for slot in self.wire.engine_slot] == [*slots]
        assert excess(model, holdings) == []
        if self.strict:
            assert missing(model, holdings, self.known) == []

    def _check_waiting(self) -> None:
        """Check that nothing waits in the sidecar without a reason."""
        if not self._to_sidecar:
            self.wire.nothing_waits()

    def held(self) -> Holdings:
        return self.engine.holds()

    def _passed(self, output: Output) -> None:
        assert output.to_client == []
        before = list(self.wire.engine_slot)
        data = b"".join(output.to_engine)
        self._told(output.events)
        for _, raw in self.wire.passed(data):
            self._note_overwriting(raw)
        holdings = self.engine.holds()
        own_slot = None if self.own is None else self.own.own_slot
        for number, slot in enumerate(self.wire.engine_slot):
            # Only an idle slot is chosen, and a number is taken only off one without a client's
            # request.
            busy = holdings.slots[slot].state == "busy" and slot != own_slot
            assert slot == before[number] or not busy
        self._to_engine += data

    def _say(self, data: bytes) -> None:
        said = self.wire.said(data)
        for line in said:
            self._note_report(line)
        for_client = self.wire.for_client(said)
        output = self.sidecar.from_engine(data, self.now)
        self._told(output.events)
        assert output.to_engine == [] or self.own is not None or self.wire.drains
        for _, raw in self.wire.passed(b"".join(output.to_engine)):
            self._note_overwriting(raw)
        if not self.wire.hung_up:
            self._to_engine += b"".join(output.to_engine)
        heard = b"".join(output.to_client)
        self.wire.heard(heard, for_client)
        self._to_client += heard

    def _note_overwriting(self, raw: bytes) -> None:
        fields = fields_of(raw)
        verb = fields[0] if fields else b""
        slot = number_of(fields[1]) if len(fields) > 1 else None
        if slot is not None and verb in ADMISSIONS:
            self.known.overwritten.add(slot)
        elif slot is not None and verb == b"BYIELD":
            self.known.reserved.add(slot)
        if verb in GENERATES and is_request(raw, verb):
            parks = [field for field in fields if field.startswith(b"park=")]
            self.known.overwritten |= {
                slot for field in parks if (slot := number_of(field[5:])) is not None
            }

    def _note_report(self, line: bytes) -> None:
        verb, *fields = fields_of(line)
        if verb == b"RESUME":
            self.known.main = True
        elif verb == b"READY":
            self._ready = True
            self.use(self.sidecar.settings)
        elif verb in _UNKNOWN_MAIN:
            self.known.main = False
        elif verb == b"BCHECKS":
            listed = b" ".join(fields[2:]).replace(b",", b" ").split()
            slot = int(fields[0])
            self.known.reported[slot] = tuple(map(int, listed))
            self.known.overwritten.discard(slot)
            self.known.reserved.discard(slot)
        elif verb in (b"PARKED", b"YIELDED") or (verb == b"BADM" and fields[1] == b"1"):
            slot = int(fields[0])
            self.known.reported.pop(slot, None)
            self.known.unknown.discard(slot)
            if verb == b"PARKED" and not self.known.main:
                self.known.unknown.add(slot)

    def _told(self, events: list[Event]) -> None:
        self.events += events
        if self.own is not None:
            numbering = self.sidecar.model.numbering
            slots = range(self.options.batch_slots)
            self.own.agree([numbering.engine_slot(number) for number in slots])
        for event in events:
            fields = event.fields
            assert event.name != "error" or fields["where"] == "engine", event
            if event.name == "drift":
                assert not self.strict, event
            elif event.name == "place" and fields["verb"] != "BYIELD":
                self._note_hint(event)
            elif event.name in ("solo_done", "admitted"):
                number, reused = fields["request"], fields["reused"]
                assert isinstance(number, int)
                assert isinstance(reused, int)
                assert self._hints.pop(number, 0) <= reused, event

    def _note_hint(self, event: Event) -> None:
        """Remember what the engine will resume at least, where nothing can come between.

        Pad rows may be lost between the decision and the read, and what a state holds beyond what
        was printed (drafts behind an end token) may keep the engine from going on from it.
        """
        number, hint = event.fields["request"], event.fields["hint"]
        assert isinstance(number, int)
        assert isinstance(hint, int)
        model = self.sidecar.model
        exact = model.main.exact and not any(slot.unseen for slot in model.slots)
        if self.strict and not self.options.pad_rows and exact:
            self._hints[number] = hint

    def look(self) -> None:
        """Take a snapshot: it says what the model says."""
        model, shown = self.sidecar.model, self.sidecar.snapshot(self.now)
        assert (shown.main is not None) == model.main.valid
        assert [slot.valid for slot in shown.slots] == [slot.valid for slot in model.slots]
        assert [slot.client_slot for slot in shown.slots] == [
            self.wire.engine_slot.index(slot.number) for slot in model.slots
        ]
