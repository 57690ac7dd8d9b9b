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

    def __init__(self, group_size: int) -> None:
        """Follow groups of `group_size` slots: group g begins at slot g * group_size."""
        self._group_size = group_size
        self._waiting: dict[int, set[int]] = {}
        """By group: its active slots that have not printed in the current window."""

    def end(self) -> None:
        """End every group's window."""
        if self._waiting:
            self._waiting.clear()

    def token(self, slots: Sequence[Slot], number: int) -> list[Slot]:
        """Take a token of active slot `number`; return the slots its window costs their state."""
        group = number // self._group_size
        waiting = self._waiting.get(group)
        if waiting is not None and number in waiting:
            waiting.discard(number)
            return []
        first = group * self._group_size
        mine = slots[first : first + self._group_size]
        active = {slot.number for slot in mine if slot.activity is Activity.DECODING}
        last = max(active, default=number)
        self._waiting[group] = active - {number}
        return [slot for slot in mine if slot.number < last and slot.number not in active]
