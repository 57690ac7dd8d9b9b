"""The record's format: one JSON object a line, a header first.

Header: `{"slotd_record": 1, "block": 64, "salt": LABEL, "began": T}`. Block hashes of files with
one label can be compared; the salt itself is never written. Times count from `began`, in seconds
since 1970 (0 in generated traffic), so that the files of several starts follow each other.

A request: `n` (its number), `at` (s; when its first line came, so without what it waited for that
in the serve process), `verb`, `prompt` and `out` (tokens), `turn` (tokens before the prompt's last
turn token, or null), `like` (`[n, blocks]`: it begins with so many blocks of request n of this
file, or null), `blocks` (base64 of the other blocks' hashes, 8 bytes each),
`queue`, `first`, `end` (seconds from `at` to the begin of its read, its first token, its end; null:
none), `slot`, `client_slot` (null: solo), `reused` (tokens), `finish`, `legs`.

A block is 64 tokens, the last one what is left; its hash is that of the whole prompt up to its end
(BLAKE2b, keyed with the salt), so that two prompts share a block hash only when they begin alike
and have the same control vector.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import OrderedDict
from hashlib import blake2b
from typing import Final

from attrs import define, frozen

from protocol.tokens import TokenIds

BLOCK: Final = 64
"""Tokens a block."""
DIGEST: Final = 8
"""Bytes a hash."""
VERSION: Final = 1
MARK: Final = b'{"slotd_record":'
"""What every record begins with."""
PLAIN_CVEC: Final = 1
"""The `cvec` of a line that names none."""
LIKE_MEMORY: Final = 200_000
"""Block hashes a file's writer remembers, so that later prompts can refer to them."""


def block_hashes(prompt: TokenIds, salt: bytes, cvec: int = PLAIN_CVEC) -> list[bytes]:
    """Return the hash of every block, the last, partly filled one included.

    `salt` has at most 64 bytes. Prompts with different `cvec` have no hash in common.
    """
    hasher = blake2b(digest_size=DIGEST, key=salt)
    if cvec != PLAIN_CVEC:
        hasher.update(b"cvec=%d" % cvec)
    found = []
    for at in range(0, len(prompt), BLOCK):
        hasher.update(prompt[at : at + BLOCK].tobytes())
        found.append(hasher.digest())
    return found


@frozen
class Entry:
    """One request as it is recorded. Lengths in tokens; `at` in seconds, the rest from `at` on."""

    number: int
    at: float
    verb: str
    prompt: int
    out: int
    turn: int | None
    blocks: tuple[bytes, ...]
    queue: float | None = None
    first: float | None = None
    end: float | None = None
    slot: int | None = None
    client_slot: int | None = None
    reused: int | None = None
    finish: str = ""
    legs: int = 1


@define
class LineWriter:
    """Entries to lines of one file."""

    label: str
    began: float
    """Seconds since 1970."""
    _known: OrderedDict[bytes, tuple[int, int]]

    @classmethod
    def begin(cls, label: str, began: float = 0.0) -> LineWriter:
        """Begin a file: nothing can be referred to yet."""
        return cls(label, began, OrderedDict())

    def header(self) -> str:
        """Return the first line."""
        return _line(
            {
                "slotd_record": VERSION,
                "block": BLOCK,
                "salt": self.label,
                "began": round(self.began, 3),
            }
        )

    def line(self, entry: Entry) -> str:
        """Return an entry's line; later ones may refer to it."""
        shared, like = 0, None
        for place in range(len(entry.blocks), 0, -1):
            found = self._known.get(entry.blocks[place - 1])
            if found is not None and found[1] == place:
                shared, like = place, [found[0], place]
                break
        for place in range(shared, len(entry.blocks)):
            self._known[entry.blocks[place]] = (entry.number, place + 1)
        while len(self._known) > LIKE_MEMORY:
            self._known.popitem(last=False)
        return _line(
            {
                "n": entry.number,
                "at": round(entry.at, 3),
                "verb": entry.verb,
                "prompt": entry.prompt,
                "out": entry.out,
                "turn": entry.turn,
                "like": like,
                "blocks": b64encode(b"".join(entry.blocks[shared:])).decode("ascii"),
                "queue": _seconds(entry.queue),
                "first": _seconds(entry.first),
                "end": _seconds(entry.end),
                "slot": entry.slot,
                "client_slot": entry.client_slot,
                "reused": entry.reused,
                "finish": entry.finish,
                "legs": entry.legs,
            }
        )


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":")) + "\n"
