"""The plain policy alone: the published figures, and that the random tables reach all of it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.reference import plain_policy, plain_runs
from tests.reference.plain_policy import DEFAULTS, retention, ttl, value
from tests.reference.random_tables import SeededChooser, random_table

Json = dict[str, Any]


def test_the_published_figures_come_out() -> None:
    assert ttl(9_000, DEFAULTS) == pytest.approx(11.5, abs=0.05)
    assert ttl(7_900, DEFAULTS) == pytest.approx(9.9, abs=0.05)
    assert retention(50_000, 0, DEFAULTS) == pytest.approx(0.92, abs=0.005)
    assert retention(500, 0, DEFAULTS) == pytest.approx(0.002, abs=0.0005)
    assert value(42_100, ttl(42_100, DEFAULTS), DEFAULTS) == pytest.approx(0.202, abs=0.0005)
    assert value(50_000, 20 * 60, DEFAULTS) == pytest.approx(0.13, abs=0.005)
    assert value(50_000, 25 * 60, DEFAULTS) == pytest.approx(0.07, abs=0.005)
    assert value(2_500, ttl(2_500, DEFAULTS), DEFAULTS) == pytest.approx(0.0095, abs=0.00005)


def test_a_run_is_the_same_tokens_however_it_is_written() -> None:
    one, other = plain_runs.runs_of([[5, 6]]), plain_runs.runs_of([5, [6, 2], [8, 0], 8, 9, 3])
    assert plain_runs.common_prefix(one, other) == 5
    assert plain_runs.length(other) == 6
    assert plain_runs.up_to_last(7, other) == 2
    assert plain_runs.up_to_last(4, other) == plain_runs.up_to_last(None, other) == 6


# A fault in one function each. Were the random tables blind to one of them, the equivalence of
# two implementations on them would say nothing of that rule.
FAULTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "nothing is invalid": ("invalid", lambda row, engine: False),
    "nothing is superseded": ("superseded", lambda slot, slots: False),
    "nothing is protected": ("protected", lambda slot, settings: False),
    "no group is loaded": ("load", lambda slot, slots, engine: 0),
    "slots in plain order": ("order", lambda slot, engine: (0, slot["number"])),
    "everything is protected 10 s": ("ttl", lambda n, settings: 10.0),
    "values do not decay": ("value", lambda n, age, settings: plain_policy.base(n)),
    "all lengths are worth the same": ("base", lambda n: 0.5),
    "cvec and pictures are the same": ("same_kind", lambda holder, request: True),
    "busy slots match": (
        "may_match",
        lambda slot, request: plain_policy.holds_history(slot),
    ),
    "nothing is continued": ("continue_or_spread", lambda idle, prompt_rate: None),
    "no older version is replaced": ("sibling", lambda idle, request, settings: None),
    "nothing is worth keeping": ("worth_keeping", lambda slot, settings: False),
    "pad rows cost nothing": ("cost", lambda slot, slots, engine, settings: 0.0),
    "the lowest loss without the 10%": (
        "least_loss",
        lambda idle, slots, engine, settings: min(
            idle,
            key=lambda slot: (
                slot["value"] + plain_policy.cost(slot, slots, engine, settings),
                slot["load"],
                slot["order"],
            ),
        ),
    ),
    "no turn is known": ("up_to_last", lambda token, runs: plain_runs.length(runs)),
    "nothing is kept": ("kept", lambda slots, shared, main, settings: False),
    "no older copy takes the park": ("park_older", lambda free, shared: None),
    "no older version takes the park": ("park_sibling", lambda free, shared, settings: None),
    "the park's ratio does not count": (
        "park_reclaim",
        lambda free, main_value, settings: plain_policy.reclaim(free, settings),
    ),
}


@pytest.fixture(scope="module")
def decided() -> list[tuple[Json, Json]]:
    choose = SeededChooser(8)
    tables = [random_table(choose) for _ in range(3_000)]
    return [(table, plain_policy.decide(table)) for table in tables]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_random_tables_notice_a_fault(
    fault: str, decided: list[tuple[Json, Json]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_policy, *FAULTS[fault])
    assert any(plain_policy.decide(table) != decision for table, decision in decided)
