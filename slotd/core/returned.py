"""What a park saved, told when its conversation comes back.

Here: which slot's parked history a request resumes from, and how much more that is than anything
else would have given it. Not here: what reuse was expected at all (`belief`).
"""

from protocol import TokenIds, common_prefix
from slotd.core.belief import holders
from slotd.core.flight import Request
from slotd.core.model import Model
from slotd.core.state import Activity, Slot


def tell_saving(model: Model, request: Request, said: int, source: int | None) -> None:
    """Tell what a park saved, if a request resumes `said` tokens from what it put into a slot.

    To be asked before the request begins. `source` is the slot the engine names (-1: none); where
    it names none, the slot must be the only state that could have given so many tokens.
    """
    prompt = request.prompt
    if request.own or prompt is None or said == 0:
        return
    slot = next((slot for slot in model.slots if _gives(slot, request, prompt, said)), None)
    if slot is None or (source is not None and source != slot.number):
        return
    if source is None and _also_from(model, slot, prompt, said):
        return
    others = (holder.tokens for holder in holders(model, request) if holder.slot != slot.number)
    saved = said - max((tokens for tokens in others if tokens <= said), default=0)
    if saved > 0:
        model.tell("park_saved", "info", request=request.number, slot=slot.number, tokens=saved)


def _gives(slot: Slot, request: Request, prompt: TokenIds, said: int) -> bool:
    if not slot.parked or not slot.valid or slot.activity is Activity.DECODING:
        return False
    if slot.cvec != request.cvec or request.images:
        return False
    return common_prefix(slot.history.tokens(), prompt) >= said


def _also_from(model: Model, slot: Slot, prompt: TokenIds, said: int) -> bool:
    """Tell whether another state shares so much with the prompt that it may be the source."""
    others = [model.main.history, *(other.history for other in model.slots if other is not slot)]
    return any(common_prefix(history.tokens(), prompt) >= said for history in others)
