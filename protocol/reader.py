"""Bytes in, whole lines out: the incremental reader of both directions.

Lives here: where a line or a grammar frame begins and ends. Must not live here: what it says.

The reader loses nothing: the raw bytes of all items joined are the bytes that were fed. The items
do not depend on how the bytes were cut into chunks, except that a reader that reads ahead gives a
request that came in several as a `HeldLine`, which says the same as the line.
"""

from attrs import frozen

from protocol.ahead import HeldLine, IdsAhead
from protocol.fields import count, integer, split_verb

MAX_LINE = 16 * 1024 * 1024
"""The longest line read as a line, in bytes with its terminator (a 262,144-token prompt: 1.8M)."""

MAX_FRAME_BODY = 8192
"""The longest body of a grammar frame, in bytes."""

_NEWLINE = ord("\n")

_FRAME_FLAGS = {b"GENG1": 0, b"GENG2": 2, b"GENG3": 3}


@frozen
class Frame:
    r"""A ``GENG*`` header line, its raw body and the ``\n`` after the body.

    When another byte than ``\n`` follows the body, the frame ends with the body, and that byte
    begins the next line.
    """

    raw: bytes


@frozen
class Fragment:
    """Bytes that are no whole line.

    A piece of a line longer than `MAX_LINE` (every piece has that length, the last one holds the
    newline), or a line or frame that the end of the stream cut off.
    """

    raw: bytes


RawItem = bytes | Frame | Fragment | HeldLine
"""One complete raw line with its terminator, a frame, or a piece of neither.

A `HeldLine` is such a line, too; it comes from a reader that reads ahead."""


def raw_of(item: RawItem) -> bytes:
    """Return the bytes an item was read from."""
    return item if isinstance(item, bytes) else item.raw


_REQUESTS = (b"GEN ", b"GENI ", b"BGEN ", b"BGENI ")


def frame_body(line: bytes) -> int | None:
    """Tell how many raw bytes follow this line when it is the header of a grammar frame.

    Returns:
        The body's length in bytes, or None when the line is an ordinary one: another verb, another
        number of fields, a length outside 1..8192 or a flag that is neither 0 nor 1.
    """
    if not line.startswith(b"GENG"):
        return None
    verb, rest = split_verb(line)
    flags = _FRAME_FLAGS.get(verb)
    if flags is None:
        return None
    fields = rest.split()
    if len(fields) != 1 + flags + (verb == b"GENG3"):
        return None
    if any(flag not in (b"0", b"1") for flag in fields[1 : 1 + flags]):
        return None
    if verb == b"GENG3" and integer(fields[-1]) is None:
        return None
    size = count(fields[0])
    return size if size is not None and 1 <= size <= MAX_FRAME_BODY else None


class LineReader:
    """Cuts one direction's byte stream into lines, frames and fragments.

    Total time is linear in the bytes fed; what is held is at most one line of ``max_line`` bytes.
    """

    def __init__(self, frames: bool, max_line: int = MAX_LINE, *, ahead: bool = False) -> None:
        """Begin at the start of a line.

        Args:
            frames: whether `GENG*` headers begin frames (the client's direction only).
            max_line: the longest line in bytes, with its terminator.
            ahead: whether the ids of a request are read while its line is still coming in.
        """
        self._frames = frames
        self._max_line = max_line
        self._reads_ahead = ahead
        self._start()

    def _start(self) -> None:
        # The bytes of the unfinished item. One buffer: pieces of a few bytes each would cost more.
        self._held = bytearray()
        self._ahead: IdsAhead | None = None
        self._over_long = False
        # Bytes of a frame's body still to come; 0: only its newline is; None: reading a line.
        self._body_left: int | None = None

    def feed(self, data: bytes | bytearray) -> list[RawItem]:
        """Take the next bytes; return what they completed, in order."""
        data = bytes(data)  # streams may hand out a bytearray; bytes are not copied
        items: list[RawItem] = []
        at, end = 0, len(data)
        while at < end:
            if self._body_left is not None:
                at = self._feed_frame(data, at, self._body_left, items)
                continue
            limit = at + self._max_line - len(self._held)
            newline = data.find(b"\n", at, limit)
            if newline < 0:
                self._hold(data[at:limit], items)
                at = limit
                continue
            piece = data[at : newline + 1]
            at = newline + 1
            line = self._release(piece) if self._held else piece
            ahead, self._ahead = self._ahead, None
            if self._over_long:
                items.append(Fragment(line))
                self._over_long = False
            elif self._frames and (body := frame_body(line)) is not None:
                self._held += line
                self._body_left = body
            elif ahead is not None:
                items.append(ahead.line(line, piece) or line)
            else:
                items.append(line)
        return items

    @property
    def inside_line(self) -> bool:
        """What is fed next goes on with something that has begun."""
        return bool(self._held) or self._over_long or self._body_left is not None

    def finish(self) -> list[RawItem]:
        """End the stream: return what was left unfinished, and begin anew."""
        rest = bytes(self._held)
        self._start()
        return [Fragment(rest)] if rest else []

    def _hold(self, piece: bytes, items: list[RawItem]) -> None:
        """Keep a piece without a newline; a line that fills the limit with it is over-long."""
        if self._reads_ahead and not self._held and piece.startswith(_REQUESTS):
            self._ahead = IdsAhead()
        if self._ahead is not None:
            self._ahead.feed(piece)
        self._held += piece
        if len(self._held) == self._max_line:
            items.append(Fragment(self._release(b"")))
            self._over_long = True
            self._ahead = None

    def _feed_frame(self, data: bytes, at: int, left: int, items: list[RawItem]) -> int:
        """Take a frame's bytes from ``data[at:]``; return where the next item goes on."""
        if left:
            piece = data[at : at + left]
            self._held += piece
            self._body_left = left - len(piece)
            return at + len(piece)
        last = b"\n" if data[at] == _NEWLINE else b""
        self._body_left = None
        items.append(Frame(self._release(last)))
        return at + len(last)

    def _release(self, last: bytes) -> bytes:
        """Return everything held and ``last``; nothing is held after it."""
        joined = b"".join((self._held, last))
        self._held.clear()
        return joined
