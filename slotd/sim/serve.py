"""A model of the serve process: the HTTP server's driver of one engine.

Lives here: when a request runs solo or in a slot, when it moves between the two, when a long read
gives way, and what happens when a client goes away. Bytes in, lines and events out; no I/O and no
clock. Must not live here: anything of slotd (the serve process does not know that it is there).

The rules, in the order `_advance` applies them:

- one request at a time is on the control lines, from its `GEN*`/`BGEN*` to `DONE`, `BADM` or `ERR`;
- a request that is alone runs solo; otherwise it is admitted to a slot;
- when another request waits, a solo one that is decoding is `STOP`ped and goes on in a slot;
- a long read gives way (`BYIELD`) to a waiting prompt less than half as long as what is left to
  read, and goes on in the slot that keeps its part;
- a request left alone in a slot is `BSTOP`ped and goes back to the solo path (`slot_cache=1`);
- a client that goes away is `STOP`ped and read to its `DONE`, or `BSTOP`ped and freed at its
  `BDONE`; one that waits, also after it gave way, is dropped without a line.

`STOP` is sent only once the engine has said that the request began (`RESUME`, or a token): the
engine drops an earlier one as stale.
"""

from collections import deque

from protocol.engine import (
    Admitted,
    BatchDone,
    BatchToken,
    CacheSource,
    Done,
    EngineError,
    EngineLine,
    Info,
    Progress,
    Ready,
    Resume,
    Token,
    Yielded,
    parse_engine_line,
)
from protocol.reader import LineReader
from protocol.tokens import EMPTY
from slotd.sim.serve_requests import (
    Control,
    Counts,
    Ended,
    EngineEndedError,
    Leg,
    Request,
    Run,
    ServeEvent,
    ServeSettings,
    TokenArrived,
)
from slotd.sim.serve_rules import gives_way, left_alone, next_to_run, stop_wanted
from slotd.sim.serve_slots import GroupsAlone, LongestStart, ServeSlots, SlotStrategy


class Serve:
    """The serve process, without its I/O.

    Feed it requests, cancellations and the engine's bytes; write the lines it returns to the engine
    in order. A cancelled request has no more events: its client is gone.
    """

    def __init__(
        self, settings: ServeSettings | None = None, strategy: SlotStrategy | None = None
    ) -> None:
        """Begin before the engine's first line.

        Args:
            settings: the choices left to it.
            strategy: how it picks slots; None: as the engine's `INFO` asks for (the groups alone
                when there is more than one, else what the slots hold).
        """
        self._settings = settings or ServeSettings()
        self._every_token = self._settings.every_token
        self._strategy = strategy
        self._reader = LineReader(frames=False)
        self._info: dict[str, str] = {}
        self._ready = self._ended = self._can_stop = self._slot_cache = False
        self._table = ServeSlots(0, 1, LongestStart())
        self._runs: dict[str, Run] = {}
        self._waiting: deque[Run] = deque()
        self._decoding: dict[int, Run] = {}
        self._control: Control | None = None
        self._last_words = ""
        self._lines: list[bytes] = []
        self._events: list[ServeEvent] = []
        self.counts = Counts()
        self.surprises: list[str] = []
        """Engine lines that contradict what was sent; an engine that works gives none."""

    @property
    def ready(self) -> bool:
        """Whether the engine has said READY."""
        return self._ready

    @property
    def idle(self) -> bool:
        """Whether no request runs or waits, cancelled ones that still run included."""
        return not self._runs

    def so_far(self, request_id: str) -> tuple[int, tuple[Leg, ...]]:
        """Return a running request's count of tokens got, and its legs that are over.

        Raises:
            KeyError: no such request runs or waits.
        """
        run = self._runs[request_id]
        return len(run.generated), tuple(run.legs)

    def submit(self, request: Request, now: float) -> list[bytes]:
        """Take a request; return the lines to send now.

        Raises:
            ValueError: a request with this id has not ended.
            EngineEndedError: the engine's output has ended.
        """
        if self._ended:
            raise EngineEndedError(self._last_words or "the engine has ended")
        if request.id in self._runs:
            raise ValueError(f"request {request.id!r} is running already")
        run = Run(request)
        self._runs[request.id] = run
        self._waiting.append(run)
        self._advance()
        return self._take_lines()

    def cancel(self, request_id: str, now: float) -> list[bytes]:
        """Note that a request's client went away; return the lines to send now.

        An id that is unknown or has ended changes nothing.
        """
        run = self._runs.get(request_id)
        if run is None or run.cancelled:
            return []
        run.cancelled = True
        self.counts.cancelled += 1
        if run in self._waiting:
            self._waiting.remove(run)
            if run.slot is not None:
                self._table.release(run.slot)
            del self._runs[request_id]
        elif run.slot is not None and not run.returning:
            self._send(b"BSTOP %d\n" % run.slot)
        self._advance()
        return self._take_lines()

    def from_engine(self, data: bytes, now: float) -> tuple[list[bytes], list[ServeEvent]]:
        """Take the engine's next bytes; return the lines to send now, and what clients see."""
        for item in self._reader.feed(data):
            line = parse_engine_line(item)
            if isinstance(line, BatchToken):
                # The hot path: hence no rule is looked at.
                run = self._decoding.get(line.slot)
                if run is None:
                    self._surprise(f"BT for slot {line.slot}, where nothing runs")
                else:
                    self._got(run, line.id)
            else:
                self._take(line, now)
                self._advance()
        return self._take_lines(), self._take_events()

    def engine_eof(self, now: float) -> list[ServeEvent]:
        """Note that the engine's output ended: every request ends with an error."""
        self._ended, self._ready, self._control = True, False, None
        self._waiting.clear()
        self._decoding.clear()
        for run in list(self._runs.values()):
            self._end(run, "error", self._last_words or "the engine has ended")
        return self._take_events()

    # What goes out ---------------------------------------------------------------------------

    def _send(self, line: bytes) -> None:
        self._lines.append(line)

    def _take_lines(self) -> list[bytes]:
        lines, self._lines = self._lines, []
        return lines

    def _take_events(self) -> list[ServeEvent]:
        events, self._events = self._events, []
        return events

    # What comes in ---------------------------------------------------------------------------

    def _take(self, line: EngineLine, now: float) -> None:
        """Take any line but a slot's token; those that mean nothing to it are ignored."""
        if isinstance(line, BatchDone):
            self._batch_done(line, now)
        elif isinstance(line, Info):
            self._info.update(line.fields)
        elif isinstance(line, Ready):
            self._get_ready(line)
        elif isinstance(line, EngineError):
            self._failed(line)
        elif self._control is not None:
            self._take_control(self._control, line, now)
        elif isinstance(line, Resume | Token | Done | Admitted | Yielded):
            self._surprise(f"{type(line).__name__} with no request on the control lines")

    def _take_control(self, control: Control, line: EngineLine, now: float) -> None:
        if isinstance(line, Token):
            control.begun = True
            control.got += 1
            self._got(control.run, line.id)
        elif isinstance(line, Resume):
            control.begun = True
            control.resumed = line.tokens
        elif isinstance(line, Progress):
            control.read = line.read
        elif isinstance(line, CacheSource):
            control.source = line.slot
        elif isinstance(line, Yielded):
            if line.slot != control.reserved:
                self._surprise(f"YIELDED {line.slot}, asked for {control.reserved}")
            control.part = line.tokens
        elif isinstance(line, Done):
            if line.generated != control.got:
                self._surprise(f"DONE {line.generated} after {control.got} tokens")
            control.done = line
            if control.slot is None:
                self._leave_control(control, line, False, now)
        elif isinstance(line, Admitted):
            if control.done is None or line.slot != control.slot:
                self._surprise(f"BADM {line.slot} for the request in slot {control.slot}")
            else:
                self._leave_control(control, control.done, line.goes_on, now)

    def _get_ready(self, line: Ready) -> None:
        groups = int(self._info.get("batch_groups", "1"))
        default = GroupsAlone() if groups > 1 else LongestStart()
        count = int(self._info.get("batch_slots", "0"))
        self._table = ServeSlots(count, groups, self._strategy or default)
        self._slot_cache = self._info.get("slot_cache") == "1"
        self._can_stop = line.stop
        self._ready = True

    def _got(self, run: Run, token: int) -> None:
        run.generated.append(token)
        if (self._every_token or len(run.generated) == 1) and not run.cancelled:
            self._events.append(TokenArrived(run.request.id, token))

    def _batch_done(self, line: BatchDone, now: float) -> None:
        run = self._decoding.pop(line.slot, None)
        if run is None:
            self._surprise(f"BDONE for slot {line.slot}, where nothing runs")
            return
        got = len(run.generated) - run.leg_start
        if line.generated != got:
            self._surprise(f"BDONE {line.slot} {line.generated} after {got} tokens")
        if self._settings.stale_lines:
            self._send(b"BSTOP %d\n" % line.slot)
        keeps = self._slot_cache and run.request.pictures is None
        self._table.hold(line.slot, run.tokens(run.length - 1) if keeps else EMPTY, now)
        self._table.release(line.slot)
        run.slot = None
        asked, run.returning = run.returning, False
        self.counts.returned += asked and line.finish == "cancel"
        self._leg_ended(run, line.finish, go_on=asked and line.finish == "cancel")

    def _failed(self, line: EngineError) -> None:
        """End the request on the control lines; or note a dying engine's last words."""
        self._last_words = line.text
        control, self._control = self._control, None
        if control is None:
            return
        control.run.legs.append(control.leg())
        for slot in (control.slot, control.reserved):
            if slot is not None:
                self._table.release(slot)
        self._end(control.run, "error", line.text)

    def _surprise(self, text: str) -> None:
        self.surprises.append(text)

    # A leg ends ------------------------------------------------------------------------------

    def _leave_control(self, control: Control, done: Done, goes_on: bool, now: float) -> None:
        """Free the control lines: the request goes on in its slot, waits again, or is over."""
        run, slot = control.run, control.slot
        self._control = None
        run.legs.append(control.leg())
        if control.part is not None and control.reserved is not None:
            self._gave_way(run, control.reserved, control.part, now)
            return
        if slot is None and control.reserved is not None:
            self._table.release(control.reserved)
        if self._settings.stale_lines:
            self._send_stale(control)
        if goes_on and slot is not None:
            run.slot = slot
            self._decoding[slot] = run
            if run.cancelled:
                self._send(b"BSTOP %d\n" % slot)
            return
        copy_failed = False
        if slot is not None:
            copy_failed = done.finish == "length" and run.remaining > 0
            if copy_failed:
                self._table.hold(slot, EMPTY, now)
            self._table.release(slot)
        promoted = slot is None and control.stopped and done.finish == "cancel"
        self.counts.promoted += promoted and not run.cancelled
        self._leg_ended(run, done.finish, go_on=promoted or copy_failed)

    def _gave_way(self, run: Run, slot: int, part: int, now: float) -> None:
        """Keep `slot` taken, with the part of its read, until it goes on there."""
        self.counts.yielded += 1
        self._table.hold(slot, run.tokens(part), now)
        if run.cancelled:
            self._table.release(slot)
            del self._runs[run.request.id]
        else:
            run.slot, run.part = slot, part
            self._waiting.appendleft(run)

    def _send_stale(self, control: Control) -> None:
        """Send what could have crossed with the end of this request's time on the control lines."""
        if control.slot is None and self._can_stop:
            self._send(b"STOP\n")
        free = next((row.slot for row in self._table.rows if not row.busy), None)
        slot = free if control.slot is None else control.slot
        if slot is not None and control.reserved is None:
            self._send(b"BYIELD %d\n" % slot)

    def _leg_ended(self, run: Run, finish: str, go_on: bool) -> None:
        """Let the request wait for its next leg, or end it."""
        if go_on and run.remaining and not run.cancelled:
            self._waiting.appendleft(run)
        elif finish == "cancel" and not run.remaining:
            self._end(run, "length")
        else:
            self._end(run, finish)

    def _end(self, run: Run, finish: str, error: str = "") -> None:
        del self._runs[run.request.id]
        if not run.cancelled:
            self._events.append(
                Ended(run.request.id, finish, tuple(run.generated), tuple(run.legs), error)
            )

    # What to do next -------------------------------------------------------------------------

    def _advance(self) -> None:
        if not self._ready:
            return
        if self._control is None:
            self._begin_next()
        if self._control is not None:
            self._interrupt(self._control)
        elif self._slot_cache:
            self._take_back()

    def _begin_next(self) -> None:
        """Put a waiting request on the control lines, if one can run."""
        chosen = next_to_run(self._waiting, self._table, alone=len(self._runs) == 1)
        if chosen is None:
            return
        run, slot = chosen
        self._waiting.remove(run)
        run.slot, run.part, run.leg_start = None, 0, len(run.generated)
        self._control = Control(run, slot, run.length)
        self._send(run.line(slot))

    def _interrupt(self, control: Control) -> None:
        """Send `STOP` or `BYIELD` where a rule asks for it."""
        if not control.begun or control.done is not None or control.stopped:
            return
        if stop_wanted(control, self._waiting, self._table):
            if self._can_stop:
                control.stopped = True
                self._send(b"STOP\n")
        elif gives_way(control, self._waiting, self._table, self._settings.long_read):
            slot = control.slot
            if slot is None:
                slot = self._table.reserve(control.run.tokens(control.sent))
            assert slot is not None, "gives_way found a free slot"
            control.reserved = slot
            self._send(b"BYIELD %d\n" % slot)

    def _take_back(self) -> None:
        """Send `BSTOP` for the one request there is, when it is left alone in a slot."""
        run = left_alone(self._runs, self._decoding)
        if run is not None and run.slot is not None:
            run.returning = True
            self._send(b"BSTOP %d\n" % run.slot)
