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

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from slotd.workload.hashed import HashedRequest, traffic_from_hashes
from slotd.workload.traffic import Traffic

MOONCAKE_BLOCK: Final = 512
BAILIAN_BLOCK: Final = 16


class TraceError(ValueError):
    """A trace that cannot be read; the message is one line that names file, line and field."""


def _number(row: Mapping[str, object], name: str, where: str) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        raise TraceError(f"{where}: {name} is {_shown(row, name)}, and must be a number >= 0")
    return float(value)


def _count(row: Mapping[str, object], name: str, where: str, least: int) -> int:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 31:
        raise TraceError(
            f"{where}: {name} is {_shown(row, name)}, and must be a whole number >= {least}"
        )
    return value


def _shown(row: Mapping[str, object], name: str) -> str:
    return repr(row[name])[:40] if name in row else "missing"


def _blocks(
    row: Mapping[str, object], where: str, tokens: int, size: int, least: int
) -> tuple[int, ...]:
    value = row.get("hash_ids")
    if not isinstance(value, list) or any(type(block) is not int for block in value):
        raise TraceError(f"{where}: hash_ids is no list of whole numbers")
    if not least <= len(value) <= -(-tokens // size):
        raise TraceError(
            f"{where}: hash_ids has {len(value)} ids, and input_length {tokens} makes "
            f"{-(-tokens // size)} blocks of {size} tokens"
        )
    return tuple(value)


def _name(row: Mapping[str, object], name: str, where: str) -> int | str | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TraceError(f"{where}: {name} is {_shown(row, name)}, and must be a chat's number")
    return None if value == -1 else value


def _rows(lines: Iterable[str], name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise TraceError(f"{where}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise TraceError(f"{where}: not a JSON object")
        yield where, row


def mooncake(lines: Iterable[str], name: str = "trace") -> Traffic:
    """Read a trace in the Mooncake format.

    Raises:
        TraceError: a line is malformed; the message names it and the field.
    """

    def requests() -> Iterator[HashedRequest]:
        for where, row in _rows(lines, name):
            tokens = _count(row, "input_length", where, 1)
            yield HashedRequest(
                arrival=_number(row, "timestamp", where) / 1000,
                prompt_length=tokens,
                output_length=_count(row, "output_length", where, 1),
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
            tokens = _count(row, "input_length", where, 1)
            kind = row.get("type", "text")
            if not isinstance(kind, str):
                raise TraceError(f"{where}: type is {_shown(row, 'type')}, and must be a text")
            yield HashedRequest(
                arrival=_number(row, "timestamp", where),
                prompt_length=tokens,
                output_length=_count(row, "output_length", where, 1),
                blocks=_blocks(row, where, tokens, BAILIAN_BLOCK, tokens // BAILIAN_BLOCK),
                kind=kind,
                chat=_name(row, "chat_id", where),
                parent_chat=_name(row, "parent_chat_id", where),
            )

    return traffic_from_hashes(name, requests(), BAILIAN_BLOCK)


def trace_format(first_line: str) -> str:
    """Tell `"bailian"`, `"record"` or `"mooncake"`, by the first line of a file."""
    try:
        row = json.loads(first_line)
    except ValueError:
        row = None
    if isinstance(row, dict) and "chat_id" in row:
        return "bailian"
    if isinstance(row, dict) and "slotd_record" in row:
        return "record"
    return "mooncake"


def read_trace(path: Path) -> Traffic:
    """Read a public trace file, in whichever of the two formats it is.

    Raises:
        TraceError: the file cannot be opened, is empty, or has a malformed line.
    """
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
            if not first:
                raise TraceError(f"{path}: the file is empty")
            file.seek(0)
            return (bailian if trace_format(first) == "bailian" else mooncake)(file, path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read ({error})") from error
