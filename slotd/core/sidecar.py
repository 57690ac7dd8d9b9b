"""The sidecar: bytes of both directions in, bytes of both directions and events out.

Here: the way of every line - read, taken into the model, decided about, rewritten - and the one
place where anything that goes wrong on it is caught, so that the line goes through all the same.
Not here: pipes and clocks; the model, the decisions and the rewriting themselves.

Lines are never delayed, doubled or dropped. A client number's engine slot changes only in
`_commit`, to an idle slot, for a number whose own slot holds no request: so while a request is in a
slot, the number it came under goes on meaning that slot, its lines are mapped back to it, and a
`BSTOP` for a request that has ended reaches an idle slot or the number's own next request, never
another's.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from attrs import Factory, frozen

from protocol import (
    BatchStop,
    BatchYield,
    ClientLine,
    ClientOpaque,
    EngineLine,
    EngineOpaque,
    Exchange,
    Fragment,
    Frame,
    Generate,
    LineReader,
    Quit,
    RawItem,
    parse_client_line,
    parse_engine_line,
    replace_field,
)
from slotd.core.client_lines import (
    sent_exchange,
    sent_opaque,
    sent_request,
    sent_reservation,
    sent_unknown_request,
)
from slotd.core.counters import Counters
from slotd.core.drain import Drain, refused_line
from slotd.core.events import Event
from slotd.core.failing import Failures, lost, observed, settle
from slotd.core.model import Model
from slotd.core.placing import Plan, Reservation, decides, plan_request, plan_yield
from slotd.core.recall import Recall
from slotd.core.rewriting import (
    Sent,
    decided_line,
    opaque_line,
    slot_line,
    to_client,
    undecided_line,
)
from slotd.core.settings import SidecarSettings
from slotd.core.snapshot import Snapshot, take_snapshot
from slotd.core.state import Activity
from slotd.policy.decide import Decider, RetentionDecider, StoryDecider
from slotd.policy.story import Story

__all__ = ["Output", "Sidecar", "SidecarSettings"]

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Output:
    """What came of some bytes, each list in order."""

    to_engine: list[bytes] = Factory(list)
    to_client: list[bytes] = Factory(list)
    events: list[Event] = Factory(list)
    quits: bool = False
    """The client has said `QUIT` and it was kept from the engine: the client is to be let go."""


class Sidecar:
    """One engine's sidecar.

    Every method that takes `now` wants seconds on one clock that never goes back.
    """

    def __init__(
        self,
        settings: SidecarSettings,
        decider: Decider | None = None,
        counters: Counters | None = None,
    ) -> None:
        """Begin beside an engine that has said nothing yet; `decider` replaces POLICY.md's.

        Conversations are recognised (see `recall`) for a decider that wants their stories. With
        `counters`, counting goes on where an earlier engine's sidecar left off.
        """
        self.settings = settings
        self.model = Model(Recall() if isinstance(decider, StoryDecider) else None)
        self.counters = Counters() if counters is None else counters
        self._decider: Decider = RetentionDecider() if decider is None else decider
        self._failures = Failures()
        self._client = LineReader(frames=True)
        self._engine = LineReader(frames=False)
        self._now = 0.0
        self._inside_client_line = False
        """The last client item was a piece of a line that goes on."""
        self._after_frame = False
        """The last client item was a frame: its request is still to come."""
        self._quits = False
        """The client has said `QUIT`, which the engine is not to have."""
        self._drain: Drain | None = None
        """What is under way since the client has gone."""
        self._drained_since = 0.0

    def from_client(self, data: bytes, now: float) -> Output:
        """Take bytes the client wrote."""
        self._now = now
        lines = []
        for item in self._client.feed(data):
            if self._quits:  # nothing it still says can be meant for this engine
                break
            lines.append(self._client_item(item))
        return self._told(Output(to_engine=lines, quits=self._quits))

    def from_engine(self, data: bytes, now: float) -> Output:
        """Take bytes the engine wrote."""
        self._now = now
        output = Output()
        for item in self._engine.feed(data):
            output.to_client.append(self._engine_item(item, now))
            if self._drain is not None:
                output.to_engine.extend(self._go_on_draining(self._drain, item))
        return self._told(output)

    def client_gone(self, now: float) -> Output:
        """Take note that the client has gone while the engine stays for the next one.

        A line it left unfinished is dropped, what it has asked for is stopped. Until `drained`,
        the engine's lines are still this client's, and no other client's may be given to
        `from_client`; from then on every slot is idle for the next client and keeps its history.
        """
        self._now, self._drained_since, self._quits = now, now, False
        self._client.finish()
        drain = self._drain = Drain(self.model, lambda: True)
        orders = refused_line(self.model, self._inside_client_line, self._after_frame)
        self._inside_client_line = self._after_frame = False
        self.model.tell(
            "drain",
            "info",
            requests=len(self.model.flight.requests()) + self.model.flight.untracked,
            slots=sum(slot.activity is Activity.DECODING for slot in self.model.slots),
            unfinished=len(orders) > 0,
        )
        orders += self._guarded(drain.begin, _no_orders)
        self._end_drain(drain)
        return self._told(Output(to_engine=orders))

    @property
    def drained(self) -> bool:
        """Nothing of a client that has gone is under way."""
        return self._drain is None

    def client_eof(self, now: float) -> Output:
        """Take the end of the client's stream; what it left unfinished is passed on.

        The engine carries an unfinished last line out like any other, so it is one here too.
        """
        self._now = now
        items = map(_last_line, self._client.finish())
        output = Output(to_engine=list(map(self._client_item, items)))
        self._inside_client_line = False
        return self._told(output)

    def engine_eof(self, now: float) -> Output:
        """Take the end of the engine's stream: nothing is believed of it any more."""
        self._now = now
        output = Output()
        output.to_client.extend(self._engine_item(item, now) for item in self._engine.finish())
        self._told(output)
        self.model.restart()
        self._drain = None
        return output

    def replace_settings(self, settings: SidecarSettings) -> None:
        """Decide by other settings from the next line on; what is under way stays as it is."""
        self.settings = settings

    def snapshot(self, now: float) -> Snapshot:
        """Return what is believed at this moment, for people and programs to look at."""
        return take_snapshot(self.model, self.settings, self.counters, now)

    # -- the engine's lines ------------------------------------------------------------------------

    def _engine_item(self, item: RawItem, now: float) -> bytes:
        """Take in one line; return it for the client. Nothing it can say makes it stay away."""
        line = self._guarded(parse_engine_line, _engine_opaque, item)
        head = self.model.flight.head
        if not self._guarded(observed, lost, self.model, line, now):
            settle(self.model, head, line, now)
        return to_client(self.model.numbering, line)

    # -- a client that has gone --------------------------------------------------------------------

    def _go_on_draining(self, drain: Drain, item: RawItem) -> list[bytes]:
        line = self._guarded(parse_engine_line, _engine_opaque, item)
        orders = self._guarded(drain.follow, _no_orders, line)
        self._end_drain(drain)
        return orders

    def _end_drain(self, drain: Drain) -> None:
        if drain.over:
            drain.settle()
            self._drain = None
            ms = round((self._now - self._drained_since) * 1000, 1)
            self.model.tell("drained", "info", ms=ms)

    # -- the client's lines ------------------------------------------------------------------------

    def _client_item(self, item: RawItem) -> bytes:
        """Take in one line; return it for the engine."""
        going_on, self._inside_client_line = self._inside_client_line, _goes_on(item)
        self._after_frame = isinstance(item, Frame)
        if going_on:
            # The rest of a line too long to be read: its first piece stood for all of it.
            return _raw(item)
        line = self._guarded(parse_client_line, _client_opaque, item)
        match line:
            case Generate():
                return self._request(line)
            case BatchYield():
                return self._yield(line)
            case BatchStop():
                return slot_line(self.model.numbering, line)
            case ClientOpaque():
                raw, slot = opaque_line(self.model.numbering, line)
                self._guarded(sent_opaque, _nothing, self.model, line, slot, self._now)
                return raw
            case Exchange():
                self._guarded(sent_exchange, _nothing, self.model, line)
            case Quit() if self.settings.keep_loaded:
                self._quits = True
                return b""
        return line.raw

    def _request(self, line: Generate) -> bytes:
        model, now = self.model, self._now
        number = model.next_request()
        plan = self._guarded(
            plan_request, _no_plan, model, self.settings, self._decider, line, number, now
        )
        sent = self._guarded(self._commit, self._commit_own, line, plan)
        self._guarded(
            sent_request,
            _sent_blindly,
            model,
            line,
            number,
            sent.slot,
            sent.park,
            now,
            plan.story,
        )
        return sent.raw

    def _commit(self, line: Generate, plan: Plan) -> Sent:
        """Carry a plan out: choose its slot for the line's number and write the line."""
        settings, numbering = self.settings, self.model.numbering
        if plan.decided:
            if line.slot is not None and plan.slot is not None:
                numbering.choose(line.slot, plan.slot)
            sent = decided_line(
                numbering,
                line,
                plan.park,
                slot_key=settings.slot_key,
                keep=settings.keep_client_keys,
            )
        else:
            keep = settings.keep_client_keys or not decides(self.model, settings)
            sent = undecided_line(numbering, line, keep=keep)
        self.model.events.extend(plan.events)
        return sent

    def _commit_own(self, line: Generate, plan: Plan) -> Sent:
        """Write the line with its own slot, as the numbering stands."""
        if line.slot is None:
            return Sent(line.raw, None, None)
        slot = self.model.numbering.engine_slot(line.slot)
        raw = line.raw if slot == line.slot else replace_field(line.raw, 1, b"%d" % slot)
        return Sent(raw, slot, None)

    def _yield(self, line: BatchYield) -> bytes:
        kept = self._guarded(
            plan_yield, _no_reservation, self.model, self.settings, self._decider, line, self._now
        )
        if kept is not None:
            self._guarded(self._reserve, _nothing, line, kept)
        return slot_line(self.model.numbering, line)

    def _reserve(self, line: BatchYield, kept: Reservation) -> None:
        self.model.numbering.choose(line.slot, kept.slot)
        sent_reservation(self.model, kept.request, kept.slot)
        self.model.events.extend(kept.events)

    # -- failing open ------------------------------------------------------------------------------

    def _guarded(
        self,
        step: Callable[P, R],
        otherwise: Callable[P, R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Take a step; whatever goes wrong in it, tell it and take the other one instead."""
        try:
            return step(*args, **kwargs)
        except Exception as failure:  # noqa: BLE001 - failing open: the line must go through
            event = self._failures.event(step.__name__, failure, self._now)
            if event is not None:
                self.model.events.append(event)
            return otherwise(*args, **kwargs)

    def _told(self, output: Output) -> Output:
        """Hand over what there is to tell."""
        events, self.model.events = self.model.events, []
        for event in events:
            self.counters.count(event)
        output.events.extend(events)
        return output


def _goes_on(item: RawItem) -> bool:
    return isinstance(item, Fragment) and not item.raw.endswith(b"\n")


def _last_line(item: RawItem) -> RawItem:
    """Return what the end of the stream cut off as a line, unless it is the rest of a frame."""
    return item.raw if isinstance(item, Fragment) and b"\n" not in item.raw else item


def _raw(item: RawItem) -> bytes:
    return item if isinstance(item, bytes) else item.raw


def _engine_opaque(item: RawItem) -> EngineLine:
    return EngineOpaque(_raw(item))


def _client_opaque(item: RawItem) -> ClientLine:
    return ClientOpaque(_raw(item))


def _no_plan(
    model: Model,
    settings: SidecarSettings,
    decider: Decider,
    line: Generate,
    number: int,
    now: float,
) -> Plan:
    return Plan()


def _no_reservation(
    model: Model, settings: SidecarSettings, decider: Decider, line: BatchYield, now: float
) -> Reservation | None:
    return None


def _sent_blindly(
    model: Model,
    line: Generate,
    number: int,
    slot: int | None,
    park: int | None,
    now: float,
    story: Story | None = None,
) -> None:
    sent_unknown_request(model, line.verb, number, line.slot, slot, now)


def _no_orders(*_: object) -> list[bytes]:
    return []


def _nothing(*_: object) -> None:
    """Do nothing instead."""
