"""Public traces: the conversation trace of the Mooncake project and the Bailian usage traces.

One JSON object a line.  Files are read a line at a time; what is kept of a line is its lengths and
block ids.  How requests are linked into conversations is in `slotd.workload.hashed`.

The conversation trace: `timestamp` (ms), `input_length`, `output_length` (tokens), `hash_ids` (one
id a 512-token block, the last, partly filled one included).  It has no turn tokens and names no
conversations.

The Bailian format: `timestamp` (s), `input_length`, `output_length`, `hash_ids` (16-token blocks),
`type`, `turn`, `chat_id` and `parent_chat_id` (-1: none).  Its ids name a block's content alone, so
equal ids count as equal tokens only after equal ids, as everywhere here.  Whether a partly filled
last block has an id makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

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
from slotd.workload.traffic import Traffic

ENCODING: Final = "utf-8-sig"
"""A byte order mark, as some editors write it, is not part of a file's first line."""
MOONCAKE_BLOCK: Final = 512
BAILIAN_BLOCK: Final = 16


def _blocks(row: Fields, where: str, tokens: int, size: int, least: int) -> tuple[int, ...]:
    value = row.get("hash_ids")
    if not isinstance(value, list) or any(type(block) is not int for block in value):
        raise TraceError(f"{where}: hash_ids is no list of whole numbers")
    if not least <= len(value) <= -(-tokens // size):
        raise TraceError(
            f"{where}: hash_ids has {len(value)} ids, and input_length {tokens} makes "
            f"{-(-tokens // size)} blocks of {size} tokens"
        )
    return tuple(value)


def _name(row: Fields, name: str, where: str) -> int | str | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TraceError(f"{where}: {name} is {shown(row, name)}, and must be a chat's number")
    return None if value == -1 else value


def _rows(lines: Iterable[str], name: str) -> Iterator[tuple[str, Fields]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{name}, line {number}"
            yield where, fields_of(line, where)


def mooncake(lines: Iterable[str], name: str = "trace") -> Traffic:
    """Read a trace in the Mooncake format.

    Raises:
        TraceError: a line is malformed; the message names it and the field.
    """

    def requests() -> Iterator[HashedRequest]:
        for where, row in _rows(lines, name):
            tokens = whole(row, "input_length", where, 1)
            yield HashedRequest(
                arrival=seconds(row, "timestamp", where, a_second=1000),
                prompt_length=tokens,
                output_length=whole(row, "output_length", where, 1),
                blocks=_blocks(row, where, tokens, MOONCAKE_BLOCK, -(-tokens // MOONCAKE_BLOCK)),
            )

    return traffic_from_hashes(name, requests(), MOONCAKE_BLOCK)


def bailian(lines: Iterable[str], name: str = "trace") -> Traffic:
    """Read a trace in the Bailian format.

    Raises:
        TraceError: a line is malformed; the message names it and the field.
    """

    def requests() -> Iterator[HashedRequest]:
        for where, row in _rows(lines, name):
            tokens = whole(row, "input_length", where, 1)
            kind = row.get("type", "text")
            if not isinstance(kind, str):
                raise TraceError(f"{where}: type is {shown(row, 'type')}, and must be a text")
            yield HashedRequest(
                arrival=seconds(row, "timestamp", where),
                prompt_length=tokens,
                output_length=whole(row, "output_length", where, 1),
                blocks=_blocks(row, where, tokens, BAILIAN_BLOCK, tokens // BAILIAN_BLOCK),
                kind=kind,
                chat=_name(row, "chat_id", where),
                parent_chat=_name(row, "parent_chat_id", where),
            )

    return traffic_from_hashes(name, requests(), BAILIAN_BLOCK)


def trace_format(first_line: str) -> str:
    """Tell `"bailian"`, `"record"` or `"mooncake"`, by the first line of a file."""
    try:
        row = fields_of(first_line, "")
    except TraceError:
        return "mooncake"
    if "chat_id" in row or "parent_chat_id" in row:
        return "bailian"
    return "record" if "slotd_record" in row else "mooncake"


def first_line(path: Path) -> str:
    """Return the first line of a file that is not blank; an empty one when there is none.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be opened, or is no text.
    """
    with path.open(encoding=ENCODING) as file:
        return next((line for line in file if line.strip()), "")


def read_trace(path: Path) -> Traffic:
    """Read a public trace file, in whichever of the two formats it is.

    Raises:
        TraceError: the file cannot be opened, is empty, or has a malformed line.
    """
    try:
        first = first_line(path)
        if not first:
            raise TraceError(f"{path}: there is no request in it")
        read = bailian if trace_format(first) == "bailian" else mooncake
        with path.open(encoding=ENCODING) as file:
            return read(file, path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
