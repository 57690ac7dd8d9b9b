"""Conversations of exact lengths, with the turn tokens a chat template puts into them.

Lives here: the texts that scenarios are told with. Must not live here: who sends them and when
(`stage`), or what is expected to come of it (the tests).

A message is a header of three tokens, the first of them a turn token, and its text; the header of
the reply ends every prompt. All lengths are in tokens and exact, since the published figures are.
"""

from collections.abc import Sequence

import numpy as np
from attrs import define, field

from protocol.tokens import EMPTY, TokenIds
from slotd.sim.options import TURN_TOKEN

HEADER = 3
"""Tokens of a header."""

CLOSING = 39
"""Tokens that end every query of a classifier, the reply's header included."""

_USER, _REPLY = (TURN_TOKEN, 1001, 1002), (TURN_TOKEN, 1001, 1003)


def ids(*parts: TokenIds | Sequence[int]) -> TokenIds:
    """Join lists of tokens, shape (tokens,)."""
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])


class Writer:
    """Writes fresh texts; the same seed writes the same ones again."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def text(self, tokens: int) -> TokenIds:
        """Write a text without any turn, shape (tokens,)."""
        return self._random.integers(1_000, 200_000, tokens, dtype=np.int32)

    def message(self, tokens: int) -> TokenIds:
        """Write a message, the header of the reply to it included, shape (tokens,)."""
        return ids(_USER, self.text(tokens - 2 * HEADER), _REPLY)


@define(eq=False)
class Conversation:
    """One transcript that grows: a message, its reply, the next message."""

    writer: Writer
    told: TokenIds = EMPTY
    """Everything so far, shape (tokens,); after a message it is the next prompt."""

    def say(self, tokens: int) -> TokenIds:
        """Add a message of so many tokens, the reply's header included; return the prompt."""
        self.told = ids(self.told, self.writer.message(tokens))
        return self.told

    def hear(self, reply: Sequence[int]) -> None:
        """Add a reply, or what the client keeps of it."""
        self.told = ids(self.told, reply)


@define(eq=False)
class Classifier:
    """A transcript that grows before the same closing text, query after query."""

    writer: Writer
    _transcript: TokenIds = field(init=False)
    _closing: TokenIds = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._transcript = ids(_USER, self.writer.text(60_000))
        self._closing = ids(self.writer.text(CLOSING - HEADER), _REPLY)

    def query(self, tokens: int) -> TokenIds:
        """Return the query that is so many tokens long, shape (tokens,)."""
        return ids(self._transcript[: tokens - CLOSING], self._closing)
