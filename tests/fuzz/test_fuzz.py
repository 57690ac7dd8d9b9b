"""Every found case again, and thirty seconds of looking for more.

`SLOTD_FUZZ_SECONDS` makes it longer or shorter, for all targets together.
"""

import os
from itertools import takewhile
from pathlib import Path

import pytest

from tests.fuzz.__main__ import HANGS_AFTER_S, fuzz, unguided
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
        ("reader", {"Frame", "Fragment", "Generate", "BatchToken", "Done", "TokenRun", "HeldLine"}),
        (
            "core",
            {
                "place continue",
                "place sibling",
                "drift resume True",
                "parked ",
                "drained ",
                "place least_loss",
            },
        ),
        ("decide", {"spread", "sibling", "reclaim", "least_loss", "park older", "solo"}),
    ):
        reached = set[str]().union(*(TARGETS[target](p.read_bytes()) for p in corpus(target)))
        assert wanted <= reached, target


def test_thirty_seconds_find_nothing(tmp_path: Path) -> None:
    reports = fuzz(list(TARGETS), SECONDS, tmp_path)
    assert [report for report in reports if report.fault] == []
    assert all(report.runs > 0 for report in reports)


def test_the_search_finds_what_is_there() -> None:
    """Bytes in a row that must all be large: it gets from each to the next."""

    def target(data: bytes) -> Features:
        large = len(list(takewhile(lambda byte: byte >= 128, data)))
        assert large < 12
        return frozenset(str(count) for count in range(1, large + 1))

    found = search(target, [], HANGS_AFTER_S, seed=2)
    assert found.fault is not None
    assert len(found.fault[0]) >= 12
    assert len(found.features) > 5


def test_a_search_that_fails_is_reported(tmp_path: Path) -> None:
    """A target that is not there fails at once."""
    report = unguided("none", 1, tmp_path)
    assert report.fault is not None
    assert report.runs == 0
