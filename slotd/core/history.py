"""A token history that grows by one token at a time and is shared until it does.

Here: the tokens one state of the engine holds, as an array. Not here: whether the engine still
holds them (see `state`).
"""

from array import array

import numpy as np

from protocol.tokens import EMPTY, TokenIds
from slotd.policy.story import Story

_SPARE_TOKENS = 4096
"""Room a history gets beyond what it needs, when it must be copied to grow; at least."""


class History:
    """The tokens a state holds, oldest first.

    What it begins with is shared, not copied: a prompt is in the request, in the main session and
    in a slot as one array. Appending costs amortised constant time, and `tokens` copies at most
    what was appended since the last call (everything, the first time).
    """

    __slots__ = ("_buffer", "_mine", "_tail", "_used", "story")

    def __init__(self, tokens: TokenIds = EMPTY, story: Story | None = None) -> None:
        """Begin with `tokens`, an int32 array of shape (tokens,) nobody writes to any more.

        `story` is that of the request that made it, where stories are told at all.
        """
        self.story = story
        self._buffer = tokens
        self._used = len(tokens)
        self._mine = False
        self._tail = array("i")

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self._used + len(self._tail)

    def append(self, token: int) -> None:
        """Add one token. Raises OverflowError for a number beyond int32."""
        self._tail.append(token)

    def extend(self, tokens: "array[int]") -> None:
        """Add an array of ints (typecode i) at the end."""
        self._tail.extend(tokens)

    def tokens(self) -> TokenIds:
        """Return all tokens, int32 of shape (tokens,), read-only; later appends do not show."""
        if self._tail:
            added = np.frombuffer(self._tail, dtype=np.int32)
            end = self._used + len(added)
            if not self._mine or end > len(self._buffer):
                grown = np.empty(end + max(_SPARE_TOKENS, end // 8), dtype=np.int32)
                grown[: self._used] = self._buffer[: self._used]
                self._buffer, self._mine = grown, True
            self._buffer[self._used : end] = added
            self._used = end
            # A new array: the old one cannot change its size while numpy looks at it.
            self._tail = array("i")
        view = self._buffer[: self._used]
        view.flags.writeable = False
        return view

    def first(self, count: int) -> "History":
        """Return a history of the first `count` tokens, sharing them."""
        return History(self.tokens()[:count], self.story)
