"""Parking the main session by a request of slotd's own, on an engine that has no `park=`.

Here: when that can be done, the request that does it, which of the engine's lines are its own, and
what came of it. Not here: where the conversation goes (`slotd.policy.park`), the client's lines
that wait meanwhile (`detour`), and what the engine's lines change in the model.

The request is an admission of what the main session holds and its last generated token. The main
session holds all of that prompt but the last token, so nothing is read again; the admission copies
it, with its turn checkpoint, into the slot. There it generates one token more, which cannot be
helped, and ends. The slot then holds the conversation and one token of the engine's choice: it
gives back all of it where the next turn goes on with that token, else up to its checkpoint.
"""

from enum import Enum
from typing import Literal

import numpy as np
from attrs import define

from protocol import (
    Admitted,
    BatchDone,
    BatchToken,
    CacheSource,
    Checks,
    Done,
    EngineError,
    EngineLine,
    Progress,
    Resume,
    Token,
    TokenIds,
    format_ids,
)
from slotd.core.flight import Phase, Request
from slotd.core.model import Model
from slotd.core.settings import SidecarSettings
from slotd.core.state import Activity
from slotd.policy.park import Park
from slotd.policy.table import Table

MAX_NEW = 2
"""Tokens the request asks for: one that the admission picks, one of the slot's first window."""
ROOM = 8
"""Tokens the engine wants free in its context beside the prompt and what it may generate."""
AFFORDABLE_READ = 2048
"""Tokens the request may read again: a chunk, since a `STOP` is seen only after one."""
FAILURES = 2
"""Failed parks in a row after which the engine is left alone."""

Hindrance = Literal["no_room", "inexact", "no_checkpoint"]
"""Why the main session cannot be parked so: its context is full; what it holds is known up to a few
drafts, and reading its reply again would cost too much; or the copy would come without a checkpoint
and overwrite one of the same conversation that is sure."""


class Stage(Enum):
    """How far a park is."""

    ASKED = "asked"
    """Its request is on the control lines, or is going there."""
    COPIED = "copied"
    """The copy is in the slot, where the request still decodes."""
    OVER = "over"


@define(eq=False)
class OwnPark:
    """One park by a request of slotd's own."""

    request: Request
    line: bytes
    """The request as it leaves for the engine."""
    stage: Stage = Stage.ASKED
    stopped: bool = False
    """It was stopped, because it would have read too much again."""
    last_words: bytes = b""
    """The `ERR` it was answered with, which may be what a dying engine said last."""

    @property
    def slot(self) -> int:
        """The engine slot it copies into."""
        assert self.request.slot is not None
        return self.request.slot


def emulates(model: Model, settings: SidecarSettings) -> bool:
    """Tell whether a request of slotd's own may park the main session now.

    Where the setting asks for it and the engine has no park of its own but keeps what finished
    slots hold, nothing else is on its way, and such parks have not failed too often.
    """
    able = model.capabilities.slot_cache and not model.capabilities.slot_park
    if settings.park != "emulated" or not able or model.failed_parks >= FAILURES:
        return False
    return not len(model.flight) and not model.flight.untracked and not _under_way(model)


def _under_way(model: Model) -> bool:
    return any(slot.own for slot in model.slots)


def hindrance(model: Model, table: Table, park: Park) -> Hindrance | None:
    """Return what keeps slotd from carrying out a park that was decided, if anything."""
    main, context = model.main, model.capabilities.context
    prompt = len(main.history) + 1
    if context is not None and prompt + MAX_NEW + ROOM > context:
        return "no_room"
    if main.pending is None or not (main.exact or _affordable(model, prompt)):
        return "inexact"
    if park.reason in ("older", "sibling") and park.slot is not None:
        sure = table.slots[park.slot].shared_main if park.reason == "older" else 1
        if main.boundary is not None and main.boundary < sure:
            return "no_checkpoint"
    return None


def _affordable(model: Model, prompt: int) -> bool:
    """Tell whether a wrong guess of what the main session holds would be cheap.

    It then resumes from its turn checkpoint, which is where its last prompt ends, about.
    """
    main = model.main
    if main.boundary == 0 or not model.capabilities.stop:
        return False
    return prompt - (main.boundary or main.asked) <= AFFORDABLE_READ


def begin(model: Model, slot: int, number: int, now: float) -> OwnPark:
    """Queue the request that parks the main session in an idle slot, before request `number`."""
    main = model.main
    if main.pending is None:
        raise ValueError("the main session's last token is not known")
    request = Request(
        number=number,
        verb="BGEN",
        client_slot=None,
        slot=slot,
        prompt=_with(main.history.tokens(), main.pending),
        max_new=MAX_NEW,
        cvec=main.cvec,
        ckpt=True,
        images=False,
        park=None,
        sent=now,
        turn=now,
        kept_from=main.last_use,
        story=main.history.story,
    )
    park = OwnPark(request, _line(request))
    destination = model.slots[slot]
    model.flight.add(request)
    destination.activity, destination.owner = Activity.READING, request
    destination.checkpoints = ()
    return park


def _with(tokens: TokenIds, last: int) -> TokenIds:
    longer = np.append(tokens, np.int32(last))
    longer.flags.writeable = False
    return longer


def _line(request: Request) -> bytes:
    assert request.prompt is not None
    assert request.slot is not None
    cvec = b"" if request.cvec == 1 else b"cvec=%d " % request.cvec
    ids = format_ids(request.prompt)
    return b"BGEN %d %d %s%s\n" % (request.slot, request.max_new, cvec, ids)


def is_own(model: Model, park: OwnPark, line: EngineLine) -> bool:
    """Tell whether a line the engine has just printed is about slotd's own request.

    To be asked before the model takes the line in.
    """
    request = park.request
    if park.stage is Stage.COPIED:
        return isinstance(line, BatchToken | BatchDone | Checks) and line.slot == park.slot
    if park.stage is Stage.OVER or model.flight.head is not request:
        return False
    match line:
        case Resume():
            return not request.resumed and not request.read_over
        case CacheSource():
            return not request.sourced and not request.read_over
        case Admitted() | Checks():
            return line.slot == park.slot
        case Progress() | Token() | Done():
            return request.phase is not Phase.ADMITTING
        case EngineError():
            return True
    return False


def heard(model: Model, park: OwnPark, line: EngineLine, now: float) -> bytes:
    """Go on after one of its own lines, which the model has taken in; return what to send.

    A read that should not be there is stopped at once; a request that decodes in its slot too.
    """
    match line:
        case Resume() if _reads_too_much(park.request, line) and model.capabilities.stop:
            park.stopped = True
            return b"STOP\n"
        case Admitted(goes_on=True):
            park.stage = Stage.COPIED
            _tell_copied(model, park, now)
            return b"BSTOP %d\n" % park.slot
        case Admitted() | EngineError():
            if isinstance(line, EngineError):
                park.last_words = line.raw
            _fail(model, park, now, "refused" if park.last_words else _end(park))
        case BatchDone():
            if model.slots[park.slot].valid:
                park.stage, model.failed_parks = Stage.OVER, 0
            else:
                _fail(model, park, now, "lost")
    return b""


def look_after(model: Model, park: OwnPark, now: float) -> None:
    """See to it that a park ends, whatever the engine says: one that is nowhere has failed."""
    if park.stage is Stage.ASKED and park.request not in model.flight:
        _fail(model, park, now, "lost")
    elif park.stage is Stage.COPIED and model.slot(park.slot) is None:
        park.stage = Stage.OVER


def _reads_too_much(request: Request, line: Resume) -> bool:
    return request.prompt is not None and len(request.prompt) - line.tokens > AFFORDABLE_READ


def _end(park: OwnPark) -> str:
    """Name what ended a request that was not admitted."""
    if park.stopped:
        return "stopped"
    return "copy" if park.request.finish == "length" else "ended"


def _fail(model: Model, park: OwnPark, now: float, why: str) -> None:
    park.stage = Stage.OVER
    model.failed_parks += 1
    model.tell(
        "parked",
        "warning",
        request=park.request.number,
        slot=park.slot,
        tokens=0,
        ms=_ms(park, now),
        how="emulated",
        read_again=_read_again(park.request),
        why=why,
    )
    if model.failed_parks >= FAILURES:
        model.tell("park_off", "warning", request=park.request.number, failures=model.failed_parks)


def _tell_copied(model: Model, park: OwnPark, now: float) -> None:
    request = park.request
    model.tell(
        "parked",
        "info",
        request=request.number,
        slot=park.slot,
        tokens=0 if request.prompt is None else len(request.prompt),
        ms=_ms(park, now),
        how="emulated",
        read_again=_read_again(request),
    )


def _ms(park: OwnPark, now: float) -> float:
    """Return the milliseconds since its request was sent."""
    return round((now - park.request.sent) * 1000, 1)


def _read_again(request: Request) -> int:
    """Return the tokens the main session held and the engine read again all the same."""
    if request.prompt is None or request.said is None:
        return 0
    return max(0, len(request.prompt) - 1 - request.said)
