from typing import Any

import pytest

from tests.explain.logs import event, explained, place_event
from tests.policy.builders import main_row, matching, table

TABLE = table(matching(2, 30_000), main=main_row(20_000))
ADMITTED = {"slot": 2, "client_slot": 0, "prompt": 30_100, "reused": 30_000, "read": 100, "ms": 90}


def told(*events: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.event, each.says) for each in explained(place_event(TABLE), *events).outcome]


def test_a_log_that_ends_there_tells_nothing() -> None:
    assert told() == []


def test_a_park_and_an_admission_that_went_well() -> None:
    assert told(
        event("park", slot=0, how="native"),
        event("parked", slot=0, tokens=20_001, ms=264.0),
        event("cache_source", slot=2, tokens=30_000),
        event("admitted", **ADMITTED, goes_on=True),
        event("slot_done", slot=2, generated=1, finish="stop", ms=1_250.0),
    ) == [
        ("park", "a park into slot 0 asked for (native)"),
        ("parked", "20,001 tokens are in slot 0, in 264 ms"),
        ("cache_source", "the engine restored 30,000 tokens from slot 2"),
        ("admitted", "in slot 2: reused 30,000 of 30,100 tokens (99.6%), read 100, in 90 ms"),
        ("slot_done", "slot 2 is free: 1 token generated (finish stop, in 1.25 s)"),
    ]


def test_a_park_the_engine_did_not_carry_out() -> None:
    assert told(event("admitted", **ADMITTED, goes_on=True))[1:] == [
        ("not parked", "the engine did not say it parked: slot 0 keeps what it held")
    ]


def test_a_park_that_failed() -> None:
    assert told(event("parked", slot=0, tokens=0, ms=3.0)) == [
        ("parked", "the copy failed: slot 0 holds nothing usable")
    ]


def test_less_reused_than_expected_is_said() -> None:
    drift: dict[str, Any] = {
        "fact": "resume",
        "expected": 30_000,
        "said": 0,
        "slots": [2],
        "main": True,
    }
    admitted = {**ADMITTED, "reused": 0, "read": 30_100, "ms": 11_000}
    assert told(
        event("parked", slot=0, tokens=20_001, ms=264.0),
        event("drift", **drift),
        event("admitted", **admitted, goes_on=True),
    )[1:] == [
        (
            "drift",
            "resume: expected 30,000, the engine said 0; corrected: slot 2 and the main session",
        ),
        (
            "admitted",
            "in slot 2: reused 0 of 30,100 tokens (0%), read 30,100; expected to resume 30,000, in "
            "11.00 s",
        ),
    ]


def test_an_admission_that_ended_in_the_main_session() -> None:
    [(_, says), _] = told(event("admitted", **ADMITTED, goes_on=False))
    assert says.endswith("; it ended there and did not go on in slot 2")


def test_an_error_is_told_with_its_text() -> None:
    assert told(event("error", where="engine", message="answered\x1b with ERR")) == [
        ("error", "engine: answered\\x1b with ERR")
    ]


@pytest.mark.parametrize(
    ("how", "says"),
    [({"signal": 9}, " (signal 9)"), ({"status": 1}, " (status 1)"), ({}, "")],
)
def test_the_engine_ended_before_anything_came_of_it(how: dict[str, int], says: str) -> None:
    assert told({"event": "engine_exit", **how}) == [
        ("engine_exit", f"the engine ended{says}: nothing more came of it")
    ]


def test_the_engines_end_after_the_admission_is_not_its_story() -> None:
    events = event("admitted", **ADMITTED, goes_on=True), {"event": "engine_exit", "status": 0}
    assert [name for name, _ in told(*events)] == ["admitted", "not parked"]


def test_fields_that_are_missing_are_question_marks() -> None:
    assert told(event("parked", tokens=7), event("drift"), event("cache_source", slot=-1)) == [
        ("parked", "7 tokens are in slot ?"),
        ("drift", "?: expected ?, the engine said ?"),
        ("cache_source", "the engine restored 0 tokens, from no slot"),
    ]
