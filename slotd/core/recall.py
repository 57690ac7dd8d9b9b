"""Recognising conversations, also those that no slot holds any more.

Here: fingerprints of the histories seen, and which of them a prompt continues. No tokens are kept.
Not here: what a history's story is used for (see `slotd.policy.adaptive`).

A history is filed under the hash of its beginning up to a milestone, a length from a fixed list,
with a hash of all of it. A prompt is hashed once along the milestones; what is filed at one of them
is compared at its exact length. Three beginnings of every history are filed: all of it, it up to
the checkpoint a slot keeps of it, and its prompt without the last `VERSION_TAIL`.
"""

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from attrs import define, evolve, frozen

from protocol.tokens import TokenIds, last_index
from slotd.policy.story import Return, Story

MEMORY: Final = 4096
"""Histories remembered, the most recently filed ones."""

VERSION_TAIL: Final = 0.02
"""The share of a prompt that may be rewritten before it counts as another text."""

_FIRST_MILESTONES: Final = (64, 128, 256, 512)
_STEP: Final = 1024
_BUCKET: Final = 8
"""Beginnings filed at one milestone, the newest ones: many texts with one system prompt."""
_DIGEST: Final = 8

_RANK: Final[dict[Return, int]] = {"whole": 3, "turn": 2, "checkpoint": 1, "version": 0}

CHECKPOINT_EVERY: Final = 16_384
"""Prompt tokens between two periodic checkpoints of the engine."""


def milestones(length: int) -> Iterator[int]:
    """Give the milestones up to and including `length`, in order."""
    for milestone in _FIRST_MILESTONES:
        if milestone <= length:
            yield milestone
    yield from range(_STEP, length + 1, _STEP)


def _milestone_before(length: int) -> int:
    if length >= _STEP:
        return length // _STEP * _STEP
    return max((milestone for milestone in _FIRST_MILESTONES if milestone <= length), default=0)


@frozen
class _Beginning:
    """One filed beginning of a history: its exact length and hash."""

    length: int
    digest: bytes
    how: Return
    story: Story
    tokens: int
    """Length of the whole history."""


@define
class _Filed:
    """What is remembered of one history."""

    keys: tuple[bytes, ...]
    last_use: float
    tokens: int


def last_turn(tokens: TokenIds, turn_token: int | None) -> int:
    """Return the tokens before the last `turn_token`; 0 when there is none or it is not known."""
    return 0 if turn_token is None else last_index(tokens, turn_token) or 0


class Recall:
    """The histories seen, by fingerprint; constant memory."""

    def __init__(self, memory: int = MEMORY) -> None:
        """Begin with nothing seen; remember at most `memory` histories."""
        self._memory = memory
        self._filed: OrderedDict[int, _Filed] = OrderedDict()
        self._at: dict[bytes, list[_Beginning]] = {}

    def __len__(self) -> int:
        """Return the number of histories remembered."""
        return len(self._filed)

    def file(self, tokens: TokenIds, story: Story, last_use: float) -> None:
        """Remember a history that is complete; one that is filed already is only dated."""
        known = self._filed.get(story.number)
        if known is not None and known.tokens == len(tokens):
            known.last_use = max(known.last_use, last_use)
            return
        if known is not None:
            self._forget(story.number)
        cuts: dict[int, Return] = {int(story.prompt * (1 - VERSION_TAIL)): "version"}
        cuts[min(story.checkpoint, len(tokens))] = "turn" if story.boundary else "checkpoint"
        cuts[len(tokens)] = "whole"
        keys = []
        for milestone, length, digest in _digests(tokens, sorted(cuts)):
            beginning = _Beginning(length, digest, cuts[length], story, len(tokens))
            bucket = self._at.setdefault(milestone, [])
            bucket.append(beginning)
            del bucket[:-_BUCKET]
            keys.append(milestone)
        self._filed[story.number] = _Filed(tuple(keys), last_use, len(tokens))
        while len(self._filed) > self._memory:
            self._forget(next(iter(self._filed)))

    def story(self, number: int, prompt: TokenIds, turn_token: int | None, now: float) -> Story:
        """Find what a prompt continues; return the story of its request."""
        boundary = last_turn(prompt, turn_token)
        story = Story(
            number,
            now,
            len(prompt),
            number,
            boundary=boundary,
            checkpoint=boundary or (len(prompt) - 1) // CHECKPOINT_EVERY * CHECKPOINT_EVERY,
        )
        found = self._longest(prompt)
        if found is None:
            return story
        before, filed = found.story, self._filed[found.story.number]
        story = evolve(
            story, conversation=before.conversation, continues=before.number, how=found.how
        )
        if found.how == "whole" and len(prompt) == found.tokens + 1:
            return evolve(
                story,
                turn=before.turn,
                gap=before.gap,
                added=before.added,
                boundary=before.boundary,
                checkpoint=before.checkpoint,
                leg=True,
            )
        return evolve(
            story,
            turn=before.turn + 1,
            gap=max(0.0, now - filed.last_use),
            added=max(0, len(prompt) - found.tokens),
            returned=0.0 if found.how == "version" else found.length / found.tokens,
        )

    def _longest(self, prompt: TokenIds) -> _Beginning | None:
        """Return the longest beginning the prompt goes on from; of equal ones the newest."""
        best: _Beginning | None = None
        hasher = blake2b(digest_size=_DIGEST)
        at = 0
        for milestone in milestones(len(prompt)):
            hasher.update(prompt[at:milestone].tobytes())
            at = milestone
            for beginning in self._at.get(hasher.digest(), ()):
                if beginning.length >= len(prompt):
                    continue
                rest = hasher.copy()
                rest.update(prompt[at : beginning.length].tobytes())
                if rest.digest() == beginning.digest and (best is None or _better(beginning, best)):
                    best = beginning
        return best

    def _forget(self, number: int) -> None:
        for key in self._filed.pop(number).keys:
            bucket = self._at.get(key, [])
            bucket[:] = [beginning for beginning in bucket if beginning.story.number != number]
            if not bucket:
                self._at.pop(key, None)


def _better(one: _Beginning, other: _Beginning) -> bool:
    mine = (one.length, _RANK[one.how], one.story.number)
    return mine > (other.length, _RANK[other.how], other.story.number)


def _digests(tokens: TokenIds, lengths: list[int]) -> Iterator[tuple[bytes, int, bytes]]:
    """Give (hash at the milestone before, length, hash at the length) for rising lengths."""
    hasher = blake2b(digest_size=_DIGEST)
    at = 0
    for length in lengths:
        goal = _milestone_before(length)
        if goal < _FIRST_MILESTONES[0]:
            continue
        if goal > at:
            hasher.update(tokens[at:goal].tobytes())
            at = goal
        rest = hasher.copy()
        rest.update(tokens[at:length].tobytes())
        yield hasher.digest(), length, rest.digest()
