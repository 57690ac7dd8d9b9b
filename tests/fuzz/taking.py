"""Choices out of bytes, so that whatever finds bytes finds choices.

Lives here: how fuzz input is read. Must not live here: what is chosen between.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Taker:
    """Reads choices from the front of some bytes; at their end every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def empty(self) -> bool:
        return self._at >= len(self._data)

    def byte(self) -> int:
        """One byte; 0 at the end."""
        if self.empty:
            return 0
        self._at += 1
        return self._data[self._at - 1]

    def below(self, limit: int) -> int:
        """A number from 0 up to `limit` (excluded)."""
        number = self.byte()
        return (number if limit <= 256 else number << 8 | self.byte()) % limit

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def happens(self, sixteenths: int) -> bool:
        """True in so many of 16 cases; False at the end."""
        return self.byte() % 16 >= 16 - sixteenths

    def some(self, most: int) -> bytes:
        """Up to `most` of the bytes that follow."""
        size = self.below(most + 1)
        piece = self._data[self._at : self._at + size]
        self._at += len(piece)
        return piece

    def rest(self) -> bytes:
        """Everything that is left."""
        rest = self._data[self._at :]
        self._at = len(self._data)
        return rest
