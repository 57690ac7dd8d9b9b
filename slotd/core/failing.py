"""What is left known when a step of the core has failed.

Here: the one place where all that goes wrong is caught, forgetting what a line touched that the
model could not take in, and telling of the failure. Not here: what is done instead (`instead`).
"""

from collections.abc import Callable
from traceback import extract_tb
from typing import ParamSpec, TypeVar

from protocol import (
    Admitted,
    Answer,
    BatchDone,
    BatchToken,
    Checks,
    Done,
    EngineError,
    EngineLine,
    Parked,
    Yielded,
)
from slotd.core.engine_lines import observe
from slotd.core.events import Event
from slotd.core.flight import Entry, Question, Request
from slotd.core.model import Model
from slotd.core.state import Activity, Slot

P = ParamSpec("P")
R = TypeVar("R")

QUIET_S = 10.0
"""Seconds in which the same failure is told once."""


class Failures:
    """Tells of failures: one event each, but the same one at most once in `QUIET_S`."""

    def __init__(self) -> None:
        """Begin with none."""
        self._quiet_until: dict[tuple[str, str], float] = {}
        self._untold: dict[tuple[str, str], int] = {}

    def event(self, where: str, failure: Exception, now: float) -> Event | None:
        """Return the event that tells of a failure; None when it was told just now.

        Neither the exception's text nor its values are in it: they may hold tokens.
        """
        frames = extract_tb(failure.__traceback__)
        last = frames[-1] if frames else None
        place = "" if last is None else f" in {last.name}, line {last.lineno}"
        message = f"{type(failure).__name__}{place}"
        key = (where, message)
        if now < self._quiet_until.get(key, now):
            self._untold[key] = self._untold.get(key, 0) + 1
            return None
        self._quiet_until[key] = now + QUIET_S
        again = self._untold.pop(key, 0)
        return Event("error", "error", {"where": where, "message": message, "repeated": again})


class Guard:
    """Takes a step of the core; whatever goes wrong in it, tells it and takes another instead."""

    def __init__(self, model: Model, now: Callable[[], float]) -> None:
        """Tell of failures among the events of `model`, by a clock of seconds."""
        self._model = model
        self._now = now
        self._failures = Failures()

    def __call__(
        self,
        step: Callable[P, R],
        otherwise: Callable[P, R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Return what `step` returns, or `otherwise` where it raises."""
        try:
            return step(*args, **kwargs)
        except Exception as failure:  # noqa: BLE001 - failing open: the line must go through
            event = self._failures.event(step.__name__, failure, self._now())
            if event is not None:
                self._model.events.append(event)
            return otherwise(*args, **kwargs)


def observed(model: Model, line: EngineLine, now: float) -> bool:
    """Take in one line of the engine; True: it was taken in."""
    observe(model, line, now)
    return True


def lost(model: Model, line: EngineLine, now: float) -> bool:
    """Forget what a line touches that the model could not take in; False: it was not taken in."""
    if isinstance(line, BatchToken | BatchDone | Admitted | Yielded | Parked | Checks):
        slot = model.slot(line.slot)
        if slot is not None:
            _lose_slot(slot, line)
    if not isinstance(line, BatchToken | BatchDone):
        model.main.forget()
        for request in model.flight.requests()[:1]:
            request.prompt = None
    return False


def lost_token(model: Model, number: int, token: int) -> None:
    """Forget what a slot held that could not take in a token."""
    slot = model.slot(number)
    if slot is not None:
        slot.decode_unknown()


def _lose_slot(slot: Slot, line: EngineLine) -> None:
    match line:
        case BatchToken() | Admitted(goes_on=True):
            slot.decode_unknown()
        case BatchDone() | Admitted() | Yielded():
            slot.activity, slot.owner = Activity.IDLE, None
            slot.forget()
        case _:
            slot.forget()


def settle(model: Model, head: Entry | None, line: EngineLine, now: float) -> None:
    """End the entry a line ends that the model could not take in, if it is still the head."""
    match line:
        case EngineError():
            ends = True
        case Answer():
            ends = isinstance(head, Question)
        case Done():
            ends = isinstance(head, Request) and not head.batch
        case Admitted():
            ends = isinstance(head, Request) and head.slot == line.slot
        case _:
            ends = False
    if ends and head is not None and model.flight.head is head:
        model.flight.pop(now)
        if isinstance(head, Request):
            model.release(head)
