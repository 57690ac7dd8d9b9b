"""Believe the engine: what it is expected to reuse, and what follows when it says otherwise.

Here: which states should give a prompt how many tokens, and correcting the model where the engine's
word contradicts that. Not here: the lines that carry its word (`request_lines`).
"""

from attrs import frozen

from protocol import TokenIds, common_prefix
from slotd.core.flight import Request
from slotd.core.model import Model
from slotd.core.state import Activity, Main, Slot


@frozen
class Holder:
    """A state that should give the prompt its first `tokens` tokens."""

    tokens: int
    slot: int | None
    """The engine slot; None: the main session."""
    checkpoint: bool
    """By a reported checkpoint, not by its whole history."""


def holders(model: Model, request: Request) -> list[Holder]:
    """Return every state the engine should find a start of the request's prompt in.

    The main session's and the idle slots' whole histories where they are known exactly and are
    proper prefixes of the prompt, and the reported checkpoints of idle slots. Idle is what the
    engine calls idle: a slot that keeps a yielded read, or that this or another request is to be
    read into, still gives back what it holds.
    """
    prompt = request.prompt
    if prompt is None or request.images:
        return []
    found: list[Holder] = []
    main = model.main
    if main.valid and main.exact and _comparable(main, request):
        length = len(main.history)
        if 0 < length < len(prompt) and _shared(main, prompt) == length:
            found.append(Holder(length, None, checkpoint=False))
    for slot in model.slots:
        if slot.activity is Activity.DECODING or not slot.valid or not _comparable(slot, request):
            continue
        shared, length = _shared(slot, prompt), len(slot.history)
        if shared == length < len(prompt) and not slot.unseen:
            found.append(Holder(length, slot.number, checkpoint=False))
        found.extend(
            Holder(checkpoint, slot.number, checkpoint=True)
            for checkpoint in slot.checkpoints
            if checkpoint <= shared and checkpoint < len(prompt)
        )
    return found


def check_reuse(model: Model, request: Request, said: int, source: int | None = None) -> None:
    """Compare what the engine reuses with what was expected; correct the model, tell one drift.

    Fewer tokens than expected: whoever should have given more does not hold it. More tokens are
    explained by a checkpoint nobody reported, as long as some state holds or held that start of the
    prompt. `source` is the slot the engine names as the origin (-1: none), None when it names none.
    """
    if request.prompt is None:
        return
    found = holders(model, request)
    expected = max((holder.tokens for holder in found), default=0)
    wrong = [holder for holder in found if holder.tokens > said]
    corrected = {holder.slot for holder in wrong}
    explained = said <= expected or _could_give(model, request, request.prompt) >= said
    for holder in wrong:
        _contradict(model, holder)
    if source is not None and said > 0:
        verdict = _judge_source(model, request, said, source)
        explained = verdict.fits
        corrected.update(verdict.corrected)
    if wrong or not explained:
        slots = sorted(slot for slot in corrected if slot is not None)
        model.drift(request.number, "resume", expected, said, slots, main=None in corrected)


def check_source(model: Model, request: Request, said: int, source: int) -> None:
    """Compare the origin the engine names, after `RESUME` has been checked, with that slot."""
    if request.prompt is None or said == 0:
        return
    slot = model.slot(source)
    held = 0 if slot is None else _shared(slot, request.prompt)
    verdict = _judge_source(model, request, said, source)
    if not verdict.fits:
        model.drift(request.number, "cache_source", held, said, verdict.corrected)


@frozen
class _Verdict:
    """Whether a named origin fits what was believed of it, and the slots corrected if not."""

    fits: bool
    corrected: tuple[int, ...] = ()


def _judge_source(model: Model, request: Request, said: int, source: int) -> _Verdict:
    assert request.prompt is not None
    slot = model.slot(source)
    if slot is None:
        return _Verdict(_reach(model.main, request.prompt) >= said)
    if slot.activity is Activity.DECODING:
        # It cannot be, and which of the two is wrong will show: its tokens are still mapped.
        return _Verdict(False)
    if _reach(slot, request.prompt) < said:
        slot.lose()
        return _Verdict(False, (slot.number,))
    if not slot.valid and said == len(slot.history):
        # Not lost after all: the engine has just restored all of it.
        slot.valid = True
        return _Verdict(False, (slot.number,))
    return _Verdict(True)


def _contradict(model: Model, holder: Holder) -> None:
    if holder.slot is None:
        model.main.lose()
        return
    slot = model.slots[holder.slot]
    if holder.checkpoint:
        slot.checkpoints = tuple(length for length in slot.checkpoints if length != holder.tokens)
    else:
        slot.lose()


def _could_give(model: Model, request: Request, prompt: TokenIds) -> int:
    """Return how much of the prompt any state may give, by checkpoints nobody reported too."""
    states: list[Main | Slot] = [model.main, *model.slots]
    return max(
        (_reach(state, prompt) for state in states if state.cvec == request.cvec or state.unknown),
        default=0,
    )


def _reach(state: Main | Slot, prompt: TokenIds) -> int:
    """Return how much of the prompt a state may hold, at most.

    As far as it shares what the state holds or held; and where it shares all of that, as many
    tokens more as the state may hold beyond it.
    """
    if state.unknown:
        return len(prompt)
    shared = _shared(state, prompt)
    if shared < len(state.history):
        return shared
    if isinstance(state, Main):
        return shared if state.exact else len(prompt)
    return shared + state.unseen


def _comparable(state: Main | Slot, request: Request) -> bool:
    """Tell whether the engine would compare the state with the prompt: cvec and pictures."""
    return state.cvec == request.cvec and not state.images and not request.images


def _shared(state: Main | Slot, prompt: TokenIds) -> int:
    return common_prefix(state.history.tokens(), prompt)
