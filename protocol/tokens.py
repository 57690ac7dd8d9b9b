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
_NINE = ord("9")
_BETWEEN_COMMA_AND_ZERO = (b"-", b".", b"/")
_INT32_MAX = 2**31 - 1
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
        well formed: empty, an empty item, a byte that is no digit or comma, an id beyond int32.
    """
    if not _is_decimal_list(text):
        return None
    # As int64: numpy ends a longer number at the largest int64, so that it stays out of range.
    numbers = np.fromstring(text, dtype=np.int64, sep=",")
    if int(numbers.max()) > _INT32_MAX:
        return None
    ids = numbers.astype(np.int32)
    ids.flags.writeable = False
    return ids


def _is_decimal_list(text: bytes) -> bool:
    """Whether the text is digits with single commas between them (numpy's parser takes more)."""
    if not text or text.startswith(b",") or text.endswith(b","):
        return False
    data = np.frombuffer(text, dtype=np.uint8)
    if int(data.min()) < _COMMA or int(data.max()) > _NINE:
        return False
    if any(byte in text for byte in _BETWEEN_COMMA_AND_ZERO):
        return False
    commas = data == _COMMA
    return not bool((commas[1:] & commas[:-1]).any())


def format_ids(ids: TokenIds) -> bytes:
    """Write ids (0 or more each) as ``decimal,decimal,...``; no ids: no bytes.

    One row of digits an id, as wide as the largest, its leading zeros left out at the end.

    Raises:
        ValueError: an id is negative.
    """
    if not len(ids):
        return b""
    if int(ids.min()) < 0:
        raise ValueError("a token id is never negative")
    width = len(str(int(ids.max())))
    rows = np.empty((len(ids), width + 1), dtype=np.uint8)
    written = np.ones(rows.shape, dtype=np.bool_)
    rest = ids
    for column in range(width - 1, -1, -1):
        if column < width - 1:
            written[:, column] = rest > 0
        tens = rest // 10
        rows[:, column] = rest - tens * 10 + _ZERO
        rest = tens
    rows[:, width] = _COMMA
    return rows[written][:-1].tobytes()


def last_index(ids: TokenIds, token: int) -> int | None:
    """Return where `token` stands last in ``ids``, shape (tokens,); None when it does not."""
    found = np.flatnonzero(ids == token)
    return int(found[-1]) if len(found) else None


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
