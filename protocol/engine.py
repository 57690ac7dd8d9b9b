"""The lines the engine writes to its client, as values.

Lives here: one frozen class per kind of line and parsing one. Must not live here: state,
decisions, I/O.

Every value carries the raw bytes it was read from. A line of a known verb with bad fields is an
`EngineOpaque`, never an exception. Fields are only ever added to a line, so more fields than a
line needs are fine everywhere. Slots may be any integer; token counts are never negative.
"""

import re
from collections.abc import Callable, Mapping

from attrs import field, frozen

from protocol.fields import count, decimal, integer, split_verb, token_id, word
from protocol.reader import RawItem

_LIST_SEPARATORS = re.compile(rb"[,\s]+")


@frozen
class Info:
    """``INFO k=v ...``: what the engine is and can do; may come in several lines before READY."""

    raw: bytes
    fields: Mapping[str, str] = field(eq=False)


@frozen
class Ready:
    """``READY <context> [stop]``: serving; ``stop``: it honours STOP. Context in tokens."""

    raw: bytes
    context: int
    stop: bool


@frozen
class Resume:
    """``RESUME <n>``: so many prompt tokens are reused; reading starts there."""

    raw: bytes
    tokens: int


@frozen
class CacheSource:
    """``CACHE_SOURCE <slot> <tokens>``: where the reused prefix came from; -1: no slot."""

    raw: bytes
    slot: int
    tokens: int


@frozen
class Parked:
    """``PARKED <slot> <tokens>``: a park was carried out; 0 tokens: its copy failed."""

    raw: bytes
    slot: int
    tokens: int


@frozen
class Checks:
    """``BCHECKS <slot> <tokens> <length,...>``: a slot's checkpoint lengths in tokens."""

    raw: bytes
    slot: int
    tokens: int
    lengths: tuple[int, ...]


@frozen
class Progress:
    """``PP <read> <total> <ms> <tok/s>``: how far the prompt is read."""

    raw: bytes
    read: int
    total: int
    ms: float
    rate: float


@frozen
class Token:
    """``T <id>``: a token of the request on the control lines."""

    raw: bytes
    id: int


@frozen
class Done:
    """``DONE``: the end of the request on the control lines.

    Attributes:
        raw: the whole line.
        generated: tokens generated.
        prompt: tokens of the prompt.
        prompt_ms: time to read the prompt.
        decode_ms: time to generate.
        finish: ``stop``, ``length`` or ``cancel``; another word is kept as it is.
        accepted: draft tokens accepted; 0 where the line does not say.
        offered: draft tokens offered; 0 where the line does not say.
        reused: prompt tokens reused; None where the line does not say.
    """

    raw: bytes
    generated: int
    prompt: int
    prompt_ms: float
    decode_ms: float
    finish: str
    accepted: int
    offered: int
    reused: int | None


@frozen
class Admitted:
    """``BADM <slot> <1/0>``: after an admission's DONE; whether it goes on in the slot."""

    raw: bytes
    slot: int
    goes_on: bool


@frozen
class BatchToken:
    """``BT <slot> <id>``: a token of that slot's request."""

    raw: bytes
    slot: int
    id: int


@frozen
class BatchDone:
    """``BDONE <slot> <generated> <finish> <ms>``: the slot is free and keeps its conversation."""

    raw: bytes
    slot: int
    generated: int
    finish: str
    ms: float


@frozen
class Yielded:
    """``YIELDED <slot> <tokens>``: a read gave way; so much of its prompt is kept in the slot."""

    raw: bytes
    slot: int
    tokens: int


@frozen
class EngineError:
    """``ERR <text>``: the request failed, or the engine's last words."""

    raw: bytes
    text: str


@frozen
class Answer:
    """The answer to an exchange (``VRAM``, ``RELEASED``, ``SAVED``, ``SERR``, ...)."""

    raw: bytes
    verb: str


@frozen
class EngineOpaque:
    """Anything else: carried to the client as it is."""

    raw: bytes


EngineLine = (
    Info
    | Ready
    | Resume
    | CacheSource
    | Parked
    | Checks
    | Progress
    | Token
    | Done
    | Admitted
    | BatchToken
    | BatchDone
    | Yielded
    | EngineError
    | Answer
    | EngineOpaque
)


def parse_engine_line(item: RawItem) -> EngineLine:
    """Parse one item of a reader with ``frames=False``; no bytes raise an exception."""
    if not isinstance(item, bytes):
        return EngineOpaque(item.raw)
    if item.startswith(b"BT "):
        # Most lines of a busy engine are these: no detour.
        fields = item.split()
        if len(fields) >= 3:
            slot, token = integer(fields[1]), token_id(fields[2])
            if slot is not None and token is not None:
                return BatchToken(item, slot, token)
        return EngineOpaque(item)
    verb, rest = split_verb(item)
    parse = _PARSERS.get(verb)
    line = None if parse is None else parse(item, rest)
    return EngineOpaque(item) if line is None else line


def _info(raw: bytes, rest: bytes) -> Info:
    pairs = (text.partition(b"=") for text in rest.split())
    return Info(raw, {word(name): word(value) for name, equals, value in pairs if equals})


def _ready(raw: bytes, rest: bytes) -> Ready | None:
    fields = rest.split()
    context = count(fields[0]) if fields else None
    return None if context is None else Ready(raw, context, b"stop" in fields[1:])


def _resume(raw: bytes, rest: bytes) -> Resume | None:
    fields = rest.split()
    tokens = count(fields[0]) if fields else None
    return None if tokens is None else Resume(raw, tokens)


def _slot_and_tokens(rest: bytes) -> tuple[int, int] | None:
    fields = rest.split(None, 2)
    if len(fields) < 2:
        return None
    slot, tokens = integer(fields[0]), count(fields[1])
    return None if slot is None or tokens is None else (slot, tokens)


def _cache_source(raw: bytes, rest: bytes) -> CacheSource | None:
    pair = _slot_and_tokens(rest)
    return None if pair is None else CacheSource(raw, *pair)


def _parked(raw: bytes, rest: bytes) -> Parked | None:
    pair = _slot_and_tokens(rest)
    return None if pair is None else Parked(raw, *pair)


def _yielded(raw: bytes, rest: bytes) -> Yielded | None:
    pair = _slot_and_tokens(rest)
    return None if pair is None else Yielded(raw, *pair)


def _checks(raw: bytes, rest: bytes) -> Checks | None:
    pair = _slot_and_tokens(rest)
    if pair is None:
        return None
    listed = b"".join(rest.split(None, 2)[2:])
    lengths = [count(text) for text in _LIST_SEPARATORS.split(listed) if text]
    known = tuple(length for length in lengths if length is not None)
    return Checks(raw, *pair, known) if len(known) == len(lengths) else None


def _progress(raw: bytes, rest: bytes) -> Progress | None:
    fields = rest.split()
    if len(fields) < 4:
        return None
    read, total = count(fields[0]), count(fields[1])
    ms, rate = decimal(fields[2]), decimal(fields[3])
    if read is None or total is None or ms is None or rate is None:
        return None
    return Progress(raw, read, total, ms, rate)


def _token(raw: bytes, rest: bytes) -> Token | None:
    fields = rest.split()
    token = token_id(fields[0]) if fields else None
    return None if token is None else Token(raw, token)


def _done(raw: bytes, rest: bytes) -> Done | None:
    fields = rest.split()
    if len(fields) < 5:
        return None
    generated, prompt = count(fields[0]), count(fields[1])
    prompt_ms, decode_ms = decimal(fields[2]), decimal(fields[3])
    if generated is None or prompt is None or prompt_ms is None or decode_ms is None:
        return None
    added = [count(text) for text in fields[5:8]]
    if None in added:
        return None
    accepted, offered, reused = (added + [0, 0, None][len(added) :])[:3]
    return Done(
        raw,
        generated,
        prompt,
        prompt_ms,
        decode_ms,
        word(fields[4]),
        accepted or 0,
        offered or 0,
        reused,
    )


def _admitted(raw: bytes, rest: bytes) -> Admitted | None:
    fields = rest.split()
    slot = integer(fields[0]) if len(fields) >= 2 else None
    if slot is None or fields[1] not in (b"0", b"1"):
        return None
    return Admitted(raw, slot, fields[1] == b"1")


def _batch_done(raw: bytes, rest: bytes) -> BatchDone | None:
    fields = rest.split()
    if len(fields) < 4:
        return None
    slot, generated, ms = integer(fields[0]), count(fields[1]), decimal(fields[3])
    if slot is None or generated is None or ms is None:
        return None
    return BatchDone(raw, slot, generated, word(fields[2]), ms)


def _error(raw: bytes, rest: bytes) -> EngineError:
    return EngineError(raw, word(rest))


def _answer(verb: str) -> Callable[[bytes, bytes], Answer]:
    return lambda raw, _: Answer(raw, verb)


_PARSERS: dict[bytes, Callable[[bytes, bytes], EngineLine | None]] = {
    b"INFO": _info,
    b"READY": _ready,
    b"RESUME": _resume,
    b"CACHE_SOURCE": _cache_source,
    b"PARKED": _parked,
    b"BCHECKS": _checks,
    b"PP": _progress,
    b"T": _token,
    b"DONE": _done,
    b"BADM": _admitted,
    b"BDONE": _batch_done,
    b"YIELDED": _yielded,
    b"ERR": _error,
} | {
    verb.encode("ascii"): _answer(verb)
    for verb in (
        "VRAM",
        "RELEASED",
        "REFILLED",
        "SAVED",
        "RESTORED",
        "SERR",
        "SESSION",
        "SWAIT",
        "FATAL",
    )
}
