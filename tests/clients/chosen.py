"""What slotd may write on a line that it passes on, taken off.

Lives here: the comparison of lines before and after slotd. Must not live here: where they come
from.
"""

import re

_SLOT = re.compile(
    rb"^(BT|BDONE|BADM|YIELDED|PARKED|CACHE_SOURCE|BCHECKS|BGEN|BGENI|BSTOP|BYIELD) \s*+\S++"
)
_CHOSEN = re.compile(rb"\s++(?:slot|park)=\S*+")


def unchosen(line: bytes) -> bytes:
    """The line without its slot, `slot=` and `park=`."""
    return _CHOSEN.sub(b"", _SLOT.sub(rb"\1", line))


def unchosen_lines(stream: bytes) -> list[bytes]:
    """The same for every line of a stream; what follows the last newline is one more."""
    return [unchosen(line) for line in stream.split(b"\n")]
