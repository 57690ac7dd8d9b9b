"""What the lines of the batch slots change in the model.

Here: tokens and ends of requests that decode in slots, and reported checkpoints. These lines come
at any time, between any two lines of a request. Not here: admissions, parks and reads that give
way, which belong to a request (`request_lines`).
"""

from protocol import BatchDone, BatchToken, Checks
from slotd.core.events import finish_word
from slotd.core.model import Model
from slotd.core.state import Activity
from slotd.core.windows import PadRows
from slotd.policy.json_fields import JsonValue


def batch_token(model: Model, line: BatchToken, now: float) -> None:
    """Let the slot's state consume the token before this one."""
    take_token(model, line.slot, line.id)


def take_token(model: Model, number: int, token: int) -> None:
    """Let a slot's state consume the token before `token`."""
    if not 0 <= number < len(model.slots):
        return
    slot = model.slots[number]
    if slot.activity is not Activity.DECODING:
        model.drift(None, "batch_token", slot.activity.value, "decoding", [number])
        slot.request = None
        slot.decode_unknown()
    if model.pad_rows is not None:
        _lose_rows(model.pad_rows, number)
    if slot.pending is not None:
        slot.history.append(slot.pending)
        slot.pending = token
    slot.generated += 1


def batch_done(model: Model, line: BatchDone, now: float) -> None:
    """Free the slot, which keeps the prompt and every generated token but the last."""
    slot = model.slot(line.slot)
    if slot is None:
        return
    if line.finish == "error" and model.pad_rows is not None:
        # The window it failed in printed no token of it.
        _lose_rows(model.pad_rows, slot.number)
    was_decoding, known = slot.activity is Activity.DECODING, slot.pending is not None
    kept_from = slot.kept_from
    if not was_decoding:
        model.drift(slot.request, "slot_done", slot.activity.value, "decoding", [slot.number])
        slot.forget()
    elif known and slot.generated != line.generated:
        model.drift(slot.request, "generated", slot.generated, line.generated, [slot.number])
        slot.forget()
    slot.activity, slot.owner, slot.pending = Activity.IDLE, None, None
    slot.kept_from = None
    slot.last_use = now if kept_from is None else kept_from
    keeps = model.capabilities.slot_cache and not slot.images and line.finish != "error"
    slot.valid = slot.valid and keeps
    if not slot.valid:
        slot.checkpoints = ()
    model.take_next(slot)
    if kept_from is not None:
        return
    model.tell(
        "slot_done",
        "info",
        request=slot.request,
        slot=slot.number,
        client_slot=model.numbering.client_slot(slot.number),
        generated=line.generated,
        finish=finish_word(line.finish),
        ms=round(line.ms, 1),
    )


def checks(model: Model, line: Checks, now: float) -> None:
    """Take note of a slot's checkpoints, and compare the length the engine gives the slot."""
    slot = model.slot(line.slot)
    if slot is None:
        return
    lengths = tuple(sorted({length for length in line.lengths if 0 < length <= line.tokens}))
    held = len(slot.history) + slot.unseen
    known = slot.valid or slot.pending is not None
    if known and held != line.tokens:
        model.drift(slot.request, "checks", held, line.tokens, [slot.number])
        slot.forget()
    elif known:
        slot.checkpoints = lengths
    reported: list[JsonValue] = [*lengths]
    model.tell("checks", "debug", slot=slot.number, tokens=line.tokens, checkpoints=reported)


def _lose_rows(pad_rows: PadRows, number: int) -> None:
    """Take note that a window ran with this slot: the idle slots it spans have lost their state."""
    for lost in pad_rows.token(number):
        lost.lose()
