"""Knowing the future: a policy that does, to see how much there is to gain.

Here: which requests of a traffic can go on from which others' histories, and the greedy policy that
decides by it. Not here: bounds (see `bound`).

**Greedy.** Every history has a next use: the first request still to come that can resume from it,
and the tokens it would resume. A history saves `tokens / seconds until then` a second of slot; the
one that saves least is given up first, one without a next use before all others, and the main
session's is parked when it saves more than what it would overwrite. Times are the traffic's
arrivals, in a closed loop too. So it is a bound in practice, not in theory: no order of giving up
that looks one use ahead is best for all traffic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from slotd.core.recall import CHECKPOINT_EVERY
from slotd.policy.decide import Decision, ExpectedLoss
from slotd.policy.park import Park, destinations, kept, older, something_to_park
from slotd.policy.place import Chosen, Placement, continue_or_spread, place_by
from slotd.policy.story import Story
from slotd.policy.table import SlotRow, Table, blank, load, order
from slotd.workload.prompt import Prompt
from slotd.workload.traffic import RequestSpec, Traffic

_SOON: Final = 1.0
"""A next use that is due counts as so many seconds away."""
MOST_LATER: Final = 128
"""Later requests of its conversation that a history is held against: twice what any conversation of
the public trace or of a generated day has in all. Of a longer one, who comes after these goes on
from something newer, and to hold all against all would take hours."""


@frozen
class Use:
    """A later request that can resume from a history."""

    request: int
    """Its index in the traffic."""
    arrival: float
    shared: int
    """Tokens of the history's full text its prompt begins with."""
    checkpoint: int
    """Tokens of the checkpoint a slot keeps of it, when the prompt begins with those; else 0."""

    def tokens(self, held: int) -> int:
        """Return how much of a history of `held` tokens it resumes."""
        return held if self.shared >= held else self.checkpoint


def uses(
    traffic: Traffic, *, every_checkpoint: bool = False, most: int | None = MOST_LATER
) -> list[list[Use]]:
    """For every request, the later ones of its conversation that can resume from its history.

    Args:
        traffic: the requests.
        every_checkpoint: also from the periodic checkpoints that only the main session has of it.
        most: how many of the later ones are looked at (None: all).
    """
    members: dict[int, list[int]] = defaultdict(list)
    for number, request in enumerate(traffic.requests):
        members[request.conversation].append(number)
    found: list[list[Use]] = [[] for _ in traffic.requests]
    for numbers in members.values():
        for place, number in enumerate(numbers, 1):
            later = numbers[place : None if most is None else place + most]
            found[number] = _uses_of(traffic.requests, number, later, every_checkpoint)
    return found


def _uses_of(
    requests: Sequence[RequestSpec], number: int, later: list[int], every_checkpoint: bool
) -> list[Use]:
    request = requests[number]
    whole: Prompt = request.prompt + request.reply
    length = len(request.prompt)
    checkpoint = request.prompt.last_turn() or (length - 1) // CHECKPOINT_EVERY * CHECKPOINT_EVERY
    found = []
    for other in later:
        prompt = requests[other].prompt
        shared = min(whole.shared(prompt), len(prompt) - 1)
        kept_part = checkpoint if shared >= checkpoint else 0
        if every_checkpoint:
            periodic = min(shared, length - 1) // CHECKPOINT_EVERY * CHECKPOINT_EVERY
            kept_part = max(kept_part, periodic)
        if kept_part or shared >= length:
            found.append(Use(other, requests[other].arrival, shared, kept_part))
    return found


class Future:
    """What is still to come while a traffic is replayed."""

    def __init__(self, traffic: Traffic) -> None:
        """Begin before the first request."""
        self._uses = uses(traffic)
        self._sent: list[int] = [-1]
        self._begun: set[int] = set()

    def sent(self, request: int) -> None:
        """Note that a line of the traffic's request `request` goes to slotd: its next number."""
        self._sent.append(request)
        self._begun.add(request)

    def saves(self, story: Story | None, held: int, now: float) -> float:
        """Return what a history of `held` tokens saves, tokens a second until its next use."""
        if story is None:
            return 0.0
        for use in self._uses[self._sent[story.number]]:
            if use.request not in self._begun and use.tokens(held):
                return use.tokens(held) / max(_SOON, use.arrival - now)
        return 0.0


class Clairvoyant:
    """The greedy policy that knows what comes next."""

    name: Final = "clairvoyant"
    wants_stories: Final = True

    def __init__(self, future: Future) -> None:
        """Decide by `future`, which the replay keeps up to date."""
        self._future = future

    def decide(self, table: Table) -> Decision:
        """Give up what saves least."""
        stories = table.stories
        if stories is None:
            raise ValueError("the clairvoyant policy needs to know whose history is where")
        now = stories.request.at
        losses = tuple(
            ExpectedLoss(
                0.0 if blank(table, row) else self._future.saves(story, row.tokens, now), 1.0
            )
            for row, story in zip(table.slots, stories.slots, strict=True)
        )
        placement = _place(table, losses)
        main = something_to_park(table)
        if main is None:
            return Decision(placement, None, losses)
        if kept(table, main):
            return Decision(placement, Park(None, "kept"), losses)
        free = destinations(table, placement)
        worth = self._future.saves(stories.main, main.tokens, now)
        if worth == 0:
            return Decision(placement, Park(None, "main_low_value"), losses)
        chosen = older(table, free) or _park(table, free, losses, worth)
        return Decision(placement, chosen, losses)


def _place(table: Table, losses: tuple[ExpectedLoss, ...]) -> Placement:
    return place_by(table, lambda: continue_or_spread(table) or _saves_least(table, losses))


def _saves_least(table: Table, losses: tuple[ExpectedLoss, ...]) -> Chosen | None:
    row = _least(table, [row for row in table.slots if row.idle], losses)
    return None if row is None else (row, "reclaim" if blank(table, row) else "least_loss")


def _park(
    table: Table, free: list[SlotRow], losses: tuple[ExpectedLoss, ...], worth: float
) -> Park:
    row = _least(table, free, losses)
    if row is None or losses[row.slot].loss >= worth:
        return Park(None, "no_slot")
    return Park(row.slot, "reclaim")


def _least(table: Table, rows: list[SlotRow], losses: tuple[ExpectedLoss, ...]) -> SlotRow | None:
    return min(
        rows,
        key=lambda row: (losses[row.slot].loss, load(table, row), order(table, row)),
        default=None,
    )
