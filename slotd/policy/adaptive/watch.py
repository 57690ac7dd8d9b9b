"""Which histories are waited for, held or not, and what became of them.

Here: from the tables a policy sees, one after the other, to observations for `returns`. Not here:
tokens, the model, decisions.

Every history is waited for from the end of its last use until a request continues it (all of it or
up to its last turn: a return; another version of its text: it is over, and nothing would have been
saved), or until it is older than the last age class.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from attrs import define

from slotd.policy.adaptive.returns import AGES, Kind, ReturnModel, kind_of
from slotd.policy.story import Stories, Story
from slotd.policy.table import Table

MOST: Final = 2048
"""Histories waited for at a time; the oldest are given up first."""


@define
class _Open:
    kind: Kind
    end: float
    """When its last use ended, in seconds."""
    counted: float = 0.0
    """Up to which age it is in the counts."""


def story_kind(story: Story | None, tokens: int) -> Kind:
    """Return the classes of a history; one without a story counts as a first turn."""
    if story is None:
        return kind_of(1, tokens, None, tokens)
    return kind_of(story.turn, story.added, story.gap, tokens)


class Watch:
    """The histories waited for."""

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._over: OrderedDict[int, None] = OrderedDict()
        self._last = 0
        """Number of the last request taken in."""

    def __len__(self) -> int:
        """Return how many histories are waited for."""
        return len(self._open)

    def over(self, number: int) -> bool:
        """Tell whether the history request `number` left was continued already."""
        return number in self._over

    def take(self, table: Table, stories: Stories, model: ReturnModel) -> bool:
        """Take in what a table shows; tell whether it was a new request."""
        now = stories.request.at
        main = table.main
        if main is not None and stories.main is not None:
            self._wait_for(stories.main, main.tokens, now - main.age)
        for row, story in zip(table.slots, stories.slots, strict=True):
            if story is not None and row.idle and row.valid and row.tokens:
                self._wait_for(story, row.tokens, now - row.age)
        if stories.request.number <= self._last:
            return False
        self._last = stories.request.number
        self._came(stories.request, model)
        return True

    def count(self, now: float, model: ReturnModel) -> None:
        """Bring the counts up to `now`: everything waited for has not come back so far."""
        for number, waiting in list(self._open.items()):
            age = now - waiting.end
            if age > waiting.counted:
                model.watched(waiting.kind, waiting.counted, age)
                waiting.counted = age
            if age >= AGES[-1]:
                del self._open[number]

    def _wait_for(self, story: Story, tokens: int, end: float) -> None:
        if story.number in self._over:
            return
        known = self._open.get(story.number)
        if known is None:
            self._open[story.number] = _Open(story_kind(story, tokens), end)
            if len(self._open) > MOST:
                self._open.popitem(last=False)
        elif end > known.end + known.counted:
            known.kind, known.end, known.counted = story_kind(story, tokens), end, 0.0

    def _came(self, story: Story, model: ReturnModel) -> None:
        if story.continues is None:
            return
        waiting = self._open.pop(story.continues, None)
        self._over[story.continues] = None
        if len(self._over) > MOST:
            self._over.popitem(last=False)
        if waiting is not None and not story.leg:
            age = max(story.at - waiting.end, waiting.counted)
            returned = 0.0 if story.how == "version" else 1.0
            model.watched(waiting.kind, waiting.counted, age, returned)
