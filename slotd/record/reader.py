"""Reading a record back as traffic.

Here: lines to requests, and the files of one record in order. Not here: how requests are linked
into conversations (`slotd.workload.hashed`).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import Final

from slotd.record.lines import BLOCK, DIGEST, VERSION
from slotd.workload.fields import (
    Fields,
    TraceError,
    fields_of,
    seconds,
    shown,
    unreadable,
    whole,
)
from slotd.workload.hashed import HashedRequest, traffic_from_hashes
from slotd.workload.prompt import TURN_TOKEN
from slotd.workload.traffic import Traffic

PREAMBLE_FANOUT: Final = 8
"""With blocks of 64 tokens and few people, fewer texts make a beginning a system prompt."""
PICTURES: Final = "I"
"""How the verb of a request with pictures ends."""


def requests_of(lines: Iterable[str], name: str) -> Iterator[HashedRequest]:
    """Read the requests of one file; a last line that is not complete is dropped.

    Raises:
        TraceError: the header or a complete line is malformed; the message names line and field.
    """
    numbered = enumerate(lines, 1)
    header = next(numbered, None)
    if header is None or not header[1].endswith("\n"):
        return
    began = _began(header[1], f"{name}, line 1")
    chains: dict[int, tuple[str, ...]] = {}
    for number, line in numbered:
        if not line.endswith("\n"):
            return
        where = f"{name}, line {number}"
        fields = fields_of(line, where)
        blocks = _blocks(fields, chains, where)
        chains[whole(fields, "n", where)] = blocks
        request = _request(fields, blocks, began, where)
        if request.output_length:
            yield request


def _began(header: str, where: str) -> float:
    fields = fields_of(header, where)
    if fields.get("slotd_record") != VERSION or fields.get("block") != BLOCK:
        raise TraceError(
            f"{where}: slotd_record and block are"
            f" {shown(fields, 'slotd_record')} and {shown(fields, 'block')},"
            f" and must be {VERSION} and {BLOCK}"
        )
    return seconds(fields, "began", where)


def _request(fields: Fields, blocks: tuple[str, ...], began: float, where: str) -> HashedRequest:
    prompt = whole(fields, "prompt", where, 1)
    turn = None if fields.get("turn") is None else whole(fields, "turn", where)
    if turn is not None and turn >= prompt:
        raise TraceError(f"{where}: turn is {turn}, and must be less than prompt, {prompt}")
    arrival = began + seconds(fields, "at", where)
    end = None if fields.get("end") is None else arrival + seconds(fields, "end", where)
    if str(fields.get("verb")).endswith(PICTURES):
        # No prompt goes on from one with pictures, whatever their tokens are.
        blocks = tuple(f"{where}, {block}" for block in blocks)
    return HashedRequest(
        arrival=arrival,
        prompt_length=prompt,
        output_length=whole(fields, "out", where),
        blocks=blocks,
        last_turn=turn,
        end=end,
    )


def record_files(path: Path) -> list[Path]:
    """Return the files of the record at `path`, the oldest first.

    A crash between two renames leaves a gap in their numbers, or nothing at `path` itself.
    """
    older = {}
    for file in path.parent.glob(f"{escape(path.name)}.*"):
        number = file.name.removeprefix(f"{path.name}.")
        if number.isascii() and number.isdecimal() and not number.startswith("0"):
            older[int(number)] = file
    found = [older[number] for number in sorted(older, reverse=True)]
    return [*found, path] if path.exists() or not found else found


def read_record(path: Path) -> Traffic:
    """Read a record with its rotated files.

    Raises:
        TraceError: a file cannot be opened or a line is malformed.
    """

    def requests() -> Iterator[HashedRequest]:
        for file in record_files(path):
            with file.open(encoding="ascii", errors="replace") as lines:
                yield from requests_of(lines, file.name)

    try:
        return traffic_from_hashes(
            path.name,
            requests(),
            BLOCK,
            turn_token=TURN_TOKEN,
            preamble_fanout=PREAMBLE_FANOUT,
        )
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None


def _blocks(fields: Fields, chains: dict[int, tuple[str, ...]], where: str) -> tuple[str, ...]:
    like, text = fields.get("like"), fields.get("blocks")
    begin: tuple[str, ...] = ()
    if like is not None:
        match like:
            case [int(number), int(count)] if 0 < count <= len(chains.get(number, ())):
                begin = chains[number][:count]
            case _:
                raise TraceError(
                    f"{where}: like is {shown(fields, 'like')}, and names no earlier blocks"
                )
    try:
        raw = b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        raw = None
    prompt = whole(fields, "prompt", where, 1)
    if raw is None or len(raw) != DIGEST * (-(-prompt // BLOCK) - len(begin)):
        raise TraceError(f"{where}: blocks does not hold the hashes of a prompt of {prompt} tokens")
    return begin + tuple(raw[at : at + DIGEST].hex() for at in range(0, len(raw), DIGEST))
