"""Events as log lines."""

import json
import math

import pytest

from slotd.core.events import Event, Level
from slotd.logs.chain import Chain
from slotd.policy.json_fields import JsonValue

SLOTS: list[JsonValue] = [{"slot": 0, "age": math.inf}, {"slot": 1, "age": 2.5}]


def test_a_json_line_has_time_level_and_event_first() -> None:
    event = Event("parked", "info", {"request": 3, "slot": 1, "tokens": 37359})
    assert Chain("json", colours=False).line(event, 1.5) == (
        b'{"ts":"1970-01-01T00:00:01.500Z","level":"info","event":"parked",'
        b'"request":3,"slot":1,"tokens":37359}\n'
    )


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_every_level_is_told(level: Level) -> None:
    assert json.loads(Chain("json", colours=False).line(Event("e", level, {}), 0))["level"] == level


def test_numbers_json_does_not_have_are_null() -> None:
    event = Event("place", "info", {"score": math.nan, "table": {"slots": SLOTS}})
    record = json.loads(Chain("json", colours=False).line(event, 0))
    assert record["score"] is None
    assert record["table"]["slots"] == [{"slot": 0, "age": None}, {"slot": 1, "age": 2.5}]


def test_a_line_is_one_line_whatever_an_event_holds() -> None:
    event = Event("error", "error", {"where": "a\nb\u2028c\ud800", "message": "\x1b[2J"})
    for chain in (Chain("json", colours=False), Chain("text", colours=False)):
        line = chain.line(event, 0)
        assert line.count(b"\n") == 1
        assert b"\x1b" not in line


def test_a_text_line_is_for_a_person() -> None:
    event = Event("slot_done", "info", {"slot": 2, "generated": 40})
    plain = Chain("text", colours=False).line(event, 3600.25)
    assert plain == b"01:00:00.250 slot_done    slot 2   generated=40\n"
    coloured = Chain("text", colours=True).line(event, 3600.25)
    assert b"\x1b[" in coloured
    assert coloured.endswith(b"\n")


def test_a_long_text_line_is_not_folded() -> None:
    event = Event("settings", "info", {f"name{n}": "x" * 50 for n in range(20)})
    assert Chain("text", colours=True).line(event, 0).count(b"\n") == 1
