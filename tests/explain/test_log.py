import json
from typing import Any

import pytest

from slotd.explain.log import Logged, LoggedPark, NotInLogError, find
from slotd.logs.records import read_record
from tests.explain import story
from tests.explain.logs import Json, event, place_event
from tests.policy.builders import busy, main_row, matching, row, table

TABLE = table(matching(2, 30_000), main=main_row(20_000))


def found(*events: Json, request: int | None = None) -> list[Logged]:
    records = [read for each in events if (read := read_record(json.dumps(each).encode()))]
    return find(records, request)


def test_the_table_and_the_decision_are_what_was_logged() -> None:
    [logged] = found(place_event(TABLE))
    assert logged.table == TABLE
    assert (logged.decision.slot, logged.decision.reason) == (2, "continue")
    assert (logged.decision.source, logged.decision.hint) == (2, 30_000)
    assert logged.decision.park == LoggedPark(0, "reclaim")
    assert (logged.request, logged.verb, logged.at) == (1, "BGEN", "2026-01-31T12:00:00.000Z")


def test_the_last_decision_is_that_of_any_request() -> None:
    [logged] = found(place_event(TABLE, 1), place_event(TABLE, 2), event("admitted", 2))
    assert logged.request == 2
    assert [record["event"] for record in logged.later] == ["admitted"]


def test_what_came_of_it_is_told_of_its_own_request_alone() -> None:
    [logged] = found(
        event("admitted", 1, note="before"),
        place_event(TABLE, 1),
        event("park", 1),
        place_event(TABLE, 2),
        event("parked", 2),
        event("admitted", 1),
        {"event": "checks", "slot": 3},
        request=1,
    )
    assert [record["event"] for record in logged.later] == ["park", "admitted"]


def test_a_request_that_gave_way_has_two_decisions() -> None:
    first, second = found(
        place_event(TABLE, 1, verb="GEN"),
        event("park", 1),
        place_event(TABLE, 1, verb="BYIELD"),
        event("yielded", 1),
        request=1,
    )
    assert (first.verb, second.verb) == ("GEN", "BYIELD")
    assert [record["event"] for record in first.later] == ["park"]
    assert [record["event"] for record in second.later] == ["yielded"]


def test_numbers_that_begin_again_mean_the_last_start() -> None:
    other = table(matching(4, 31_000))
    [logged] = found(
        place_event(TABLE, 1),
        event("engine_exit", status=0),
        event("engine_start", pid=2),
        place_event(other, 1),
        request=1,
    )
    assert logged.decision.slot == 4


def test_the_engines_end_is_what_came_of_it() -> None:
    [logged] = found(
        place_event(TABLE, 1),
        {"event": "engine_exit", "signal": 9},
        event("admitted", 1),
    )
    assert [record["event"] for record in logged.later] == ["engine_exit"]


def test_the_clients_numbers_are_those_before_the_decision() -> None:
    events = [json.loads(line) for line in story.log().splitlines()]
    [third] = found(*events, request=story.SIDE)
    assert third.client_slots == {0: 0, 1: 2, 2: 1, 3: 3}
    assert third.table.request.client_slot == 2


def test_a_log_without_decisions() -> None:
    with pytest.raises(NotInLogError, match="no place event"):
        found(event("admitted"))


@pytest.mark.parametrize(
    ("numbers", "held"),
    [((4,), "only request 4 has one"), ((9, 4, 6), "from 4 to 9 some have one")],
)
def test_a_request_that_is_not_there(numbers: tuple[int, ...], held: str) -> None:
    with pytest.raises(NotInLogError, match=f"about request 7 in this log: {held}"):
        found(*(place_event(TABLE, number) for number in numbers), request=7)


def test_a_table_as_json_text() -> None:
    as_text = place_event(TABLE, table=json.dumps(place_event(TABLE)["table"]))
    [logged] = found(as_text)
    assert logged.table == TABLE


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"table": None}, "table: missing: export the journal with `journalctl -o json --all`"),
        ({"table": ""}, "table: missing"),
        ({"table": "{"}, "table: is no JSON"),
        ({"table": 7}, "is 7: give a JSON object"),
        ({"slot": 6}, "slot: is 6: give a slot of the table"),
        ({"slot": "two"}, "slot: is 'two': give a whole number"),
        ({"reason": None}, "reason: missing: give the name of a rule"),
        ({"park": 3}, "park: is 3: give a JSON object"),
        ({"losses": [1.0], "chances": [0.5]}, "losses: 1 given for 6 slots: give one for each"),
        ({"losses": ["x"] * 6, "chances": [0.5] * 6}, "losses[0]: is 'x': give a number"),
        ({"score": "high"}, "score: is 'high': give a number"),
    ],
)
def test_a_place_event_that_cannot_be_read(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(NotInLogError, match="its place event cannot be read") as no:
        found(place_event(TABLE, **fields))
    assert str(no.value).startswith("request 1: ")
    assert says in str(no.value)
    assert "\n" not in str(no.value)


def test_a_place_event_without_a_number_is_none() -> None:
    with pytest.raises(NotInLogError):
        found(place_event(TABLE, request=None))


def test_control_characters_of_a_log_reach_no_terminal() -> None:
    [logged] = found(place_event(table(*busy(0), row(1)), verb="BGEN\x1b[2J", ts="\x1b]0;x\x07"))
    assert logged.verb == "BGEN\\x1b[2J"
    assert "\x1b" not in logged.at
