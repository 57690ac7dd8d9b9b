"""Decisions on lines: when one is made, and how it is told."""

import json

import pytest

from slotd.core.sidecar import SidecarSettings
from slotd.policy.decide import RetentionDecider
from slotd.policy.settings import PolicySettings
from slotd.policy.table_json import table_from_json
from tests.core.transcript import Transcript


def test_a_conversation_goes_on_in_its_slot() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.solo("7,8")
    talk.play(">> BGEN 3 9 1,2,3,4\n BGEN 0 9 slot=0 1,2,3,4")
    placed = talk.told("place")[-1]
    assert (placed["reason"], placed["source"], placed["hint"]) == ("continue", 0, 3)
    assert (placed["request"], placed["verb"]) == (3, "BGEN")
    assert (placed["client_slot"], placed["slot"]) == (3, 0)


def test_another_conversation_takes_another_slot() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(">> BGEN 0 9 4,5,6\n BGEN 1 9 slot=1 4,5,6")


def test_a_solo_request_is_decided_about_for_its_park() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 1,2,3")
    placed = talk.told("place")[-1]
    assert (placed["reason"], placed["slot"], placed["client_slot"]) == ("solo", None, None)


def test_with_no_slot_idle_the_line_passes_mapped_and_the_log_says_so() -> None:
    talk = Transcript("batch_slots=2 slot_cache=1")
    talk.admit(1, "1,2,3")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 0\n BYIELD 1")
    talk.play(">> BGEN 1 9 7,8\n BGEN 0 9 7,8")  # the client's mistake: its number is busy
    assert len(talk.told("place")) == 3
    talk = Transcript("batch_slots=1 slot_cache=1 slot_park=1")
    talk.solo("[100..9000]")
    talk.play(">> GEN 9 park=0 1,2,3\n GEN 9 park=0 1,2,3\n>> BGEN 0 9 7,8")
    placed = talk.told("place")[-1]
    assert (placed["reason"], placed["slot"], placed["score"]) == ("none_idle", None, None)


def test_the_logged_table_is_enough_to_decide_again() -> None:
    talk = Transcript()
    talk.now = 1.23456789
    talk.fill(0, "[1..5000]")
    talk.admit(1, "[5000..5100]")
    talk.solo("[100..9000]")
    talk.now = 21.98765432
    talk.play(">> BGEN 3 9 1,2,3\n BGEN 2 9 slot=2 park=3 1,2,3")
    placed = talk.told("place")[-1]
    table = table_from_json(json.loads(json.dumps(placed["table"])))
    decision = RetentionDecider().decide(table)
    assert decision.placement.slot == placed["slot"]
    assert decision.placement.reason == placed["reason"]
    assert decision.placement.score == placed["score"]
    assert decision.park is not None
    assert placed["park"] == {"slot": decision.park.slot, "reason": decision.park.reason}
    assert [row.state for row in table.slots] == ["idle", "busy", "idle", "idle"]


def test_no_event_holds_a_token_or_a_path() -> None:
    talk = Transcript()
    talk.solo("[31000..31999]", "31999 31998")
    talk.play(
        ">> BGENI 1 9 /secret/picture 31000,31001\n BGENI 0 9 slot=0 /secret/picture 31000,31001"
    )
    talk.play("<< ERR cannot open /secret/picture 31000")
    talk.admit(1, "[31000..31500]", tokens="31777 31778")
    written = json.dumps([[event.name, dict(event.fields)] for event in talk.events])
    assert "secret" not in written
    assert "31" not in written.replace("0.31", "")


def test_the_settings_in_force_decide() -> None:
    settings = SidecarSettings(policy=PolicySettings(park_min_value=0))
    talk = Transcript(settings=settings)
    talk.solo("1,2,3")
    talk.play(">> GEN 9 7,8\n GEN 9 park=0 7,8\n<< ERR no")
    talk.sidecar.replace_settings(SidecarSettings())
    talk.play(">> GEN 9 7,8")


@pytest.mark.parametrize("name", ["emulate", "", "OFF"])
def test_a_park_setting_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="park"):
        SidecarSettings(park=name)  # type: ignore[arg-type]  # the wrong value is the point


def test_a_request_is_numbered_whatever_it_is() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 1,2\n>> GEN 9 x\n>> BGEN 0 9 1,2\n BGEN 0 9 slot=0 1,2")
    assert talk.model.requests == 3
    assert [request.number for request in talk.model.flight.requests()] == [1, 2, 3]
