"""What the lines of a request on the control lines change in the model.

Here: a request from its park to its end, and what the main session and the slots it names hold
after each of its lines. Not here: tokens of slots (`slot_lines`), what reuse was expected
(`belief`).

A line belongs to the request at the head of the queue. Where there is none, or it cannot be its
line, the model takes the line's word for what it touches and calls the rest unknown.
"""

from array import array

from protocol import (
    Admitted,
    CacheSource,
    Done,
    EngineError,
    Parked,
    Progress,
    Resume,
    Token,
    Yielded,
)
from slotd.core.belief import check_reuse, check_source
from slotd.core.boundary import inherited, left_behind
from slotd.core.events import finish_word
from slotd.core.flight import Beyond, Phase, Request
from slotd.core.history import History
from slotd.core.model import Model
from slotd.core.returned import tell_saving
from slotd.core.state import Activity, Slot


def parked(model: Model, line: Parked, now: float) -> None:
    """Copy the main session's history into the slot: it is still there until `RESUME`."""
    request = _current(model, now, begins=True)
    slot = model.slot(line.slot)
    asked = request is not None and request.park == line.slot
    if slot is None or slot.activity is Activity.DECODING:
        model.drift(_number(request), "parked", None, line.tokens)
        return
    main = model.main
    held = len(main.history) if main.valid else 0
    # A main session that is not exactly known may hold more than its history, never less.
    unseen = line.tokens - held
    fits = held > 0 and unseen >= 0 and (unseen == 0 or not main.exact)
    believed = fits if asked else fits and main.exact and slot.idle
    if believed:
        main.exact = main.exact or unseen == 0
        slot.hold(
            main.history.first(held),
            cvec=main.cvec,
            last_use=main.last_use,
            valid=model.capabilities.slot_cache,
            unseen=unseen,
        )
        slot.parked = True
        if slot.activity is Activity.YIELDED:
            slot.activity = Activity.IDLE
    elif line.tokens == 0:
        slot.clear()
    else:
        slot.forget()
    if asked:
        contradicted = not believed and line.tokens > 0 and not main.unknown
    else:
        contradicted = not believed and not model.flight.untracked
    if contradicted:
        model.drift(_number(request), "parked", held, line.tokens, [line.slot])
    if request is not None and asked:
        request.parked, slot.claim = True, None
        model.tell(
            "parked",
            "info",
            request=request.number,
            slot=line.slot,
            tokens=line.tokens,
            ms=round((now - request.turn) * 1000, 1),
        )


def cache_source(model: Model, line: CacheSource, now: float) -> None:
    """Compare where the reused tokens came from; the line stands before or after `RESUME`."""
    request = _current(model, now, begins=True)
    if request is None:
        model.main.forget()
        return
    if request.sourced:
        request = _abandon(model, request, now)
        if request is None:
            return
    request.sourced = True
    model.tell("cache_source", "debug", request=request.number, slot=line.slot, tokens=line.tokens)
    if request.said is None:
        _resumes(model, request, line.tokens, line.slot)
        request.said = line.tokens
        _begin(model, request)
    elif request.said != line.tokens:
        model.drift(request.number, "cache_source", request.said, line.tokens)
    else:
        check_source(model, request, line.tokens, line.slot)


def resume(model: Model, line: Resume, now: float) -> None:
    """Begin to read: the main session runs over the prompt from here on."""
    request = _current(model, now, begins=True)
    if request is not None and request.resumed:
        request = _abandon(model, request, now)
    if request is None:
        model.main.forget()
        return
    request.resumed = True
    if request.said is None:
        _resumes(model, request, line.tokens)
    elif request.said != line.tokens:
        model.drift(request.number, "resume", request.said, line.tokens)
    request.said = request.read = line.tokens
    _begin(model, request)


def _resumes(model: Model, request: Request, said: int, source: int | None = None) -> None:
    """Take in what the engine resumes from, before the main session runs over it."""
    request.boundary = inherited(model, request, said, source)
    main = model.main
    if source in (None, -1) and main.valid and said == len(main.history):
        request.stops = array("i", main.stops)
    tell_saving(model, request, said, source)
    check_reuse(model, request, said, source)


def progress(model: Model, line: Progress, now: float) -> None:
    """Follow the read."""
    request = _current(model, now)
    if request is None:
        model.main.forget()
        return
    _begin(model, request)
    request.read = line.read
    behind = request.stops[-1] if request.stops else 0
    if request.prompt is not None and behind < line.read <= len(request.prompt):
        request.stops.append(line.read)
    model.rate.progress(line.read - (request.said or 0), line.ms)


def token(model: Model, line: Token, now: float) -> None:
    """Collect what the main session generates."""
    request = _current(model, now)
    if request is None:
        model.main.forget()
        return
    _begin(model, request)
    request.phase = Phase.DECODING
    request.generated.append(line.id)


def yielded(model: Model, line: Yielded, now: float) -> None:
    """Keep the part that was read in the slot, for the client number that means it."""
    request = _current(model, now)
    slot = model.slot(line.slot)
    if slot is None or slot.activity is Activity.DECODING:
        model.drift(_number(request), "yielded", None, line.tokens)
        return
    if request is None or request.prompt is None or line.tokens > len(request.prompt):
        slot.activity = Activity.IDLE
        slot.forget()
        if request is not None:
            request.yielded = True
        return
    _begin(model, request)
    request.yielded, request.read = True, line.tokens
    part = History(request.prompt[: line.tokens], request.story)
    slot.hold(part, cvec=request.cvec, last_use=now, valid=True)
    slot.owner, slot.request = None, request.number
    slot.activity = Activity.YIELDED if slot.valid else Activity.IDLE
    model.tell(
        "yielded",
        "info",
        request=request.number,
        slot=slot.number,
        client_slot=model.numbering.client_slot(slot.number),
        tokens=line.tokens,
    )


def done(model: Model, line: Done, now: float) -> None:
    """Settle what the main session holds; a solo request has ended with it."""
    request = _current(model, now)
    if request is None:
        model.main.forget()
        model.flight.end_untracked(Beyond.SOLO)
        return
    if not request.batch:
        model.flight.pop(now)
        model.release(request)
    _begin(model, request)
    request.finish, request.prompt_ms, request.total = line.finish, line.prompt_ms, line.prompt
    _check_done(model, request, line)
    _settle_main(model, request, line, now)
    reused = request.said if request.said is not None else line.reused or 0
    request.said = reused
    if line.generated:
        request.read = line.prompt
    model.rate.finished(request.read - reused, line.prompt_ms)
    if request.batch:
        request.phase = Phase.ADMITTING
        return
    model.tell(
        "solo_done",
        "info",
        request=request.number,
        prompt=line.prompt,
        reused=reused,
        read=max(0, request.read - reused),
        generated=line.generated,
        finish=finish_word(line.finish),
        prompt_ms=round(line.prompt_ms, 1),
        ms=round(line.prompt_ms + line.decode_ms, 1),
    )


def admitted(model: Model, line: Admitted, now: float) -> None:
    """End an admission: its request decodes in the slot, or the slot holds what it held."""
    request = _current(model, now)
    slot = model.slot(line.slot)
    if request is None or request.phase is not Phase.ADMITTING or request.slot != line.slot:
        if request is None:
            model.flight.end_untracked(Beyond.ADMISSION)
        if slot is not None and slot.owner is None:
            _admitted_unknown(model, slot, line.goes_on)
        elif request is not None and request.slot == line.slot:
            model.flight.pop(now)
            model.release(request)
            model.main.forget()
            if slot is not None:
                _admitted_unknown(model, slot, line.goes_on)
        return
    model.flight.pop(now)
    model.release(request)
    if slot is None:
        return
    if line.goes_on:
        slot.decode(request)
        if request.own and model.main.boundary:
            # The engine may report none, and the deepest one of the main session comes along.
            slot.checkpoints = (model.main.boundary,)
    elif _copy_failed(request):
        slot.clear()
    if request.own:
        return
    client_slot = model.numbering.client_slot(slot.number)
    reused = request.said or 0
    model.tell(
        "admitted",
        "info",
        request=request.number,
        slot=slot.number,
        client_slot=client_slot,
        prompt=request.total,
        reused=reused,
        read=max(0, request.read - reused),
        ms=round(request.prompt_ms, 1),
        goes_on=line.goes_on,
    )


def error(model: Model, line: EngineError, now: float) -> None:
    """End whatever is answered next; a request that had begun leaves nothing in the main session.

    One that had not begun was refused: the main session holds what it held, and so do the slots.
    """
    entry = model.flight.pop(now)
    if entry is None:
        model.main.forget()
        model.flight.end_untracked(*Beyond)
        return
    if not isinstance(entry, Request):
        return
    if entry.phase in (Phase.READING, Phase.DECODING):
        model.main.lose()
    model.release(entry)
    if entry.own:
        return
    model.tell(
        "error",
        "warning",
        where="engine",
        request=entry.number,
        message=f"the engine answered request {entry.number} with ERR",
    )


def _number(request: Request | None) -> int | None:
    return None if request is None else request.number


def _current(model: Model, now: float, begins: bool = False) -> Request | None:
    """Return the request a line belongs to.

    `begins`: the line stands at a request's begin. Where the head is past that already, its end was
    missed.
    """
    request = model.flight.current(now)
    if begins and request is not None and request.read_over:
        return _abandon(model, request, now)
    return request


def _abandon(model: Model, request: Request, now: float) -> Request | None:
    """Give up a request whose end never came: what it touched is unknown. Return the next one."""
    model.flight.pop(now)
    model.main.forget()
    slot = model.slot(request.slot)
    if slot is not None and slot.owner is request:
        slot.forget()
    model.release(request)
    return model.flight.current(now)


def _begin(model: Model, request: Request) -> None:
    """Note the first sign that the engine reads the prompt: the main session runs over it."""
    if request.phase is not Phase.QUEUED:
        return
    request.phase = Phase.READING
    model.release_untracked()
    main = model.main
    main.forget()
    main.cvec, main.images, main.exact = request.cvec, request.images, True
    if request.prompt is not None:
        main.history, main.unknown = History(request.prompt, request.story), False


def _check_done(model: Model, request: Request, line: Done) -> None:
    """Compare what `DONE` counts with what was seen; a request it does not fit is not known."""
    if request.prompt is None:
        return
    if line.reused is not None and request.said is not None and line.reused != request.said:
        model.drift(request.number, "reused", request.said, line.reused)
    if line.prompt != len(request.prompt) and not request.images:
        model.drift(request.number, "prompt", len(request.prompt), line.prompt, main=True)
        request.prompt = None
    elif line.generated != len(request.generated):
        model.drift(request.number, "generated", len(request.generated), line.generated, main=True)
        request.prompt = None


def _settle_main(model: Model, request: Request, line: Done, now: float) -> None:
    """Hold the prompt and every generated token but the last, unless nothing is kept.

    Nothing is kept with `ckpt=0`, with pictures, and of a read that was stopped or gave way. After
    an end token the main session may hold a few accepted drafts more.
    """
    main = model.main
    if request.prompt is None:
        main.forget()
        return
    if not line.generated or not request.ckpt or request.images:
        main.lose()
        return
    main.history = History(request.prompt, request.story)
    main.history.extend(request.generated[:-1])
    main.valid = True
    main.last_use = now if request.kept_from is None else request.kept_from
    main.pending, main.asked = request.generated[-1], len(request.prompt)
    main.stops = request.stops
    main.boundary = left_behind(request, model.capabilities.turn_token)
    main.exact = not (line.finish == "stop" and line.offered > 0)


def _copy_failed(request: Request) -> bool:
    """Tell whether a refused admission should have gone on: then its copy left nothing usable."""
    return request.finish == "length" and len(request.generated) == 1 and request.max_new > 1


def _admitted_unknown(model: Model, slot: Slot, goes_on: bool) -> None:
    """Take an admission's end that belongs to no known request."""
    if slot.activity is Activity.DECODING and not goes_on:
        return
    slot.request = None
    if goes_on:
        slot.decode_unknown()
    else:
        slot.activity = Activity.IDLE
        slot.forget()
