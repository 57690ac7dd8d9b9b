"""Reading a record back as traffic.

Here: lines to requests, and the files of one record in order. Not here: how requests are linked
into conversations (`slotd.workload.hashed`).
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from slotd.record.lines import BLOCK, DIGEST, VERSION
from slotd.workload.hashed import HashedRequest, traffic_from_hashes
from slotd.workload.prompt import TURN_TOKEN
from slotd.workload.traces import TraceError
from slotd.workload.traffic import Traffic

PREAMBLE_FANOUT: Final = 8
"""With blocks of 64 tokens and few people, fewer texts make a beginning a system prompt."""


def requests_of(lines: Iterable[str], name: str) -> Iterator[HashedRequest]:
    """Read the requests of one file; a last line that is not complete is dropped.

    Raises:
        TraceError: the header or a complete line is malformed; the message names line and field.
    """
    numbered = enumerate(lines, 1)
    header = next(numbered, None)
    if header is None or not header[1].endswith("\n"):
        return
    fields = _object(header[1], f"{name}, line 1")
    if fields.get("slotd_record") != VERSION or fields.get("block") != BLOCK:
        raise TraceError(
            f"{name}, line 1: slotd_record and block are"
            f" {fields.get('slotd_record')!r} and {fields.get('block')!r},"
            f" and must be {VERSION} and {BLOCK}"
        )
    chains: dict[int, tuple[str, ...]] = {}
    for number, line in numbered:
        if not line.endswith("\n"):
            return
        where = f"{name}, line {number}"
        fields = _object(line, where)
        blocks = _blocks(fields, chains, where)
        chains[_count(fields, "n", where)] = blocks
        end = _seconds(fields, "end", where)
        at = _seconds(fields, "at", where)
        if at is None:
            raise TraceError(f"{where}: at is null, and must be seconds")
        out = _count(fields, "out", where)
        if out == 0:
            continue
        yield HashedRequest(
            arrival=at,
            prompt_length=_count(fields, "prompt", where),
            output_length=out,
            blocks=blocks,
            kind=str(fields.get("kind", "chat")),
            last_turn=None if fields.get("turn") is None else _count(fields, "turn", where),
            end=None if end is None else at + end,
        )


def record_files(path: Path) -> list[Path]:
    """Return the files of the record at `path`, the oldest first."""
    rotated = []
    number = 1
    while (older := path.with_name(f"{path.name}.{number}")).exists():
        rotated.append(older)
        number += 1
    return [*reversed(rotated), path]


def read_record(path: Path) -> Traffic:
    """Read a record with its rotated files.

    Raises:
        TraceError: a file cannot be opened or a line is malformed.
    """

    def requests() -> Iterator[HashedRequest]:
        for file in record_files(path):
            with file.open(encoding="utf-8") as lines:
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
        raise TraceError(f"{path}: cannot be read ({error})") from error


def _object(line: str, where: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise TraceError(f"{where}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise TraceError(f"{where}: not a JSON object")
    return found


def _count(fields: dict[str, object], name: str, where: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TraceError(f"{where}: {name} is {value!r}, and must be a whole number >= 0")
    return value


def _seconds(fields: dict[str, object], name: str, where: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TraceError(f"{where}: {name} is {value!r}, and must be seconds or null")
    return float(value)


def _blocks(
    fields: dict[str, object], chains: dict[int, tuple[str, ...]], where: str
) -> tuple[str, ...]:
    like, text = fields.get("like"), fields.get("blocks")
    begin: tuple[str, ...] = ()
    if like is not None:
        match like:
            case [int(number), int(count)] if number in chains and count <= len(chains[number]):
                begin = chains[number][:count]
            case _:
                raise TraceError(f"{where}: like is {like!r}, and names no earlier blocks")
    try:
        raw = b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        raw = None
    prompt = _count(fields, "prompt", where)
    if raw is None or len(raw) != DIGEST * (-(-prompt // BLOCK) - len(begin)):
        raise TraceError(f"{where}: blocks does not hold the hashes of a prompt of {prompt} tokens")
    return begin + tuple(raw[at : at + DIGEST].hex() for at in range(0, len(raw), DIGEST))
