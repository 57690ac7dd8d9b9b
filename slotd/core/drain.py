"""Getting the engine back in step after its client has gone.

Here: what is asked of the engine so that everything the client had asked for comes to its end, and
how to tell that it has. Not here: writing that, what the lines mean to the model, and how long to
wait (the shell's business).

What ends what:

- a request on the control lines gets a `STOP` once it has begun, as the engine drops an earlier one
  as stale; an engine that does not honour `STOP` is left to finish it;
- a request in a slot gets a `BSTOP`, also when an admission goes on in its slot after all;
- a frame (`GENG*`) without its request gets one the engine refuses, and so does the beginning of a
  line that was too long to be held;
- a line slotd does not know may have no answer: an engine leaves out an empty one, or takes it for
  an order. A request it refuses is sent after it: an engine that has answered since, and then says
  nothing for long, has come to the end of what it was told;
- reads that gave way and reservations are nobody's any more: their slots are idle, and what they
  hold is a history like any other.

The lines that say so are followed here as well as in the model, so that a request the model could
not follow ends too. slotd's own requests end by themselves: no `STOP` is sent while one runs.
"""

from collections.abc import Callable

from protocol import (
    Admitted,
    Answer,
    BatchDone,
    BatchToken,
    CacheSource,
    Done,
    EngineError,
    EngineLine,
    EngineOpaque,
    Progress,
    Resume,
    Token,
)
from slotd.core.flight import Phase, Question, Request
from slotd.core.model import Model
from slotd.core.state import Activity

STOP = b"STOP\n"
REFUSED_REQUEST = b"GEN 0 0\n"
"""A request the engine answers with `ERR`, as it may generate nothing."""
REFUSED_REST = b",x\n"
"""The end of a line that makes a list of ids none."""


class Drain:
    """One client's going."""

    def __init__(self, model: Model, may_stop: Callable[[], bool]) -> None:
        """Begin beside `model`; `may_stop` tells whether the running request is the client's."""
        self._model = model
        self._may_stop = may_stop
        self._stopped = False
        """STOP was sent for the request on the control lines."""
        self._slots: set[int] = set()
        """Engine slots that BSTOP was sent for."""
        self._asked = False
        """A request to be refused was sent after lines that may have no answer."""
        self._answered = False
        """The engine has answered something since."""

    def begin(self) -> list[bytes]:
        """Return what to write at once."""
        head = self._model.flight.head
        orders = []
        if isinstance(head, Request) and head.phase in (Phase.READING, Phase.DECODING):
            orders += self._stop()
        for slot in self._model.slots:
            if slot.activity is Activity.DECODING:
                orders += self._stop_slot(slot.number)
        self._asked = self._model.flight.doubtful
        return [*orders, *_refused_request(self._model)] if self._asked else orders

    def follow(self, line: EngineLine) -> list[bytes]:
        """Take a line the model has taken in; return what to write because of it."""
        match line:
            case Resume() | CacheSource() | Progress() | Token():
                return self._stop()
            case Admitted(slot=slot, goes_on=goes_on):
                self._stopped = False
                return self._stop_slot(slot) if goes_on else []
            case Done() | EngineError():
                self._stopped, self._answered = False, True
            case Answer() | EngineOpaque():
                self._answered = True
            case BatchToken(slot=slot):
                return self._stop_slot(slot)
            case BatchDone(slot=slot):
                self._slots.discard(slot)
        return []

    def silent(self) -> None:
        """Take note that the engine has printed nothing for long."""
        flight = self._model.flight
        if self._asked and self._answered and not flight.requesting:
            flight.forget()

    @property
    def over(self) -> bool:
        """Nothing the client had asked for is on its way any more."""
        flight, slots = self._model.flight, self._model.slots
        decoding = any(slot.activity is Activity.DECODING for slot in slots)
        return not len(flight) and not flight.untracked and not decoding

    def settle(self) -> None:
        """Free every slot for the next client; call it once it is over."""
        for slot in self._model.slots:
            if slot.activity is Activity.READING:  # a request nobody followed
                slot.forget()
            slot.activity, slot.owner, slot.claim = Activity.IDLE, None, None

    def _stop(self) -> list[bytes]:
        if self._stopped or not self._model.capabilities.stop or not self._may_stop():
            return []
        self._stopped = True
        return [STOP]

    def _stop_slot(self, slot: int) -> list[bytes]:
        if slot in self._slots:
            return []
        self._slots.add(slot)
        return [b"BSTOP %d\n" % slot]


def refused_line(model: Model, inside_line: bool, after_frame: bool) -> list[bytes]:
    """Return what makes the engine refuse what a client began and left unfinished, if anything.

    `inside_line`: it has had the beginning of a line; `after_frame`: a frame and not its request.
    """
    if inside_line:
        if not len(model.flight) and not model.flight.untracked:
            # Its beginning is in the queue no more, or never was: a verb that is never answered.
            model.flight.add(Question(None, any_answer=True))
        return [REFUSED_REST]
    return _refused_request(model) if after_frame else []


def _refused_request(model: Model) -> list[bytes]:
    model.flight.add(Question(None, any_answer=False))
    return [REFUSED_REQUEST]
