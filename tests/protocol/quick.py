"""What must hold of the two quick ways of reading: they say what the plain reader says."""

from protocol import (
    BatchToken,
    Generate,
    HeldLine,
    LineReader,
    RawItem,
    RunReader,
    TokenRun,
    parse_client_line,
    parse_engine_line,
    parse_ids,
    raw_of,
)
from protocol.ahead import IdsAhead


def check_ahead(chunks: list[bytes]) -> list[HeldLine]:
    """Every line that was read ahead says what it says read at once. Returns those lines."""
    ahead, plain = LineReader(frames=True, ahead=True), LineReader(frames=True)
    items = [item for chunk in chunks for item in ahead.feed(chunk)] + ahead.finish()
    lines = [item for chunk in chunks for item in plain.feed(chunk)] + plain.finish()
    for item, line in zip(items, lines, strict=True):
        assert raw_of(item) == raw_of(line)
        parsed, expected = parse_client_line(item), parse_client_line(line)
        assert parsed == expected
        if isinstance(parsed, Generate) and isinstance(expected, Generate):
            assert parsed.ids.tolist() == expected.ids.tolist()
            assert not parsed.ids.flags.writeable
    return [item for item in items if isinstance(item, HeldLine)]


def check_last_field(chunks: list[bytes], enough: int) -> HeldLine | None:
    """The last field of a line that came in these pieces is read as it is read at once.

    `enough`: more bytes than the longest number of a list read ahead has.
    """
    *pieces, last = [*chunks, b""]
    ahead = IdsAhead(enough)
    for piece in pieces:
        ahead.feed(piece)
    raw = b"".join(chunks)
    held = ahead.line(raw, last)
    text = raw.split()[-1] if raw.split() else b""
    ids = parse_ids(text)
    if held is None:
        # Only what is no list, or has a number no token has, may be left to be read at once.
        assert ids is None or max(map(len, text.split(b","))) > 10
        return None
    assert ids is not None
    assert held.ids.tolist() == ids.tolist()
    assert raw[held.ids_at :].rstrip() == text
    return held


def check_runs(chunks: list[bytes]) -> list[TokenRun]:
    """Tokens read in runs are those of their lines, and all lines are there. Returns the runs."""
    quick, plain = RunReader(), LineReader(frames=False)
    items = [item for chunk in chunks for item in quick.feed(chunk)] + quick.finish()
    lines = [item for chunk in chunks for item in plain.feed(chunk)] + plain.finish()
    assert [line for item in items for line in _lines(item)] == lines
    runs = [item for item in items if isinstance(item, TokenRun)]
    for run in runs:
        parsed = [parse_engine_line(line) for line in run.lines()]
        tokens = [(line.slot, line.id) for line in parsed if isinstance(line, BatchToken)]
        assert list(run.tokens()) == tokens
        assert len(tokens) == len(parsed)
        assert run.renumbered(lambda slot: slot) == run.raw
    return runs


def _lines(item: RawItem | TokenRun) -> list[RawItem]:
    return [*item.lines()] if isinstance(item, TokenRun) else [item]
