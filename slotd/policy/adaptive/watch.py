"""Which conversations are waited for, held or not, and what became of them.

Here: from the tables a policy sees, one after the other, to observations for `returns`. Not here:
tokens, the model, decisions.

A conversation is waited for from the end of its last use until a request continues it (all of it or
up to its last turn: a return; another version of its text: it is over, and nothing would have been
saved), or until it is older than the last age class. A request that moves between solo and batch
is no return: its conversation is waited for again once all of it has ended.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from attrs import define

from slotd.policy.adaptive.returns import AGES, Kind, ReturnModel, kind_of
from slotd.policy.story import Stories, Story
from slotd.policy.table import Table

MOST: Final = 2048
"""Conversations waited for at a time; the ones not heard of for longest are given up first."""

_CLOCK: Final = 0.01
"""Seconds by which an end must be later than another to be another (ages are rounded)."""


@define
class _Conversation:
    kind: Kind
    end: float
    """When its last use ended, in seconds."""
    waiting: bool = True
    """It is waited for; otherwise a request of it runs."""
    counted: float = 0.0
    """Up to which age it is in the counts."""


def story_kind(story: Story | None, tokens: int) -> Kind:
    """Return the classes of a history; one without a story counts as a first turn."""
    if story is None:
        return kind_of(1, 0, None, tokens)
    return kind_of(story.turn, story.added, story.gap, tokens)


class Watch:
    """The conversations waited for."""

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._known: OrderedDict[int, _Conversation] = OrderedDict()
        self._left: OrderedDict[int, None] = OrderedDict()
        self._last = 0
        """Number of the last request taken in."""

    def __len__(self) -> int:
        """Return how many conversations are known."""
        return len(self._known)

    def left(self, story: Story) -> bool:
        """Tell whether the conversation went on from another text than this history's."""
        return story.number in self._left

    def standing(
        self, story: Story | None, tokens: int, age: float, now: float
    ) -> tuple[Kind, float]:
        """Return the classes of a history's conversation, and how long that is left alone (s).

        0 s while a request of it runs: what the history holds may be needed right after that.
        """
        known = None if story is None else self._known.get(story.conversation)
        if known is None:
            return story_kind(story, tokens), age
        return known.kind, max(0.0, now - known.end) if known.waiting else 0.0

    def take(self, table: Table, stories: Stories, model: ReturnModel) -> bool:
        """Take in what a table shows; tell whether it was a new request."""
        now = stories.request.at
        main = table.main
        if main is not None and stories.main is not None:
            self._wait_for(stories.main, main.tokens, main.age, now)
        for row, story in zip(table.slots, stories.slots, strict=True):
            if story is not None and row.idle and row.valid and row.tokens:
                self._wait_for(story, row.tokens, row.age, now)
        if stories.request.number <= self._last:
            return False
        self._last = stories.request.number
        self._came(stories.request, model)
        return True

    def count(self, now: float, model: ReturnModel) -> None:
        """Bring the counts up to `now`: everything waited for has not come back so far."""
        for conversation, known in list(self._known.items()):
            age = now - known.end
            if known.waiting and age > known.counted:
                model.watched(known.kind, known.counted, age)
                known.counted = age
            if age >= AGES[-1]:
                del self._known[conversation]

    def _wait_for(self, story: Story, tokens: int, age: float, now: float) -> None:
        if age >= AGES[-1]:  # watched to the end already; a slot may hold it for days
            return
        end = now - age
        known = self._known.get(story.conversation)
        if known is None:
            self._known[story.conversation] = _Conversation(story_kind(story, tokens), end)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        elif end > known.end + _CLOCK:
            known.kind, known.end = story_kind(story, tokens), end
            known.waiting, known.counted = True, 0.0
            self._known.move_to_end(story.conversation)

    def _came(self, story: Story, model: ReturnModel) -> None:
        known = self._known.get(story.conversation)
        if story.continues is None or known is None:
            return
        if known.waiting and not story.leg:
            age = max(story.at - known.end, known.counted)
            model.watched(known.kind, known.counted, age, story.returned)
        known.waiting = False
        if story.how != "whole":
            self._left[story.continues] = None
            if len(self._left) > MOST:
                self._left.popitem(last=False)
