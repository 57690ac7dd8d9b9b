"""Pad rows: which idle slots a window of decoding costs their state.

Here: telling one window of a group from the next by the order of its tokens. Not here: engines
without pad rows (the model asks only where `Capabilities.pads_rows`).
"""

from collections.abc import Sequence

from slotd.core.state import Activity, Slot


class PadRows:
    """Follows the windows of pipelined groups whose windows span idle slots.

    A group's window prints one token for every active slot of it, in one go. So a token of a slot
    that has not printed in the current window belongs to it; any other token begins the group's
    next window, which costs every slot below the group's last active one that is not active itself.
    A line of the control lines ends all windows. Where a window prints several tokens of one slot
    (accepted drafts) it is taken for several windows: a slot that finished in it may then count as
    lost one window early, never late.
    """

    def __init__(self, slots: Sequence[Slot], group_size: int) -> None:
        """Follow these slots in groups of `group_size`: group g begins at g * group_size."""
        self._groups = [
            tuple(slots[first : first + group_size]) for first in range(0, len(slots), group_size)
        ]
        self._group_size = group_size
        self._none = [0] * len(self._groups)
        self._waiting = self._none.copy()
        """By group, as bits: its active slots that have not printed in the current window."""

    def end(self) -> None:
        """End every group's window."""
        self._waiting[:] = self._none

    def token(self, number: int) -> Sequence[Slot]:
        """Take a token of active slot `number`; return the slots its window costs their state."""
        group, bit = number // self._group_size, 1 << number
        waiting = self._waiting[group]
        if waiting & bit:
            self._waiting[group] = waiting ^ bit
            return ()
        active = 0
        for slot in self._groups[group]:
            if slot.activity is Activity.DECODING:
                active |= 1 << slot.number
        self._waiting[group] = active & ~bit
        return [
            slot
            for slot in self._groups[group]
            if slot.activity is not Activity.DECODING and active >> slot.number
        ]
