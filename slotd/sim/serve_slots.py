"""The serve process's own table of batch slots, and how it picks one.

Lives here: what the serve process believes its slots hold, and its two ways of choosing among the
free ones (they are the baselines that a placement policy is measured against). Must not live here:
when a slot is taken or given back (`slotd.sim.serve`), or anything of slotd's own policy.
"""

from collections.abc import Sequence
from typing import Protocol

from attrs import define

from protocol.tokens import EMPTY, TokenIds, is_proper_prefix


@define(eq=False)
class ServeSlot:
    """One batch slot as the serve process sees it, under its own number.

    `busy` holds from a `BGEN` (or the `BYIELD` that reserves the slot) to `BDONE`, `BADM 0` or
    `ERR`, and while the part of a read that gave way waits in it. `tokens` is the conversation a
    finished request left (empty: none). `last_use` is in seconds.
    """

    slot: int
    busy: bool = False
    tokens: TokenIds = EMPTY
    last_use: float = float("-inf")


class SlotStrategy(Protocol):
    """Picks a free slot for a prompt."""

    def choose(self, prompt: TokenIds, slots: Sequence[ServeSlot], group_size: int) -> int | None:
        """Pick a slot.

        Args:
            prompt: the request's tokens, shape (tokens,).
            slots: the whole table, in slot order.
            group_size: slots per pipelined group (all of them when there is one group).

        Returns:
            The slot's number, or None when none is free.
        """
        ...


class LongestStart:
    """The slot whose tokens start the prompt, else an empty one, else the least recently used.

    Several that start the prompt: the longest. Ties go to the lowest number.
    """

    def choose(self, prompt: TokenIds, slots: Sequence[ServeSlot], group_size: int) -> int | None:
        """See `SlotStrategy.choose`; groups are not looked at."""
        free = [slot for slot in slots if not slot.busy]
        if not free:
            return None
        starts = [
            slot for slot in free if len(slot.tokens) and is_proper_prefix(slot.tokens, prompt)
        ]
        if starts:
            return max(starts, key=lambda slot: len(slot.tokens)).slot
        empty = [slot for slot in free if not len(slot.tokens)]
        if empty:
            return empty[0].slot
        return min(free, key=lambda slot: slot.last_use).slot


class GroupsAlone:
    """The least loaded group's lowest free slot, whatever the slots hold.

    The lowest free slot fills the holes below a group's last busy one, so a window spans as few
    rows as it can. Ties between groups go to the lowest.
    """

    def choose(self, prompt: TokenIds, slots: Sequence[ServeSlot], group_size: int) -> int | None:
        """See `SlotStrategy.choose`; the prompt is not looked at."""
        loads: dict[int, int] = {}
        for slot in slots:
            group = slot.slot // group_size
            loads[group] = loads.get(group, 0) + slot.busy
        free = [slot.slot for slot in slots if not slot.busy]
        return min(free, key=lambda slot: (loads[slot // group_size], slot), default=None)


class ServeSlots:
    """The table itself: which slots are taken, what the others hold."""

    def __init__(self, count: int, groups: int, strategy: SlotStrategy) -> None:
        """Begin with free, empty slots.

        Args:
            count: batch slots (0: the engine has none).
            groups: pipelined groups; the slots are split evenly among them.
            strategy: how `reserve` picks.
        """
        self.rows = [ServeSlot(slot) for slot in range(count)]
        self._group_size = max(1, count // max(1, groups))
        self._strategy = strategy

    @property
    def free(self) -> int:
        """How many slots are free."""
        return sum(not row.busy for row in self.rows)

    def reserve(self, prompt: TokenIds) -> int | None:
        """Pick a free slot for a prompt and mark it busy; None when none is free."""
        slot = self._strategy.choose(prompt, self.rows, self._group_size)
        if slot is not None:
            self.rows[slot].busy = True
        return slot

    def release(self, slot: int) -> None:
        """Mark a slot free; it holds what it held before it was taken."""
        self.rows[slot].busy = False

    def hold(self, slot: int, tokens: TokenIds, now: float) -> None:
        """Note that a slot's contents were replaced or went on, to `tokens`, at `now` (seconds)."""
        self.rows[slot].tokens = tokens
        self.rows[slot].last_use = now
