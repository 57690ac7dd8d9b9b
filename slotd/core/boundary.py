"""The turn checkpoint of the main session, where the engine reports none.

Here: following, from what requests resume, which checkpoint the main session surely has. Not here:
checkpoints of slots, which the engine reports or a park brings along.

A checkpoint is saved where a read crosses the prompt's last turn. A read that begins behind it adds
none: the main session then has what it resumed from had, and a slot's whole history comes without
its checkpoints.
"""

from protocol import common_prefix
from slotd.core.flight import Request
from slotd.core.model import Model
from slotd.core.recall import last_turn
from slotd.core.state import Activity

EVERY = 16_384
"""Tokens between the engine's periodic checkpoints."""


def inherited(model: Model, request: Request, said: int, source: int | None) -> int | None:
    """Return the deepest checkpoint in what a request resumes `said` tokens from, before it begins.

    `source` is the slot the engine names (-1: none), None when it names none. 0: there is no
    checkpoint, None: not known.
    """
    prompt = request.prompt
    if said == 0:
        return 0
    if prompt is None:
        return None
    main = model.main
    if source in (None, -1) and main.cvec == request.cvec and not main.unknown:
        shared = common_prefix(main.history.tokens(), prompt)
        if main.valid and said == len(main.history) <= shared:
            return main.boundary
        if said == main.boundary and said <= shared:
            return said
    for slot in model.slots:
        if source not in (None, slot.number) or slot.activity is Activity.DECODING:
            continue
        if not slot.valid or common_prefix(slot.history.tokens(), prompt) < said:
            continue
        if said == len(slot.history):
            return 0
        if said in slot.checkpoints:
            return said
    return None


def left_behind(request: Request, turn_token: int | None) -> int | None:
    """Return the deepest checkpoint the main session has after a request that read its prompt.

    0: there is none, None: not known.
    """
    prompt, said = request.prompt, request.said
    if prompt is None or said is None:
        return None
    if said >= len(prompt) - 1:
        return request.boundary
    if turn_token is None:
        return None
    turn = last_turn(prompt[:-1], turn_token)
    if (len(prompt) - 1) // EVERY * EVERY > max(turn, said):
        # A periodic one lies behind it: where, the engine's options say.
        return None
    return turn if turn > said else request.boundary
