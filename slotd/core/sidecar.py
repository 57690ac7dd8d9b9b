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

from collections.abc import Callable

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
from slotd.core.departure import Departure
from slotd.core.detour import Detour, Waiting
from slotd.core.events import Event
from slotd.core.failing import Guard, lost, lost_token, observed, settle
from slotd.core.instead import (
    client_opaque,
    engine_opaque,
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
        decider_of: Callable[[str], Decider] = decider_named,
    ) -> None:
        """Begin beside an engine that has said nothing yet; `decider` replaces the settings'.

        Conversations are recognised (see `recall`) for a decider that wants their stories. With
        `counters`, counting goes on where an earlier engine's sidecar left off. `decider_of` makes
        the decider of a name, now and when the settings change.
        """
        self.settings = settings
        self._decider_of = decider_of
        if decider is None:
            decider = decider_of(settings.policy_name)
        self._model = Model(_recall_for(decider), settings.turn_token)
        self.counters = Counters() if counters is None else counters
        self.decider = decider
        """Who decides."""
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
        self._frame: Waiting | None = None
        """A frame that is kept together with the request that follows it."""
        self._detour: Detour | None = None
        """The park by a request of slotd's own that is under way."""
        self._client_ended = False
        """The client's stream has ended: it writes nothing any more."""
        self._quits = False
        """The client has said `QUIT`, which the engine is not to have."""
        self._departure = Departure(self._model, self._guarded, self._may_stop)

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
            elif self._detour is None and self._departure.over:
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
        self._quits = False
        self._client.finish()
        self._inside_client_line, self._frame = False, None
        if self._detour is not None:
            self._detour.give_up(self._model)
        return self._told(Output(to_engine=self._departure.begin(now)))

    def silent(self, now: float) -> Output:
        """Take note that the engine has printed nothing for long, while it is not `drained`.

        It is then, when nothing is on its way but lines that may have no answer.
        """
        self._at(now)
        self._departure.silent(now)
        return self._told(Output())

    @property
    def drained(self) -> bool:
        """Nothing of a client that has gone is under way."""
        return self._departure.over

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
        self._departure.engine_ended()
        self._detour = self._frame = None
        return output

    def replace_settings(self, settings: SidecarSettings) -> None:
        """Decide by other settings from the next line on; what is under way stays as it is.

        Another policy than before gets a fresh decider, as it has not seen what came in between.
        """
        self._learn()
        before, self.settings = self.settings.policy_name, settings
        self._model.assume_turn_token(settings.turn_token)
        if settings.policy_name not in (OFF, before):
            self.decider = self._decider_of(settings.policy_name)
            self._model.recall = _recall_for(self.decider)

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
        if not self._departure.over:
            output.to_engine.extend(self._departure.follow(line, now))

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

    # -- the client's lines ------------------------------------------------------------------------

    def _client_item(self, item: RawItem, output: Output) -> None:
        """Pass one item on, or let it wait until it may."""
        going_on, self._inside_client_line = self._inside_client_line, _goes_on(item)
        # The rest of a line too long to be read: its first piece stood for all of it.
        line = None if going_on else self._guarded(parse_client_line, client_opaque, item)
        if isinstance(line, Quit) and self.settings.keep_loaded:
            self._quits = True
            return
        waiting, detour = Waiting(raw_of(item), line, self._inside_client_line), self._detour
        if detour is not None:
            if self._guarded(detour.hold, detour.open, waiting):
                return
            if not detour.closed:
                self._let_all_go(detour, output)
        self._pass_on(waiting, output)

    def _pass_on(self, item: Waiting, output: Output) -> None:
        """Take one item in and pass it on to the engine."""
        frame, line = self._frame_that_waited(), item.line
        if isinstance(line, GrammarFrame) and self._emulates():
            # Nothing may come between it and the request it is for.
            self._frame, raw = item, b""
        else:
            self._departure.sent(item)
            if isinstance(line, Generate):
                frame, raw = b"", self._request(line, frame)
            else:
                raw = item.raw if line is None else self._line(line)
        output.to_engine.extend(each for each in (frame, raw) if each)

    def _emulates(self) -> bool:
        """Tell whether a request of slotd's own may come before the client's next one."""
        return self.settings.policy_name != OFF and emulates(self._model, self.settings)

    def _frame_that_waited(self) -> bytes:
        """Return the frame that was kept, if there is one, to be sent now."""
        frame, self._frame = self._frame, None
        if frame is None:
            return b""
        self._departure.sent(frame)
        return frame.raw

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
        if self._frame is not None and self._client_ended:
            output.to_engine.append(self._frame_that_waited())

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


def _recall_for(decider: Decider) -> Recall | None:
    """Begin to recognise conversations for a decider that wants their stories."""
    return Recall() if isinstance(decider, StoryDecider) else None


def _goes_on(item: RawItem) -> bool:
    return isinstance(item, Fragment) and not item.raw.endswith(b"\n")


def _last_line(item: RawItem) -> RawItem:
    """Return what the end of the stream cut off as a line, unless it is the rest of a frame."""
    return item.raw if isinstance(item, Fragment) and b"\n" not in item.raw else item
