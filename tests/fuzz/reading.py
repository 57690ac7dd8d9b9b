"""The target over the protocol reader and the parsers behind it."""

from protocol import (
    Fragment,
    Frame,
    Generate,
    LineReader,
    parse_client_line,
    parse_engine_line,
    raw_of,
)
from protocol.reader import MAX_FRAME_BODY
from tests.fuzz.taking import Taker
from tests.protocol.quick import check_ahead, check_last_field, check_runs

Features = frozenset[str]


def read(data: bytes) -> Features:
    """Cut some bytes in all ways and parse what comes out.

    Raises AssertionError when a byte is lost, the cuts matter, more is held than one line, a line
    is not itself any more, or a rewritten request does not say what it was made to say.
    """
    taker = Taker(data)
    frames, limit, size = taker.happens(8), taker.pick([16, 64, 4096, 1]), 1 + taker.below(40)
    stream = taker.rest()
    whole, cut = LineReader(frames, limit), LineReader(frames, limit)
    items = [*whole.feed(stream), *whole.finish()]
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [item for piece in pieces for item in cut.feed(piece)] + cut.finish() == items
    raws = [raw_of(item) for item in items]
    assert b"".join(raws) == stream
    features = set[str]()
    for item, raw in zip(items, raws, strict=True):
        parsed = parse_client_line(item) if frames else parse_engine_line(item)
        assert parsed.raw == raw
        features.add(type(parsed).__name__ if isinstance(item, bytes) else type(item).__name__)
        # A frame, or what the end of the stream left of one, is a header line and a body.
        frame = isinstance(item, Frame) or (isinstance(item, Fragment) and b"\n" in raw[:-1])
        assert len(raw) <= (limit + MAX_FRAME_BODY + 1 if frame else limit)
        if isinstance(parsed, Generate):
            _check_rewriting(parsed)
    if frames:
        check_ahead(pieces)
        # Often enough to be read in parts, which no input here is long enough for otherwise.
        if check_last_field([piece.replace(b"\n", b"") for piece in pieces], enough=max(40, limit)):
            features.add("HeldLine")
    elif check_runs(pieces):
        features.add("TokenRun")
    return frozenset(features)


def _check_rewriting(line: Generate) -> None:
    slot = None if line.slot is None else 3
    rewritten = parse_client_line(line.rewritten(slot, {b"slot": b"4", b"park": None}))
    assert isinstance(rewritten, Generate)
    assert (rewritten.slot, rewritten.key(b"slot"), rewritten.key(b"park")) == (slot, b"4", None)
    assert (rewritten.max_new, rewritten.file) == (line.max_new, line.file)
    assert (rewritten.ids == line.ids).all()
    others = [key for key in line.keys if key[0] not in (b"slot", b"park")]
    assert [key for key in rewritten.keys if key[0] not in (b"slot", b"park")] == others
