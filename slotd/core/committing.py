"""A decision carried out: the numbering changed, the line written.

Here: the only place where a client number's engine slot changes, to an idle slot, for a number
whose own slot holds no client's request. Not here: deciding (`placing`), and how a line is written
(`rewriting`).
"""

from protocol import BatchYield, Generate, replace_field
from slotd.core.client_lines import sent_reservation
from slotd.core.model import Model
from slotd.core.placing import Plan, Reservation, decides
from slotd.core.rewriting import Sent, decided_line, undecided_line
from slotd.core.settings import SidecarSettings


def commit(model: Model, settings: SidecarSettings, line: Generate, plan: Plan) -> Sent:
    """Carry a plan out: choose its slot for the line's number and write the line."""
    numbering = model.numbering
    if plan.decided:
        if line.slot is not None and plan.slot is not None:
            numbering.choose(line.slot, plan.slot)
        sent = decided_line(
            numbering,
            line,
            plan.park,
            slot_key=settings.slot_key,
            keep=settings.keep_client_keys,
        )
    else:
        keep = settings.keep_client_keys or not decides(model, settings)
        sent = undecided_line(numbering, line, keep=keep)
    model.events.extend(plan.events)
    return sent


def commit_own(model: Model, settings: SidecarSettings, line: Generate, plan: Plan) -> Sent:
    """Write the line with its own slot, as the numbering stands."""
    if line.slot is None:
        return Sent(line.raw, None, None)
    slot = model.numbering.engine_slot(line.slot)
    raw = line.raw if slot == line.slot else replace_field(line.raw, 1, b"%d" % slot)
    return Sent(raw, slot, None)


def reserve(model: Model, line: BatchYield, kept: Reservation) -> None:
    """Choose the reserved slot for the number the read is to go on under."""
    model.numbering.choose(line.slot, kept.slot)
    sent_reservation(model, kept.request, kept.slot)
    model.events.extend(kept.events)
