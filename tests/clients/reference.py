"""The reference engine: its functions loaded by path, its command line, its ledger.

Lives here: everything the tests know of `refengine.py`. It is run and imported where it lies, never
copied.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from attrs import frozen

from tests.paths import REFENGINE


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("refengine", REFENGINE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_module = _load()
TURN: int = _module.TURN
EOS: int = _module.EOS
_expected = cast(Callable[[list[int], int, int], list[int]], _module.expected_tokens)


def expected_tokens(prompt: Sequence[int], max_new: int, eos_every: int = 0) -> tuple[int, ...]:
    """The tokens that a request must get, whatever ran before or beside it."""
    return tuple(_expected(list(prompt), max_new, eos_every))


def engine_command(*options: str) -> list[str]:
    """The command line of the reference engine with these options."""
    return [sys.executable, str(REFENGINE), "--serve", *options]


@frozen
class LedgerRow:
    """What the reference engine did with one request; lengths in tokens."""

    verb: str
    slot: int | None
    prompt: int
    resumed: int
    source: int
    how: str
    parked: int | None
    finish: str | None
    yielded: tuple[int, int] | None


def read_ledger(path: Path) -> list[LedgerRow]:
    """The rows of a `--ledger` file, in the order the requests ended."""
    return [_row(json.loads(line)) for line in path.read_text().splitlines()]


def _row(row: dict[str, Any]) -> LedgerRow:
    parked = row["parked"]
    gave_way = row.get("yielded")
    return LedgerRow(
        verb=row["verb"],
        slot=row["slot"],
        prompt=row["prompt"],
        resumed=row["resume"],
        source=row["source"],
        how=row["how"],
        parked=parked["tokens"] if parked and parked["used"] else None,
        finish=row.get("finish"),
        yielded=(gave_way[0], gave_way[1]) if gave_way else None,
    )
