"""What the model claims, beside what the engine really holds.

Lives here: the comparison, and the only cases in which the model may know less than the truth. Must
not live here: how either of them came about.

The model may never claim more than the truth. It must know all of it, but for these cases:

- **Drafts behind an end token.** A solo reply that ended with `stop` and was offered drafts may
  have left more in the main session than was printed: the model knows a start of it and says so
  (`exact`). A park of it: `PARKED` says how many tokens more there are (`unseen`).
- **Exchanges.** After `RELEASED`, `RESTORED`, `SESSION` or `FATAL` the main session is unknown,
  until the next request reads over it; and so is what a park then copies.
- **ERR instead of DONE.** The main session holds nothing to continue from. (The simulated engine
  refuses requests before they begin, and those leave everything as it was: the model too.)
- **BDONE error.** What the slot's state is worth is not said: nothing. (The simulated engine keeps
  nothing either.)
- **Checkpoints** are those reported, until something that overwrites them is sent, whatever becomes
  of it. The main session's are never reported.
- **Parks by requests of slotd's own** bring the main session's turn checkpoint along, which the
  model works out where nothing is reported.
- **More than the model follows** (rough clients only): what untracked requests do is unknown.
"""

from collections.abc import Iterator

import numpy as np
from attrs import Factory, define

from slotd.core.model import Model
from slotd.core.state import Activity, Main, Slot
from slotd.sim.caches import Held, Holdings


@define
class Known:
    """What the lines so far said of what can be known, beyond the histories."""

    main: bool = True
    """False after an exchange that may have changed the main session."""
    all_reported: bool = True
    """False: the model may know of checkpoints that nothing reported."""
    unknown: set[int] = Factory(set)
    """Engine slots the main session was parked in while it was unknown."""
    reported: dict[int, tuple[int, ...]] = Factory(dict)
    """By engine slot: the last reported checkpoints of what it holds."""
    overwritten: set[int] = Factory(set)
    """Engine slots that an admission or a park was sent to since the report."""
    reserved: set[int] = Factory(set)
    """Engine slots a read was asked to give way into since: it may have ended before."""


def excess(model: Model, holdings: Holdings) -> list[str]:
    """List what the model claims and the engine does not hold."""
    found = list(_main_excess(model.main, holdings.main))
    for slot, held in zip(model.slots, holdings.slots, strict=True):
        found += _slot_excess(slot, held)
    return found


def missing(model: Model, holdings: Holdings, known: Known) -> list[str]:
    """List what the engine holds and the model should know, and does not."""
    found = list(_main_missing(model.main, holdings.main, known))
    for slot, held in zip(model.slots, holdings.slots, strict=True):
        found += _slot_missing(slot, held, known)
    return found


def _main_excess(main: Main, held: Held) -> Iterator[str]:
    if not main.valid:
        return
    if not held.valid:
        yield "main: nothing can be continued from it"
        return
    claimed, real = main.history.tokens(), held.tokens
    if main.exact and not np.array_equal(claimed, real):
        yield f"main: holds {real.tolist()}, not {claimed.tolist()}"
    if not np.array_equal(claimed, real[: len(claimed)]):
        yield f"main: holds {real.tolist()}, which does not begin with {claimed.tolist()}"
    if (main.cvec, main.images) != (held.cvec, held.images):
        yield f"main: cvec, images are {held.cvec, held.images}, not {main.cvec, main.images}"


def _main_missing(main: Main, held: Held, known: Known) -> Iterator[str]:
    if held.valid and not main.valid and known.main:
        yield f"main: holds {held.tokens.tolist()}"


def _slot_excess(slot: Slot, held: Held) -> Iterator[str]:
    name = f"slot {slot.number}"
    decoding = slot.activity is Activity.DECODING
    if decoding != (held.state == "busy"):
        yield f"{name}: is {held.state}, not {slot.activity.value}"
    if not slot.valid:
        if slot.checkpoints and not decoding:
            yield f"{name}: has checkpoints {slot.checkpoints} of nothing"
        return
    if not held.valid:
        yield f"{name}: holds nothing"
        return
    claimed, real = slot.history.tokens(), held.tokens
    if len(claimed) + slot.unseen != len(real) or not np.array_equal(claimed, real[: len(claimed)]):
        yield f"{name}: holds {real.tolist()}, not {claimed.tolist()} and {slot.unseen} more"
    if (slot.cvec, slot.images) != (held.cvec, held.images):
        yield f"{name}: cvec, images are {held.cvec, held.images}, not {slot.cvec, slot.images}"
    if not set(slot.checkpoints) <= set(held.checkpoints):
        yield f"{name}: has checkpoints {held.checkpoints}, not {slot.checkpoints}"


def _slot_missing(slot: Slot, held: Held, known: Known) -> Iterator[str]:
    name = f"slot {slot.number}"
    if not held.valid:
        return
    if not slot.valid:
        if slot.number not in known.unknown:
            yield f"{name}: holds {held.tokens.tolist()}"
        return
    if not known.all_reported:
        return
    reported = known.reported.get(slot.number, ())
    if slot.number in known.overwritten or (slot.number in known.reserved and not slot.checkpoints):
        reported = ()
    if slot.checkpoints != reported:
        yield f"{name}: {reported} are reported, not {slot.checkpoints}"
