"""The adaptive policy: POLICY.md's rules for a conversation's own slots, learned losses else.

Here: `AdaptiveDecider` and its rules. Not here: what it learns (`returns`, `watch`), the loss
(`loss`), and how it outlives a restart (`state`).

What stays as published: a continued conversation goes on in its slot or spreads, an older version
is replaced in place, a park goes into the conversation's own older copy first, and nothing is
parked that is kept already. What is learned: which history is given up for a new conversation, and
whether the main session's is worth the slot it would be parked in. Until `ENOUGH` returns were
seen, or when nothing is known of the requests, the published policy decides everything.
"""

from __future__ import annotations

from typing import Final

from slotd.policy.adaptive.loss import return_chance
from slotd.policy.adaptive.returns import ReturnModel
from slotd.policy.adaptive.watch import Watch
from slotd.policy.decide import Decision, ExpectedLoss
from slotd.policy.match import resumable
from slotd.policy.park import Park, destinations, kept, older, park, something_to_park
from slotd.policy.park import sibling as park_sibling
from slotd.policy.place import (
    LOSS_MARGIN,
    Chosen,
    Placement,
    continue_or_spread,
    place,
    place_by,
    sibling,
)
from slotd.policy.story import Stories, Story
from slotd.policy.table import (
    SlotRow,
    Table,
    blank,
    cost,
    holds_history,
    load,
    order,
)

ENOUGH: Final = 5
"""Returns to see before the learned losses decide."""

FIT_EVERY: Final = 10
"""Requests between two fits of the model."""

COPY_SECONDS: Final = 13.2e-6
"""Seconds to copy a token into a slot (the policy's document: 13.2 ms per 1,000)."""


_NOTHING: Final = ExpectedLoss(0.0, 0.0)


class AdaptiveDecider:
    """A policy that learns from the traffic it sees.

    One decider belongs to one engine: it counts on seeing every table once, in order.
    """

    name: Final = "adaptive"
    wants_stories: Final = True

    def __init__(self, model: ReturnModel | None = None) -> None:
        """Begin with nothing learned, or with a model from an earlier run."""
        self.model = model or ReturnModel()
        self._watch = Watch()
        self._since_fit = 0

    @property
    def learned(self) -> bool:
        """Whether it has seen enough to decide by what it learned."""
        return self.model.seen >= ENOUGH

    def decide(self, table: Table) -> Decision:
        """Learn from the table, then decide about it."""
        stories = table.stories
        if stories is None:
            return _published(table)
        if self._watch.take(table, stories, self.model):
            self._since_fit += 1
        if not self.learned:
            return _published(table)
        if self._since_fit >= FIT_EVERY:
            self._watch.count(stories.request.at, self.model)
            self.model.fit()
            self._since_fit = 0
        losses = tuple(self.loss(table, row) for row in table.slots)
        placement = self._place(table, stories, losses)
        return Decision(placement, self._park(table, placement, losses), losses)

    # -- what is at stake --------------------------------------------------------------------------

    def loss(self, table: Table, row: SlotRow) -> ExpectedLoss:
        """Return what overwriting the slot is expected to lose.

        Nothing when it is blank, or when another slot holds more of the same conversation.
        """
        stories = table.stories
        if stories is None or blank(table, row) or _held_elsewhere(table, stories, row):
            return _NOTHING
        return self._loss(stories.slots[row.slot], row.tokens, row.age, stories.request.at)

    def _loss(self, story: Story | None, tokens: int, age: float, now: float) -> ExpectedLoss:
        if story is not None and self._watch.left(story):
            return _NOTHING
        kind, alone = self._watch.standing(story, tokens, age, now)
        chance = return_chance(self.model.hazards(kind), alone)
        return ExpectedLoss(tokens * chance, chance)

    # -- place -------------------------------------------------------------------------------------

    def _place(self, table: Table, stories: Stories, losses: tuple[ExpectedLoss, ...]) -> Placement:
        return place_by(
            table,
            lambda: (
                continue_or_spread(table)
                or own_turn(table, stories)
                or sibling(table)
                or _least_expected_loss(table, losses)
            ),
        )

    # -- park --------------------------------------------------------------------------------------

    def _park(
        self, table: Table, placement: Placement, losses: tuple[ExpectedLoss, ...]
    ) -> Park | None:
        main = something_to_park(table)
        if main is None:
            return None
        if kept(table, main):
            return Park(None, "kept")
        free = destinations(table, placement)
        story = None if table.stories is None else table.stories.main
        now = 0.0 if table.stories is None else table.stories.request.at
        stake = self._loss(story, main.tokens, main.age, now)
        if stake.chance * main.tokens < COPY_SECONDS * main.tokens * table.prompt_rate:
            return Park(None, "main_low_value")
        own = older(table, free) or park_sibling(table, free)
        if own is not None:
            return own
        chosen = _cheapest(table, free, losses)
        if chosen is None or losses[chosen.slot].loss >= stake.loss:
            return Park(None, "no_slot")
        return Park(chosen.slot, "reclaim")


def _held_elsewhere(table: Table, stories: Stories, row: SlotRow) -> bool:
    """Tell whether another slot, busy or idle, holds more of the conversation in this one."""
    story = stories.slots[row.slot]
    if story is None:
        return False
    mine = (story.turn, row.tokens, -row.slot)
    return any(
        other is not None
        and other.conversation == story.conversation
        and holds_history(table, table.slots[slot])
        and (other.turn, table.slots[slot].tokens, -slot) > mine
        for slot, other in enumerate(stories.slots)
    )


def own_turn(table: Table, stories: Stories) -> Chosen | None:
    """Take the slot whose history the prompt shares up to its last turn: the conversation's own.

    So it is when a reply is sent back without its thinking. The most shared first.
    """
    own = [
        row
        for row, story in zip(table.slots, stories.slots, strict=True)
        if story is not None
        and 0 < story.boundary <= row.shared < row.tokens
        and resumable(table, row)
    ]
    if not own:
        return None
    return min(own, key=lambda row: (-row.shared, order(table, row))), "sibling"


def _least_expected_loss(table: Table, losses: tuple[ExpectedLoss, ...]) -> Chosen | None:
    """Give up what is expected to lose least; a blank slot loses nothing."""
    chosen = _cheapest(table, [row for row in table.slots if row.idle], losses)
    if chosen is None:
        return None
    return chosen, "reclaim" if blank(table, chosen) else "least_loss"


def _cheapest(
    table: Table, rows: list[SlotRow], losses: tuple[ExpectedLoss, ...]
) -> SlotRow | None:
    """Return the row of the least loss; among those within 10% of it, the lowest (load, loss)."""
    if not rows:
        return None

    def stake(row: SlotRow) -> float:
        return losses[row.slot].loss

    limit = LOSS_MARGIN * min(stake(row) for row in rows)
    return min(
        (row for row in rows if stake(row) <= limit),
        key=lambda row: (cost(table, row), load(table, row), stake(row), order(table, row)),
    )


def _published(table: Table) -> Decision:
    placement = place(table)
    return Decision(placement, park(table, placement))
