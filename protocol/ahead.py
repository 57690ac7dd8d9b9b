"""Reading the ids of a long line while the line is still coming in.

Lives here: the last field of a line as token ids, piece by piece. Must not live here: where a line
begins and ends (`protocol.reader`), and whether its last field is a prompt (`protocol.client`).

A prompt of 262,144 tokens is 1.8 MB and comes in dozens of pieces. Reading each one's ids when it
is there takes a fraction of a millisecond each time, in which nobody waits; reading all of them
when the line has its end takes ten milliseconds at once, in which every other slot's tokens wait.
"""

import numpy as np
from attrs import field, frozen

from protocol.tokens import TokenIds, parse_ids

_BLANKS = (b" ", b"\t", b"\r", b"\v", b"\f")
"""What stands between fields; a newline only ends the line."""
ENOUGH = 4096
"""Bytes that are worth reading; fewer wait for more."""
_LONGEST_ID = 32
"""Bytes without a comma after which a field is no list of ids: no byte is looked at for long."""


@frozen
class HeldLine:
    """A complete line of a request that came in pieces, with what its last field says."""

    raw: bytes = field(repr=False)
    ids_at: int
    """Where the last field begins, in bytes from the line's start."""
    ids: TokenIds = field(repr=False, eq=False)
    """The last field, which is a well-formed list of ids: shape (tokens,), read-only."""


class IdsAhead:
    """Reads the last field of one line as it comes."""

    def __init__(self, enough: int = ENOUGH) -> None:
        """Begin at the line's start; ids are read when there are `enough` bytes of them."""
        self._enough = enough
        self._taken = 0
        self._begin(0)

    def _begin(self, at: int) -> None:
        """Begin a field at byte `at` of the line."""
        self._field_at = at
        self._read: list[TokenIds] = []
        self._unread = bytearray()
        self._is_list = True
        self._ended = False
        """There are blanks behind it: what follows them is another field."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the line."""
        text = piece.rstrip()
        if text:
            self._feed_text(text)
        self._ended = self._ended or len(text) < len(piece)
        self._taken += len(piece)

    def _feed_text(self, text: bytes) -> None:
        """Take bytes without blanks at their end."""
        blank = max(text.rfind(each) for each in _BLANKS)
        if blank >= 0 or self._ended:
            self._begin(self._taken + blank + 1)
        if not self._is_list:
            return
        self._unread += text[blank + 1 :]
        if len(self._unread) >= self._enough:
            comma = self._unread.rfind(b",", -_LONGEST_ID)
            self._take(max(comma, 0))
            del self._unread[: comma + 1]

    def line(self, raw: bytes, last: bytes) -> HeldLine | None:
        """End the line, all of which is `raw` and the last piece of which is `last`.

        None: its last field, if there is one, is no list of ids.
        """
        self.feed(last)
        self._take(len(self._unread))
        if not self._is_list:
            return None
        ids = np.concatenate(self._read)
        ids.flags.writeable = False
        return HeldLine(raw, self._field_at, ids)

    def _take(self, end: int) -> None:
        """Read the first `end` bytes of what is unread, a list that is whole."""
        ids = parse_ids(bytes(self._unread[:end])) if self._is_list else None
        if ids is None:
            self._is_list = False
        else:
            self._read.append(ids)
