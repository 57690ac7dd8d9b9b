"""The delay a park by slotd's own request costs, against what it saves, in virtual time."""

import re

import pytest

from slotd.sim.timing import Timing
from tests.emulated_park.measure import BY_KEY, LENGTHS, NOT_PARKED, OWN_REQUEST, between
from tests.readme.readme import README

TIMING = Timing()


@pytest.mark.parametrize("held", [5_000, 37_359])
def test_the_request_between_waits_for_a_request_its_copy_and_one_window(held: int) -> None:
    without, parked = between(NOT_PARKED, held), between(OWN_REQUEST, held)
    delay = parked.side_wait - without.side_wait
    copy = TIMING.copy_seconds(held + 1)
    assert delay == pytest.approx(TIMING.request_s + copy + TIMING.window_seconds(1), abs=0.001)
    by_key = between(BY_KEY, held)
    assert delay - (by_key.side_wait - without.side_wait) < 0.12
    assert (without.reused, parked.reused, by_key.reused) == (0, held - 360, held)


def test_the_next_turn_saves_over_13_seconds_of_14() -> None:
    without, parked = between(NOT_PARKED, 37_359), between(OWN_REQUEST, 37_359)
    assert without.next_wait == pytest.approx(14.1, abs=0.1)
    assert without.next_wait - parked.next_wait > 13.3
    assert parked.reused == 36_999


def test_the_readmes_figures_are_these() -> None:
    rows = re.findall(
        r"\| ([\d,]+) \| ([\d.]+) s instead of ([\d.]+) s \| ([\d.]+) s instead of ([\d.]+) s"
        r" \| ([\d,]+) \|",
        README.read_text(),
    )
    assert len(rows) == 3
    for held, *seconds, reused in rows:
        tokens = int(held.replace(",", ""))
        assert tokens in LENGTHS
        without, parked = between(NOT_PARKED, tokens), between(OWN_REQUEST, tokens)
        took = (parked.side_wait, without.side_wait, parked.next_wait, without.next_wait)
        assert [f"{each:.2f}" for each in took] == seconds
        assert f"{parked.reused:,}" == reused
