"""The sidecar: bytes of both directions in, bytes of both directions and events out.

Here: the way of every line - read, taken into the model, decided about, rewritten - with another
way past each step that goes wrong (`failing`), so that the line goes through all the same. Not
here: pipes and clocks; the model, the decisions and the rewriting themselves.

A client's lines are never doubled or dropped, and never delayed but for a park of the main session
by a request of slotd's own (see `own_park`): what must not overtake it waits (see `detour`), and
what the engine says of it stays here. A client number's engine slot changes only in `committing`,
to an idle slot, for a number whose own slot holds no client's request: so while a request is in a
slot, the number it came under goes on meaning that slot, its lines are mapped back to it, and a
`BSTOP` for a request that has ended reaches an idle slot or the number's own next request, never
another's.
"""

from protocol import (
    BatchStop,
    BatchYield,
    ClientLine,
    ClientOpaque,
    EngineLine,
    Exchange,
    Fragment,
    Generate,
    GrammarFrame,
    LineReader,
    Quit,
    RawItem,
    RunReader,
    TokenRun,
    parse_client_line,
    parse_engine_line,
    raw_of,
)
from slotd.core.client_lines import sent_exchange, sent_opaque, sent_request
from slotd.core.committing import commit, commit_own, reserve
from slotd.core.counters import Counters
from slotd.core.detour import Detour, Waiting
from slotd.core.drain import Drain, refused_line
from slotd.core.events import Event
from slotd.core.failing import Guard, lost, lost_token, observed, settle
from slotd.core.instead import (
    client_opaque,
    engine_opaque,
    no_orders,
    no_park,
    no_plan,
    no_reservation,
    not_own,
    nothing,
    sent_blindly,
)
from slotd.core.model import Model
from slotd.core.output import Output
from slotd.core.own_park import begin, emulates, heard, is_own, look_after
from slotd.core.placing import plan_request, plan_yield
from slotd.core.recall import Recall
from slotd.core.rewriting import opaque_line, run_to_client, slot_line, to_client
from slotd.core.settings import OFF, SidecarSettings
from slotd.core.slot_lines import take_token
from slotd.core.snapshot import Snapshot, take_snapshot
from slotd.core.state import Activity
from slotd.policy.decide import Decider, StoryDecider
from slotd.policy.named import decider_named

__all__ = ["Sidecar", "SidecarSettings"]


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
        """Begin beside an engine that has said nothing yet; `decider` replaces the settings'.

        Conversations are recognised (see `recall`) for a decider that wants their stories. With
        `counters`, counting goes on where an earlier engine's sidecar left off.
        """
        self.settings = settings
        if decider is None:
            decider = decider_named(settings.policy_name)
        recall = Recall() if isinstance(decider, StoryDecider) else None
        self._model = Model(recall, settings.turn_token)
        self.counters = Counters() if counters is None else counters
        self.decider = decider
        """Who decides; another engine's sidecar may go on with it."""
        self._guarded = Guard(self._model, lambda: self._now)
        self._client = LineReader(frames=True, ahead=True)
        self._engine = RunReader()
        self._untaken: list[TokenRun] = []
        """Runs of tokens that were passed on and that the model has not taken in."""
        self._counted = 0
        """Events that wait to be told and are counted already."""
        self._now = 0.0
        self._inside_client_line = False
        """The last client item was a piece of a line that goes on."""
        self._inside_sent_line = False
        """The last item passed on was such a piece."""
        self._after_frame = False
        """The last item passed on was a frame: its request is still to come."""
        self._frame = b""
        """A frame that is kept together with the request that follows it."""
        self._detour: Detour | None = None
        """The park by a request of slotd's own that is under way."""
        self._client_ended = False
        """The client's stream has ended: it writes nothing any more."""
        self._quits = False
        """The client has said `QUIT`, which the engine is not to have."""
        self._drain: Drain | None = None
        """What is under way since the client has gone."""
        self._drained_since = 0.0

    @property
    def model(self) -> Model:
        """What is believed of the engine."""
        self._learn()
        return self._model

    def from_client(self, data: bytes, now: float) -> Output:
        """Take bytes the client wrote."""
        self._at(now)
        output = Output()
        for item in self._client.feed(data):
            if self._quits:  # nothing it still says can be meant for this engine
                break
            self._client_item(item, output)
        output.quits = self._quits
        return self._told(output)

    def from_engine(self, data: bytes, now: float) -> Output:
        """Take bytes the engine wrote."""
        self._at(now)
        output = Output()
        for item in self._engine.feed(data):
            if not isinstance(item, TokenRun):
                self._engine_line(item, now, output)
            elif self._detour is None and self._drain is None:
                self._token_run(item, output)
            else:
                for line in item.lines():
                    self._engine_line(line, now, output)
        return self._told(output)

    def learn(self) -> list[Event]:
        """Take in the tokens `from_engine` has passed on, once they are written; tell of it.

        They are most of what an engine prints, nothing is decided because of one, and whoever waits
        for it need not wait for this. Everything else the sidecar is asked for begins with it, so
        that leaving it out changes no answer, only when the time for it is spent.
        """
        self._learn()
        return self._told(Output()).events if self._model.events else []

    def client_gone(self, now: float) -> Output:
        """Take note that the client has gone while the engine stays for the next one.

        A line it left unfinished is dropped, what it has asked for is stopped. Until `drained`,
        the engine's lines are still this client's, and no other client's may be given to
        `from_client`; from then on every slot is idle for the next client and keeps its history.
        """
        self._at(now)
        self._drained_since, self._quits = now, False
        self._client.finish()
        self._inside_client_line, self._frame = False, b""
        if self._detour is not None:
            self._detour.give_up(self._model)
        drain = self._drain = Drain(self._model, self._may_stop)
        orders = refused_line(self._model, self._inside_sent_line, self._after_frame)
        self._inside_sent_line = self._after_frame = False
        if drain.over:
            drain.settle()
            self._drain = None
            return self._told(Output())
        self._model.tell(
            "drain",
            "info",
            requests=len(self._model.flight.requests()) + self._model.flight.untracked,
            slots=sum(slot.activity is Activity.DECODING for slot in self._model.slots),
            unfinished=len(orders) > 0,
        )
        orders += self._guarded(drain.begin, no_orders)
        return self._told(Output(to_engine=orders))

    def silent(self, now: float) -> Output:
        """Take note that the engine has printed nothing for long, while it is not `drained`.

        It is then, when nothing is on its way but lines that may have no answer.
        """
        self._at(now)
        if self._drain is not None:
            self._guarded(self._drain.silent, nothing)
            self._end_drain(self._drain)
        return self._told(Output())

    @property
    def drained(self) -> bool:
        """Nothing of a client that has gone is under way."""
        return self._drain is None

    def client_eof(self, now: float) -> Output:
        """Take the end of the client's stream; what it left unfinished is passed on.

        The engine carries an unfinished last line out like any other, so it is one here too. What
        waits for a park goes on waiting: the engine's stream is not to end before it `holds`
        nothing any more.
        """
        self._at(now)
        output = Output()
        for item in map(_last_line, self._client.finish()):
            self._client_item(item, output)
        self._inside_client_line, self._client_ended = False, True
        self._let_frame_go(output)
        return self._told(output)

    @property
    def holds(self) -> bool:
        """Something the client has written is still to go to the engine, after a park."""
        return self._detour is not None and self._detour.holds

    def engine_eof(self, now: float) -> Output:
        """Take the end of the engine's stream: nothing is believed of it any more."""
        self._at(now)
        output = Output()
        for item in self._engine.finish():
            self._follow(self._guarded(parse_engine_line, engine_opaque, item), now, output)
        if self._detour is not None and (words := self._detour.last_words(self._model)):
            output.to_client.append(words)
        self._told(output)
        self._model.restart()
        self._drain = self._detour = None
        self._frame = b""
        return output

    def replace_settings(self, settings: SidecarSettings) -> None:
        """Decide by other settings from the next line on; what is under way stays as it is.

        A decider of another name begins with nothing learned.
        """
        self._learn()
        self.settings = settings
        self._model.assume_turn_token(settings.turn_token)
        if settings.policy_name not in (OFF, self.decider.name):
            self.decider = decider_named(settings.policy_name)
            self._model.recall = Recall() if isinstance(self.decider, StoryDecider) else None

    def snapshot(self, now: float) -> Snapshot:
        """Return what is believed at this moment, for people and programs to look at."""
        self._learn()
        self._count()
        return take_snapshot(self._model, self.settings, self.counters, now)

    # -- the engine's lines ------------------------------------------------------------------------

    def _token_run(self, run: TokenRun, output: Output) -> None:
        """Pass on what most lines of a busy engine are, a window or more at a time."""
        output.to_client.append(run_to_client(self._model.numbering, run))
        self._untaken.append(run)

    def _learn(self) -> None:
        """Take in what was passed on before."""
        if self._untaken:
            runs, self._untaken = self._untaken, []
            for run in runs:
                for slot, token in run.tokens():
                    self._guarded(take_token, lost_token, self._model, slot, token)

    def _at(self, now: float) -> None:
        """Begin what is asked for at `now`, with everything known that came before it."""
        self._learn()
        self._now = now

    def _engine_line(self, item: RawItem, now: float, output: Output) -> None:
        """Take in and pass on one line, and what a client that has gone makes of it."""
        self._learn()
        line = self._guarded(parse_engine_line, engine_opaque, item)
        self._follow(line, now, output)
        if self._drain is not None:
            output.to_engine.extend(self._go_on_draining(self._drain, line))

    def _follow(self, line: EngineLine, now: float, output: Output) -> None:
        """Take one line in and pass it on, unless it is about slotd's own request."""
        detour = self._detour
        if detour is None:
            output.to_client.append(self._take_in(line, now))
            return
        own = self._guarded(is_own, not_own, self._model, detour.park, line)
        raw = self._take_in(line, now)
        if not own:
            output.to_client.append(raw)
        self._guarded(self._advance, self._let_all_go, detour, output, line if own else None)

    def _take_in(self, line: EngineLine, now: float) -> bytes:
        """Take one line into the model; return it for the client."""
        head = self._model.flight.head
        if not self._guarded(observed, lost, self._model, line, now):
            settle(self._model, head, line, now)
        return to_client(self._model.numbering, line)

    # -- a client that has gone --------------------------------------------------------------------

    def _go_on_draining(self, drain: Drain, line: EngineLine) -> list[bytes]:
        orders = self._guarded(drain.follow, no_orders, line)
        self._end_drain(drain)
        return orders

    def _end_drain(self, drain: Drain) -> None:
        if drain.over:
            drain.settle()
            self._drain = None
            ms = round((self._now - self._drained_since) * 1000, 1)
            self._model.tell("drained", "info", ms=ms)

    # -- the client's lines ------------------------------------------------------------------------

    def _client_item(self, item: RawItem, output: Output) -> None:
        """Pass one item on, or let it wait until it may."""
        going_on, self._inside_client_line = self._inside_client_line, _goes_on(item)
        # The rest of a line too long to be read: its first piece stood for all of it.
        line = None if going_on else self._guarded(parse_client_line, client_opaque, item)
        waiting, detour = Waiting(raw_of(item), line, self._inside_client_line), self._detour
        ends = isinstance(line, Quit) and self.settings.keep_loaded
        if detour is not None and not ends:
            if self._guarded(detour.hold, detour.open, waiting):
                return
            if not detour.closed:
                self._let_all_go(detour, output)
        self._pass_on(waiting, output)

    def _pass_on(self, item: Waiting, output: Output) -> None:
        """Take one item in and pass it on to the engine."""
        frame, self._frame = self._frame, b""
        line = item.line
        self._inside_sent_line = item.goes_on
        self._after_frame = isinstance(line, GrammarFrame)
        if self._after_frame and emulates(self._model, self.settings):
            # Nothing may come between it and the request it is for.
            self._frame, self._after_frame = item.raw, False
            raw = b""
        elif isinstance(line, Generate):
            frame, raw = b"", self._request(line, frame)
        else:
            raw = item.raw if line is None else self._line(line)
        output.to_engine.extend(each for each in (frame, raw) if each)

    def _line(self, line: ClientLine) -> bytes:
        """Take in a line that is no request; return it for the engine."""
        match line:
            case BatchYield():
                return self._yield(line)
            case BatchStop():
                return slot_line(self._model.numbering, line)
            case ClientOpaque():
                raw, slot = opaque_line(self._model.numbering, line)
                self._guarded(sent_opaque, nothing, self._model, line, slot, self._now)
                return raw
            case Exchange():
                self._guarded(sent_exchange, nothing, self._model, line)
            case Quit() if self.settings.keep_loaded:
                self._quits = True
                return b""
        return line.raw

    def _request(self, line: Generate, frame: bytes) -> bytes:
        """Take in a request with its frame; return it, or slotd's own that must come before it."""
        model, now = self._model, self._now
        number = model.next_request()
        plan = self._guarded(
            plan_request, no_plan, model, self.settings, self.decider, line, number, now
        )
        sent = self._guarded(commit, commit_own, model, self.settings, line, plan)
        park = None
        if plan.own_park is not None and plan.own_park != sent.slot:
            park = self._guarded(begin, no_park, model, plan.own_park, number, now)
        self._guarded(
            sent_request,
            sent_blindly,
            model,
            line,
            number,
            sent.slot,
            sent.park,
            now,
            plan.story,
        )
        if park is None:
            return frame + sent.raw
        waits = next((each for each in model.flight.requests() if not each.own), None)
        self._detour = Detour(park, frame + sent.raw, line.slot, waits)
        return park.line

    def _yield(self, line: BatchYield) -> bytes:
        kept = self._guarded(
            plan_yield, no_reservation, self._model, self.settings, self.decider, line, self._now
        )
        if kept is not None:
            self._guarded(reserve, nothing, self._model, line, kept)
        return slot_line(self._model.numbering, line)

    # -- parks by requests of slotd's own ----------------------------------------------------------

    def _advance(self, detour: Detour, output: Output, line: EngineLine | None) -> None:
        """Go on with a park after an engine's line (None: it was about something else)."""
        model = self._model
        if line is not None:
            output.to_engine.extend(filter(None, [heard(model, detour.park, line, self._now)]))
        look_after(model, detour.park, self._now)
        if detour.request_may_go():
            output.to_engine.extend(detour.let_request_go(model))
        while detour is self._detour and detour.next_may_go(model):
            self._pass_on(detour.behind.popleft(), output)
        if self._detour is not None and self._detour is not detour:
            # One of those behind is a request that another park must come before.
            self._detour.take_over(detour)
        elif detour.finished(model):
            self._detour = None
        self._let_frame_go(output)

    def _let_frame_go(self, output: Output) -> None:
        """Pass a frame on that is kept for a request which will not come."""
        if self._frame and self._client_ended:
            output.to_engine.append(self._frame)
            self._frame = b""

    def _let_all_go(self, detour: Detour, output: Output, *_: object) -> None:
        """Pass everything on that waits, in order; what comes after it does not wait any more."""
        detour.closed = False
        output.to_engine.extend(detour.let_request_go(self._model))
        while detour.behind:
            self._pass_on(detour.behind.popleft(), output)
        self._let_frame_go(output)

    def _may_stop(self) -> bool:
        """Tell whether a `STOP` would reach a request of the client's."""
        return self._detour is None or self._model.flight.head is not self._detour.park.request

    def _told(self, output: Output) -> Output:
        """Hand over what there is to tell."""
        if self._model.events:
            self._count()
            output.events, self._model.events = self._model.events, []
            self._counted = 0
        return output

    def _count(self) -> None:
        """Count what there is to tell, told or not: a status may be asked for before it is."""
        for event in self._model.events[self._counted :]:
            self.counters.count(event)
        self._counted = len(self._model.events)


def _goes_on(item: RawItem) -> bool:
    return isinstance(item, Fragment) and not item.raw.endswith(b"\n")


def _last_line(item: RawItem) -> RawItem:
    """Return what the end of the stream cut off as a line, unless it is the rest of a frame."""
    return item.raw if isinstance(item, Fragment) and b"\n" not in item.raw else item
