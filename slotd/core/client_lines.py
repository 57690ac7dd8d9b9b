"""What each line sent to the engine changes in the model.

Here: what is on its way from the moment it is sent. Everything is told in engine slot numbers, as
the line left slotd. Not here: choosing those (`placing`) and writing them (`rewriting`).
"""

from protocol import ClientOpaque, Exchange, Generate, common_prefix
from slotd.core.flight import Question, Request
from slotd.core.model import Model
from slotd.core.state import Activity
from slotd.policy.story import Story
from slotd.policy.table import RequestVerb

_REQUEST_VERBS: dict[bytes, RequestVerb] = {
    b"GEN": "GEN",
    b"GENI": "GENI",
    b"BGEN": "BGEN",
    b"BGENI": "BGENI",
}
_UNANSWERED = frozenset({b"BSTOP", b"BYIELD", b"QUIT"})
"""Verbs the engine says nothing to, however wrong the rest of the line is."""
_UNKNOWN_ANSWERS = frozenset({"CHECKG"})
"""Exchanges of which the protocol does not say what their answer looks like."""


def sent_request(
    model: Model,
    line: Generate,
    number: int,
    slot: int | None,
    park: int | None,
    now: float,
    story: Story | None = None,
) -> None:
    """Queue a request that was sent to engine slot `slot`, with a park into slot `park`."""
    request = Request(
        number=number,
        verb=line.verb,
        client_slot=line.slot,
        slot=slot,
        prompt=line.ids,
        max_new=line.max_new,
        cvec=line.cvec,
        ckpt=line.ckpt,
        images=line.images,
        park=park,
        sent=now,
        turn=now,
        story=story,
    )
    _queue_request(model, request)


def sent_unknown_request(
    model: Model,
    verb: RequestVerb,
    number: int,
    client_slot: int | None,
    slot: int | None,
    now: float,
) -> None:
    """Queue a request of which only the slot is known: what it leaves behind is unknown.

    One that was queued under its number already becomes unknown.
    """
    for queued in model.flight.requests():
        if queued.number == number and not queued.own:
            queued.prompt = None
            return
    request = Request(
        number=number,
        verb=verb,
        client_slot=client_slot,
        slot=slot,
        prompt=None,
        max_new=0,
        cvec=1,
        ckpt=True,
        images=False,
        park=None,
        sent=now,
        turn=now,
    )
    _queue_request(model, request)


def sent_exchange(model: Model, line: Exchange) -> None:
    """Queue an exchange: it ends at its answer."""
    model.flight.add(Question(line.verb, line.verb in _UNKNOWN_ANSWERS))


def sent_opaque(model: Model, line: ClientOpaque, slot: int | None, now: float) -> None:
    """Queue a line that was not understood: the engine may refuse it, or understand it.

    `slot`: the engine slot in its first field, when it is an admission that has one.
    """
    verb = line.raw.split(b" ", 1)[0].strip()
    if verb in _REQUEST_VERBS:
        client_slot = None if slot is None else model.numbering.client_slot(slot)
        number = model.next_request()
        sent_unknown_request(model, _REQUEST_VERBS[verb], number, client_slot, slot, now)
    elif verb not in _UNANSWERED:
        model.flight.add(Question(None, any_answer=True))


def sent_reservation(model: Model, request: Request, slot: int) -> None:
    """Reserve an idle slot for the part of a solo read that was asked to give way into it."""
    reserved = model.slots[slot]
    reserved.activity, reserved.owner = Activity.RESERVED, request
    reserved.checkpoints = ()


def goes_on(model: Model, line: Generate) -> int | None:
    """Return the engine slot that keeps the part of this read that gave way, if it has one."""
    if line.slot is None or line.images:
        return None
    slot = model.slot(model.numbering.engine_slot(line.slot))
    if slot is None or slot.activity is not Activity.YIELDED or slot.cvec != line.cvec:
        return None
    part = slot.history.tokens()
    begins = slot.valid and common_prefix(part, line.ids) == len(part) < len(line.ids)
    return slot.number if begins else None


def give_up_yield(model: Model, client_slot: int) -> None:
    """Take note that the client uses a number again whose read had given way: it was cancelled.

    The part stays in the slot like any other history.
    """
    slot = model.slot(model.numbering.engine_slot(client_slot))
    if slot is not None and slot.activity is Activity.YIELDED:
        slot.activity = Activity.IDLE


def _queue_request(model: Model, request: Request) -> None:
    tracked = model.flight.add(request)
    slot = model.slot(request.slot)
    if slot is not None and not slot.occupied:
        slot.activity, slot.owner = Activity.READING, request if tracked else None
        slot.checkpoints = ()
    claimed = model.slot(request.park)
    if claimed is not None and tracked:
        claimed.claim, claimed.checkpoints = request, ()
