"""Token ids as numpy arrays: reading them, writing them, comparing their beginnings.

Lives here: everything that touches many ids at once, so that no prompt ever becomes a list of
Python ints. Must not live here: what a token means, or any verb of the protocol.
"""

import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int32]
"""Token ids, shape (tokens,), read-only when they come out of this module."""

_COMMA = ord(",")
_ZERO = ord("0")
_INT32_MAX = 2**31 - 1
_MAX_DIGITS = 10
_FIRST_BLOCK = 256
_LAST_BLOCK = 65536

EMPTY: TokenIds = np.zeros(0, dtype=np.int32)
"""No tokens at all."""
EMPTY.flags.writeable = False


def parse_ids(text: bytes) -> TokenIds | None:
    """Read ``decimal,decimal,...``.

    Args:
        text: the ids field of a request, without whitespace.

    Returns:
        The ids as a read-only int32 array of shape (tokens,), or None when the text is not
        well formed: empty, an empty item, a byte that is no digit or comma, more than 10 digits,
        an id beyond int32.
    """
    if not text:
        return None
    data = np.frombuffer(text, dtype=np.uint8)
    # uint8 arithmetic wraps, so everything below "0" lands above 9 as well.
    not_digit = np.flatnonzero((data - np.uint8(_ZERO)) > 9)
    if not bool((data[not_digit] == _COMMA).all()):
        return None
    bounds = np.empty(len(not_digit) + 2, dtype=np.int64)
    bounds[0], bounds[-1] = -1, len(data)
    bounds[1:-1] = not_digit
    widths = np.diff(bounds) - 1
    if int(widths.min()) < 1 or int(widths.max()) > _MAX_DIGITS:
        return None
    numbers = np.fromstring(text, dtype=np.int64, sep=",")
    if int(numbers.max()) > _INT32_MAX:
        return None
    ids = numbers.astype(np.int32)
    ids.flags.writeable = False
    return ids


def format_ids(ids: TokenIds) -> bytes:
    """Write ids as ``decimal,decimal,...``; the inverse of `parse_ids` (no ids: no bytes)."""
    return ",".join(map(str, ids.tolist())).encode("ascii")


def common_prefix(a: TokenIds, b: TokenIds) -> int:
    """How many tokens two histories share from their start.

    Compares in blocks that grow, because two different conversations mostly differ early.
    """
    end = min(len(a), len(b))
    at, block = 0, _FIRST_BLOCK
    while at < end:
        stop = min(at + block, end)
        differs = a[at:stop] != b[at:stop]
        first = int(differs.argmax())
        if differs[first]:
            return at + first
        at, block = stop, min(block * 4, _LAST_BLOCK)
    return end


def is_proper_prefix(a: TokenIds, b: TokenIds) -> bool:
    """Whether ``b`` begins with all of ``a`` and goes on after it (no tokens begin anything)."""
    return len(a) < len(b) and common_prefix(a, b) == len(a)
