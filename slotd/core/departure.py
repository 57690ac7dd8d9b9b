"""From one client to the next: what a client that goes leaves behind, until nothing is left of it.

Here: what was sent last and is unfinished, the time between a client's going and the engine's being
in step again, and telling of both. Not here: what is asked of the engine meanwhile (`drain`), and
what the client wrote and slotd has not passed on (`sidecar`).
"""

from collections.abc import Callable

from protocol import EngineLine, Exchange, Generate, GrammarFrame
from slotd.core.detour import Waiting
from slotd.core.drain import Drain, refused_line
from slotd.core.failing import Guard
from slotd.core.instead import no_orders, nothing
from slotd.core.model import Model
from slotd.core.state import Activity


class Departure:
    """The going of one client after the other; most of the time nobody goes."""

    def __init__(self, model: Model, guarded: Guard, may_stop: Callable[[], bool]) -> None:
        """Begin beside `model`; `may_stop` tells whether the running request is the client's."""
        self._model = model
        self._guarded = guarded
        self._may_stop = may_stop
        self._inside_line = False
        """The last item sent was a piece of a line that goes on."""
        self._after_frame = False
        """A frame was sent whose request is still to come."""
        self._drain: Drain | None = None
        """What is under way since the client has gone."""
        self._since = 0.0

    @property
    def over(self) -> bool:
        """Nothing of a client that has gone is under way."""
        return self._drain is None

    def sent(self, item: Waiting) -> None:
        """Take note of what has left for the engine.

        Only what a frame can be for ends the wait for it: of anything else, an engine's reader may
        have made away with it before it looked at the frame.
        """
        self._inside_line = item.goes_on
        match item.line:
            case GrammarFrame():
                self._after_frame = True
            case Generate() | Exchange(verb="CHECKG"):
                self._after_frame = False

    def begin(self, now: float) -> list[bytes]:
        """Take note that the client has gone; return what to write at once."""
        drain = Drain(self._model, self._may_stop)
        orders = refused_line(self._model, self._inside_line, self._after_frame)
        self._since, self._inside_line, self._after_frame = now, False, False
        if drain.over:
            drain.settle()
            return orders
        self._drain = drain
        self._model.tell(
            "drain",
            "info",
            requests=len(self._model.flight.requests()) + self._model.flight.untracked,
            slots=sum(slot.activity is Activity.DECODING for slot in self._model.slots),
            unfinished=len(orders) > 0,
        )
        return orders + self._guarded(drain.begin, no_orders)

    def follow(self, line: EngineLine, now: float) -> list[bytes]:
        """Take a line of the engine the model has taken in; return what to write because of it."""
        if self._drain is None:
            return []
        orders = self._guarded(self._drain.follow, no_orders, line)
        self._end(self._drain, now)
        return orders

    def silent(self, now: float) -> None:
        """Take note that the engine has printed nothing for long."""
        if self._drain is not None:
            self._guarded(self._drain.silent, nothing)
            self._end(self._drain, now)

    def engine_ended(self) -> None:
        """Take everything for ended: so has the engine."""
        self._drain, self._inside_line, self._after_frame = None, False, False

    def _end(self, drain: Drain, now: float) -> None:
        if drain.over:
            drain.settle()
            self._drain = None
            self._model.tell("drained", "info", ms=round((now - self._since) * 1000, 1))
