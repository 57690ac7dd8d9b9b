"""Every found case again, and thirty seconds of looking for more.

`SLOTD_FUZZ_SECONDS` makes it longer or shorter, for all targets together.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.__main__ import Report, fuzz, guided, unguided
from tests.fuzz.blind import search
from tests.fuzz.reading import Features
from tests.fuzz.targets import TARGETS, corpus

SECONDS = float(os.environ.get("SLOTD_FUZZ_SECONDS", "30"))
CASES = [(target, path) for target in TARGETS for path in corpus(target)]


@pytest.mark.parametrize(("target", "path"), CASES, ids=lambda value: getattr(value, "name", value))
def test_what_was_found_stays_right(target: str, path: Path) -> None:
    TARGETS[target](path.read_bytes())


def test_the_corpora_reach_far() -> None:
    """They make the things happen that the targets are to watch."""
    for target, wanted in (
        ("reader", {"Frame", "Fragment", "Generate", "BatchToken", "Done"}),
        ("core", {"place continue", "drift resume True", "yielded ", "admitted ", "drained "}),
        ("decide", {"spread", "sibling", "reclaim", "least_loss", "park older", "solo"}),
    ):
        reached = set[str]().union(*(TARGETS[target](p.read_bytes()) for p in corpus(target)))
        assert wanted <= reached, target


def test_thirty_seconds_find_nothing(tmp_path: Path) -> None:
    reports = fuzz(list(TARGETS), SECONDS, tmp_path)
    assert [report for report in reports if report.fault] == []
    assert all(report.runs > 0 for report in reports)


def test_the_search_finds_what_is_there() -> None:
    """Three bytes in a row, each of which makes something happen."""

    def target(data: bytes) -> Features:
        at = [name for name in ("b", "bu", "bug") if name.encode() in data]
        assert "bug" not in at
        return frozenset(at)

    found = search(target, [random.Random(1).randbytes(50)], 60, seed=2)
    assert found.fault is not None
    assert b"bug" in found.fault[0]


@pytest.mark.parametrize("way", [guided, unguided], ids=["guided", "unguided"])
def test_a_search_that_fails_is_reported(
    way: Callable[[str, float, Path], Report], tmp_path: Path
) -> None:
    """A target that is not there fails at once, as the fuzzer does where it is not installed."""
    report = way("none", 1, tmp_path)
    assert report.fault is not None
    assert report.runs == 0
