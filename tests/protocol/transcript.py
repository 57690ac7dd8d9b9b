"""Conversations as text: ``>>`` a client's line, ``<<`` an engine's, then what it must be read as.

    >> BSTOP 3          BatchStop slot=3
    << RESUME 17        Resume tokens=17

Two or more spaces separate the line from its reading, so odd spacing has tests of its own.
"""

import re

from attrs import fields

from protocol import (
    ClientLine,
    EngineLine,
    Generate,
    LineReader,
    parse_client_line,
    parse_engine_line,
)


def parse_one(raw: bytes, *, client: bool) -> ClientLine | EngineLine:
    """Read exactly one item from the bytes and parse it."""
    reader = LineReader(frames=client)
    (item,) = reader.feed(raw) + reader.finish()
    return parse_client_line(item) if client else parse_engine_line(item)


def reading(line: ClientLine | EngineLine) -> str:
    """The class of a line and its fields, without its raw bytes."""
    words = [type(line).__name__]
    for attribute in fields(type(line)):
        value = getattr(line, attribute.name)
        if attribute.name == "ids":
            value = value.tolist()
        if attribute.name != "raw":
            words.append(f"{attribute.name}={value!r}".replace(" ", ""))
    if isinstance(line, Generate):
        words.append(f"images={line.images} batch={line.batch} cvec={line.cvec} ckpt={line.ckpt}")
    return " ".join(words)


def check(transcript: str) -> None:
    """Assert that every line is read as the transcript says, and carried as it is.

    A reading leaves out what it does not name: only the named fields are compared.
    """
    for row in transcript.strip().splitlines():
        match = re.fullmatch(r"\s*(>>|<<) (.*?)  +(\S.*)", row)
        assert match is not None, f"not a row of a transcript: {row}"
        arrow, text, expected = match.groups()
        raw = text.encode() + b"\n"
        line = parse_one(raw, client=arrow == ">>")
        assert line.raw == raw
        found = reading(line).split()
        name, *named = expected.split()
        assert found[0] == name, row
        assert [word for word in named if word not in found] == [], f"{row}\n{found}"
