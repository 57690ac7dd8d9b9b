"""A world in virtual time: the serve process, slotd (or nothing) and the simulated engine, joined.

Lives here: the clock that jumps from one thing that happens to the next, and what each request
took. Must not live here: what any of the three does, real time, or trio. slotd itself takes no
time; what it costs in reality is measured elsewhere.

The same arrivals give the same bytes: nothing in here is random, and things due at one moment
happen in a fixed order (the engine's output first, then requests in the order they were planned).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator

from attrs import define, frozen

from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar
from slotd.sim.engine import SimEngine
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Leg, Request, ServeEvent, TokenArrived


@frozen
class GoesAway:
    """The client of a request goes away (nothing happens when the request has ended)."""

    request: str


Plan = tuple[float, Request | GoesAway]
"""Something to happen: when, in seconds, and what."""


@define
class RequestRecord:
    """What one request took. Times in seconds, lengths in tokens.

    `first_token` is None when it got none. `finish` is that of `Ended`, "left" when its client went
    away, and empty while it runs. `legs` of a client that went away lack the one it left.
    """

    id: str
    arrival: float
    prompt: int
    first_token: float | None = None
    end: float = 0.0
    generated: int = 0
    finish: str = ""
    legs: tuple[Leg, ...] = ()

    @property
    def reused(self) -> int:
        """Tokens of the prompt that its first leg did not have to read."""
        return self.legs[0].resumed if self.legs else 0

    @property
    def source(self) -> int | None:
        """The slot its first leg said it resumed from (-1: no slot; None: it did not say)."""
        return self.legs[0].source if self.legs else None

    @property
    def read(self) -> int:
        """Tokens read for it, over all its legs."""
        return sum(leg.read for leg in self.legs)

    @property
    def wait(self) -> float | None:
        """Seconds from its arrival to its first token."""
        return None if self.first_token is None else self.first_token - self.arrival


class StuckError(Exception):
    """Nothing more can happen, and requests have not ended."""


OnEnd = Callable[[RequestRecord, tuple[int, ...]], Iterable[Plan]]
"""Gets a request that ended and the tokens it got; gives what its user does next."""

OnEvent = Callable[[float, Event], None]
"""Gets the moment of one of slotd's events, in seconds, and the event."""


class World:
    """One engine and everything before it, on one virtual clock."""

    def __init__(
        self,
        engine: SimEngine,
        sidecar: Sidecar | None,
        serve: Serve,
        on_event: OnEvent | None = None,
    ) -> None:
        """Start the engine at second 0.

        Args:
            engine: a fresh engine.
            sidecar: a fresh sidecar between the two; None: the serve process drives the engine.
            serve: a fresh serve process.
            on_event: gets slotd's events; None: they are kept in `events`.
        """
        self._engine = engine
        self._sidecar = sidecar
        self._serve = serve
        self._on_event = on_event or self._keep_event
        self._running: dict[str, RequestRecord] = {}
        self._plans: list[tuple[float, int, Request | GoesAway]] = []
        self._planned = 0
        self._due: tuple[float, bytes] | None = None
        self._on_end: OnEnd = _leave
        self.now = 0.0
        """The virtual time, in seconds."""
        self.records: list[RequestRecord] = []
        """Every request that ended or whose client went away, in that order."""
        self.events: list[tuple[float, Event]] = []
        """slotd's events with their moment in seconds, unless `on_event` gets them."""
        self._hear_engine(engine.start())

    def run(self, arrivals: Iterable[Plan], on_end: OnEnd | None = None) -> list[RequestRecord]:
        """Let everything happen; return the records once nothing is left to happen.

        Args:
            arrivals: what happens when, in order of time; taken one at a time, so that a long
                traffic need not be in memory.
            on_end: gives what follows from a request's end (a user's next turn); moments before
                now happen now.

        Raises:
            StuckError: requests did not end although nothing is left to happen.
            ValueError: the arrivals are not in order of time.
        """
        self._on_end = on_end or _leave
        coming = iter(arrivals)
        self._plan_next(coming)
        while self._plans or self._due:
            if self._due and (not self._plans or self._due[0] <= self._plans[0][0]):
                self.now, output = self._due
                self._due = None
                self._hear_engine(output)
            else:
                self.now, number, what = heapq.heappop(self._plans)
                if number < 0:
                    self._plan_next(coming)
                self._carry_out(what)
            if self._due is None:
                self._step_engine()
        if not self._serve.idle:
            raise StuckError(f"still running: {', '.join(self._running) or 'cancelled requests'}")
        return self.records

    # -- plans -------------------------------------------------------------------------------------

    def _plan_next(self, coming: Iterator[Plan]) -> None:
        """Take the next arrival; its number is negative, so that it comes first at its moment."""
        following = next(coming, None)
        if following is not None:
            when, what = following
            if when < self.now:
                raise ValueError(f"an arrival at {when} s comes after one at {self.now} s")
            heapq.heappush(self._plans, (when, -1, what))

    def _plan(self, plans: Iterable[Plan]) -> None:
        for when, what in plans:
            self._planned += 1
            heapq.heappush(self._plans, (max(when, self.now), self._planned, what))

    def _carry_out(self, what: Request | GoesAway) -> None:
        if isinstance(what, Request):
            self._running[what.id] = RequestRecord(what.id, self.now, len(what.prompt))
            self._tell_engine(self._serve.submit(what, self.now))
        elif what.request in self._running:
            record = self._running.pop(what.request)
            record.generated, record.legs = self._serve.so_far(what.request)
            self._tell_engine(self._serve.cancel(what.request, self.now))
            self._close(record, "left", ())

    # -- the pipes ---------------------------------------------------------------------------------

    def _step_engine(self) -> None:
        step = self._engine.step()
        if step is not None:
            self._due = (self.now + step.seconds, step.output)

    def _hear_engine(self, data: bytes) -> None:
        """Take the engine's output as far as it goes."""
        if self._sidecar is None:
            self._hear(data)
        else:
            self._pass_on(self._sidecar.from_engine(data, self.now))

    def _tell_engine(self, lines: list[bytes]) -> None:
        """Take the serve process's lines as far as they go."""
        if not lines:
            return
        data = b"".join(lines)
        if self._sidecar is None:
            self._engine.from_client(data)
        else:
            self._pass_on(self._sidecar.from_client(data, self.now))

    def _pass_on(self, output: Output) -> None:
        for event in output.events:
            self._on_event(self.now, event)
        if output.to_engine:
            self._engine.from_client(b"".join(output.to_engine))
        if output.to_client:
            self._hear(b"".join(output.to_client))

    def _hear(self, data: bytes) -> None:
        """Let the serve process act on what it reads."""
        lines, events = self._serve.from_engine(data, self.now)
        self._tell_engine(lines)
        for event in events:
            self._note(event)

    # -- what is noted -----------------------------------------------------------------------------

    def _keep_event(self, now: float, event: Event) -> None:
        self.events.append((now, event))

    def _note(self, event: ServeEvent) -> None:
        if isinstance(event, TokenArrived):
            record = self._running[event.request]
            if record.first_token is None:
                record.first_token = self.now
        else:
            record = self._running.pop(event.request)
            record.generated, record.legs = len(event.tokens), event.legs
            self._close(record, event.finish, event.tokens)

    def _close(self, record: RequestRecord, finish: str, tokens: tuple[int, ...]) -> None:
        record.end, record.finish = self.now, finish
        self.records.append(record)
        self._plan(self._on_end(record, tokens))


def _leave(record: RequestRecord, tokens: tuple[int, ...]) -> Iterable[Plan]:
    """Do nothing after a request."""
    return ()
