"""The serve process's rules: who runs next, where, and who has to make room.

Lives here: each rule as one function over what runs and what waits. Must not live here: the lines
they lead to and the state that follows them (`slotd.sim.serve`).
"""

from collections import deque
from collections.abc import Mapping

from slotd.sim.serve_requests import Control, Run
from slotd.sim.serve_slots import ServeSlots


def shorter_waiting(waiting: deque[Run], left: int) -> Run | None:
    """Find the first waiting prompt less than half as long as a read with `left` tokens to go."""
    return next((run for run in waiting if run.slot is None and 2 * run.length < left), None)


def next_to_run(
    waiting: deque[Run], table: ServeSlots, alone: bool
) -> tuple[Run, int | None] | None:
    """Choose the waiting request that gets the control lines, and reserve its slot.

    In order of waiting; a read that gave way lets a prompt pass that it would give way to again.
    With `alone` (nothing else runs or waits) or without slots it runs solo, unless the part of its
    read waits in a slot.

    Returns:
        The request and its slot (None: solo), or None when none can run now.
    """
    if not waiting:
        return None
    first = waiting[0]
    if not table.rows or (alone and first.slot is None):
        return first, None
    for run in waiting:
        if run.slot is None and not table.free:
            continue
        chosen = run
        if run.slot is not None:
            shorter = shorter_waiting(waiting, run.length - run.part)
            if shorter is None or not table.free:
                return run, run.slot
            chosen = shorter
        slot = table.reserve(chosen.tokens(chosen.length))
        if slot is not None:
            return chosen, slot
    return None


def stop_wanted(control: Control, waiting: deque[Run], table: ServeSlots) -> bool:
    """Say whether the request on the control lines is to be stopped.

    It is when its client went away, and when it decodes solo while another waits: both need a slot.
    """
    if control.run.cancelled:
        return True
    decodes_solo = control.slot is None and control.got > 0
    return decodes_solo and bool(waiting) and table.free >= 2


def gives_way(control: Control, waiting: deque[Run], table: ServeSlots, long_read: int) -> bool:
    """Say whether the read on the control lines gives way to a waiting prompt.

    It must be long (`long_read` tokens left), have no pictures (they are not kept), and there must
    be a slot for the prompt that waits besides the one that keeps the part: the admission's own,
    or another free one for a solo read.
    """
    if control.got or control.reserved is not None or control.run.request.pictures is not None:
        return False
    if control.left < long_read or table.free < (2 if control.slot is None else 1):
        return False
    return shorter_waiting(waiting, control.left) is not None


def left_alone(runs: Mapping[str, Run], decoding: Mapping[int, Run]) -> Run | None:
    """Find the request that is alone and decodes in a slot, so that it can go back to solo.

    One with pictures stays: its slot keeps nothing to go back with.
    """
    if len(runs) != 1 or len(decoding) != 1:
        return None
    (run,) = decoding.values()
    if run.cancelled or run.returning or run.request.pictures is not None:
        return None
    return run
