"""The lines a client (the serve process) writes to the engine, as values.

Lives here: one frozen class per kind of line, parsing one, and rewriting a request's slot and
keys. Must not live here: state, decisions, I/O.

Every value carries the raw bytes it was read from. A line of a known verb with bad fields is a
`ClientOpaque`, never an exception: refusing it is the engine's business.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from attrs import field, frozen

from protocol.ahead import HeldLine
from protocol.fields import integer, replace_field, split_verb, word
from protocol.reader import Fragment, Frame, RawItem
from protocol.tokens import TokenIds, parse_ids

GenerateVerb = Literal["GEN", "GENI", "BGEN", "BGENI"]
Span = tuple[int, int]
Keys = tuple[tuple[bytes, bytes], ...]

_FIELD = re.compile(rb"\s*+(\S++)")
_KEY = re.compile(rb"\s*+([^\s=]*+=\S*+)")
_BLANK = re.compile(rb"\s")


@frozen
class Generate:
    """A request: ``GEN``, ``GENI``, ``BGEN`` or ``BGENI``.

    Its printed form shows neither the line nor the ids, so that no prompt reaches a log.

    Attributes:
        raw: the whole line.
        verb: which of the four.
        slot: the slot a ``BGEN*`` names, any integer; None for ``GEN*``.
        max_new: the most tokens to generate, any integer.
        keys: the ``key=value`` fields in the order of the line.
        file: the pictures of ``GENI`` and ``BGENI``.
        ids: the prompt, shape (tokens,), at least one token, read-only.
    """

    raw: bytes = field(repr=False)
    verb: GenerateVerb
    slot: int | None
    max_new: int
    keys: Keys
    file: bytes | None
    ids: TokenIds = field(repr=False, eq=False)

    @property
    def batch(self) -> bool:
        """Whether it asks for a batch slot (``BGEN*``)."""
        return self.slot is not None

    @property
    def images(self) -> bool:
        """Whether it comes with pictures (``GENI``, ``BGENI``)."""
        return self.file is not None

    @property
    def cvec(self) -> int:
        """The control vector setting, 1 when the line says nothing."""
        value = self.key(b"cvec")
        return 1 if value is None else int(value)

    @property
    def ckpt(self) -> bool:
        """Whether the engine may continue from what it reads, True when the line says nothing."""
        return self.key(b"ckpt") != b"0"

    def key(self, name: bytes) -> bytes | None:
        """Return a key's value: the last where it is repeated, None where it is absent."""
        return _value(self.keys, name)

    def rewritten(self, slot: int | None, set_keys: Mapping[bytes, bytes | None]) -> bytes:
        """Write the line with another slot and other keys, everything else byte for byte the same.

        Args:
            slot: the new first field of a ``BGEN*``. None: it stays; a ``GEN*`` has none to change.
            set_keys: new values by key name. A key the line has gets the value where it stands
                (everywhere, if it is repeated); None takes it out, with the whitespace before it.
                A key the line does not have comes after the last key, in the mapping's order.

        Raises:
            ValueError: a name or value that would not be one field of the form ``name=value``.
        """
        for name, value in set_keys.items():
            if b"=" in name or _BLANK.search(name) or _BLANK.search(value or b""):
                raise ValueError("a key is one field, without whitespace and with no = in its name")
        plain, keys = _header(self.raw, 3 if self.batch else 2)
        at = plain[-1][1]
        pieces: list[bytes | memoryview] = [self.raw[:at]]
        if slot is not None and self.batch:
            pieces = [replace_field(self.raw[:at], 1, b"%d" % slot)]
        for (name, _), (start, end) in zip(self.keys, keys, strict=True):
            if name not in set_keys:
                pieces.append(self.raw[at:end])
            elif (value := set_keys[name]) is not None:
                pieces += [self.raw[at:start], name, b"=", value]
            at = end
        for name, value in set_keys.items():
            if value is not None and self.key(name) is None:
                pieces += [b" ", name, b"=", value]
        pieces.append(memoryview(self.raw)[at:])  # the ids, megabytes: copied once
        return b"".join(pieces)


@frozen
class Stop:
    """``STOP``: end the solo request or prompt read that is running."""

    raw: bytes


@frozen
class BatchStop:
    """``BSTOP <slot>``: end that slot's request at its next window."""

    raw: bytes
    slot: int


@frozen
class BatchYield:
    """``BYIELD <slot>``: the prompt being read gives way; what was read is kept in the slot."""

    raw: bytes
    slot: int


@frozen
class Exchange:
    """A request for one answer line, between requests (``VRAM``, ``SAVE <path>``, ...)."""

    raw: bytes
    verb: str


@frozen
class GrammarFrame:
    """A ``GENG*`` header with its raw body, for the request line that follows it."""

    raw: bytes


@frozen
class Quit:
    """``QUIT``: the engine ends."""

    raw: bytes


@frozen
class ClientOpaque:
    """Anything else: carried to the engine as it is."""

    raw: bytes


ClientLine = (
    Generate | Stop | BatchStop | BatchYield | Exchange | GrammarFrame | Quit | ClientOpaque
)


def parse_client_line(item: RawItem) -> ClientLine:
    """Parse one item of a reader with ``frames=True``; no bytes raise an exception."""
    if isinstance(item, Frame):
        return GrammarFrame(item.raw)
    if isinstance(item, Fragment):
        return ClientOpaque(item.raw)
    raw, held = (item.raw, item) if isinstance(item, HeldLine) else (item, None)
    verb = _verb(raw)
    line: ClientLine | None
    if (request := _REQUESTS.get(verb)) is not None:
        line = _generate(raw, request, held)
    else:
        parse = _PARSERS.get(verb)
        line = None if parse is None else parse(raw, verb)
    return ClientOpaque(raw) if line is None else line


def _verb(raw: bytes) -> bytes:
    """Cut off the verb without walking a long line: the known ones are under 12 bytes."""
    return split_verb(raw[:12])[0] if b" " in raw[:12] else split_verb(raw)[0]


def _value(keys: Keys, name: bytes) -> bytes | None:
    return next((value for key, value in reversed(keys) if key == name), None)


def _header(raw: bytes, plain: int) -> tuple[list[Span], list[Span]]:
    """Find where the first ``plain`` fields and the ``key=value`` fields after them stand.

    Fewer than ``plain`` spans mean that the line is too short.
    """
    fields: list[Span] = []
    keys: list[Span] = []
    at = 0
    while len(fields) < plain and (found := _FIELD.match(raw, at)):
        fields.append(found.span(1))
        at = found.end()
    # find() first: it passes over 1.8 MB of ids far faster than the pattern would.
    while raw.find(b"=", at) >= 0 and (found := _KEY.match(raw, at)):
        keys.append(found.span(1))
        at = found.end()
    return fields, keys


def _generate(raw: bytes, verb: GenerateVerb, held: HeldLine | None) -> Generate | None:
    plain = 3 if verb.startswith("B") else 2
    fields, key_spans = _header(raw, plain)
    if len(fields) < plain:
        return None
    numbers = [integer(raw[start:end]) for start, end in fields[1:]]
    slot, max_new = numbers[0] if plain == 3 else None, numbers[-1]
    if max_new is None or (plain == 3 and slot is None):
        return None
    keys = tuple(_name_and_value(raw[start:end]) for start, end in key_spans)
    cvec = _value(keys, b"cvec")
    if cvec is not None and integer(cvec) is None:
        return None
    at = (key_spans or fields)[-1][1]
    file = None
    if verb.endswith("I"):
        found = _FIELD.match(raw, at)
        if found is None:
            return None
        file, at = found[1], found.end()
    if held is not None and held.ids_at > at and not raw[at : held.ids_at].strip():
        ids: TokenIds | None = held.ids
    else:
        ids = _prompt(raw[at:].strip())
    if ids is None:
        return None
    return Generate(raw, verb, slot, max_new, keys, file, ids)


def _name_and_value(text: bytes) -> tuple[bytes, bytes]:
    name, _, value = text.partition(b"=")
    return name, value


def _prompt(text: bytes) -> TokenIds | None:
    """Read the ids a line's rest begins with; fields after them are fine, as everywhere."""
    ids = parse_ids(text)
    if ids is None and _BLANK.search(text):
        ids = parse_ids(text.split(None, 1)[0])
    return ids


def _slot(raw: bytes) -> int | None:
    """Read the slot number of a ``BSTOP`` or ``BYIELD``."""
    fields = split_verb(raw)[1].split()
    return integer(fields[0]) if fields else None


def _batch_stop(raw: bytes, verb: bytes) -> BatchStop | None:
    slot = _slot(raw)
    return None if slot is None else BatchStop(raw, slot)


def _batch_yield(raw: bytes, verb: bytes) -> BatchYield | None:
    slot = _slot(raw)
    return None if slot is None else BatchYield(raw, slot)


def _stop(raw: bytes, verb: bytes) -> Stop | None:
    # The engine's reader knows the bare word only: with anything after it, it is another line.
    return Stop(raw) if b" " not in raw else None


def _quit(raw: bytes, verb: bytes) -> Quit:
    return Quit(raw)


def _exchange(raw: bytes, verb: bytes) -> Exchange:
    return Exchange(raw, word(verb))


_REQUESTS: dict[bytes, GenerateVerb] = {
    b"GEN": "GEN",
    b"GENI": "GENI",
    b"BGEN": "BGEN",
    b"BGENI": "BGENI",
}
_PARSERS: dict[bytes, Callable[[bytes, bytes], ClientLine | None]] = {
    b"STOP": _stop,
    b"BSTOP": _batch_stop,
    b"BYIELD": _batch_yield,
    b"QUIT": _quit,
    b"VRAM": _exchange,
    b"RELEASE": _exchange,
    b"REFILL": _exchange,
    b"SAVE": _exchange,
    b"RESTORE": _exchange,
    b"CHECKG": _exchange,
}
