"""Parks: the claim, what comes of it, and what is told."""

import pytest

from slotd.core.settings import ParkSetting
from slotd.core.sidecar import SidecarSettings
from tests.core.transcript import ACTIVE_ROWS, Transcript

LONG = "[100..9000]"
LENGTH = 8901


def waiting() -> Transcript:
    """A long conversation is in the main session, and a request that parks it was sent."""
    talk = Transcript()
    talk.now = 10.0
    talk.solo(LONG)
    talk.now = 12.0
    talk.play(">> BGEN 3 9 1,2,3\n BGEN 0 9 slot=0 park=1 1,2,3")
    return talk


def test_a_park_becomes_a_history_with_the_main_sessions_last_use() -> None:
    talk = waiting()
    assert not talk.slot(1).idle
    talk.now = 12.5
    talk.play(f"<< PARKED 1 {LENGTH}")
    slot = talk.slot(1)
    assert slot.valid
    assert slot.idle
    assert len(slot.history) == LENGTH
    assert slot.last_use == 10.0
    assert talk.told("parked") == [{"request": 1 + 1, "slot": 1, "tokens": LENGTH, "ms": 500.0}]


def test_a_solo_request_parks_too() -> None:
    talk = Transcript()
    talk.solo(LONG)
    talk.play(f">> GEN 9 1,2,3\n GEN 9 park=0 1,2,3\n<< PARKED 0 {LENGTH}\n<< RESUME 0")
    assert len(talk.slot(0).history) == LENGTH


def test_the_parked_conversation_comes_back() -> None:
    talk = waiting()
    talk.play(f"<< PARKED 1 {LENGTH}\n<< RESUME 0\n<< T 5\n<< DONE 1 3 1.0 1.0 length")
    talk.play("<< BADM 0 1\n BADM 3 1")
    talk.play(f">> BGEN 1 9 {LONG},77\n BGEN 1 9 slot=1 {LONG},77")
    assert talk.told("place")[-1]["hint"] == LENGTH


@pytest.mark.parametrize("end", ["<< ERR no", "<< RESUME 0\n<< T 5\n<< DONE 1 3 1.0 1.0 stop"])
def test_without_parked_the_claim_is_let_go_and_nothing_changes(end: str) -> None:
    talk = waiting()
    talk.play(end)
    if "DONE" in end:
        talk.play("<< BADM 0 0\n BADM 3 0")
    assert talk.slot(1).idle
    assert talk.holds(1) == ""
    assert talk.told("parked") == []


def test_a_claimed_slot_is_not_given_away_meanwhile() -> None:
    talk = waiting()
    talk.play(">> BGEN 2 9 4,5,6\n BGEN 2 9 slot=2 4,5,6")


def test_a_copy_that_failed_leaves_the_slot_empty() -> None:
    talk = Transcript(f"batch_slots=2 {ACTIVE_ROWS}")
    talk.fill(0, "7,8,9")
    talk.fill(1, "4,5,6")
    talk.now = 100.0
    talk.solo(LONG)
    talk.play(">> BGEN 0 9 1,2,3\n BGEN 0 9 slot=0 park=1 1,2,3\n<< PARKED 1 0")
    assert talk.holds(1) == ""
    assert talk.slot(1).idle
    assert talk.drifts() == []
    assert [told["tokens"] for told in talk.told("parked")] == [0]


def test_another_length_than_was_believed_is_a_drift() -> None:
    talk = waiting()
    talk.play(f"<< PARKED 1 {LENGTH + 2}")
    assert talk.drifts() == [("parked", LENGTH, LENGTH + 2)]
    assert talk.holds(1) == ""


def drafted() -> Transcript:
    """The main session holds 8,901 tokens and perhaps a few accepted drafts."""
    talk = Transcript()
    talk.play(f">> GEN 9 {LONG}\n<< RESUME 0\n<< T 5\n<< DONE 1 {LENGTH} 1.0 1.0 stop 1 4 0")
    talk.play(">> BGEN 3 9 1,2,3\n BGEN 0 9 slot=0 park=1 1,2,3")
    return talk


def test_a_park_tells_that_there_were_no_drafts() -> None:
    talk = drafted()
    talk.play(f"<< PARKED 1 {LENGTH}")
    assert talk.main.exact
    assert talk.slot(1).unseen == 0


def test_a_park_tells_how_many_drafts_there_were() -> None:
    talk = drafted()
    talk.play(f"<< PARKED 1 {LENGTH + 3}\n<< BCHECKS 1 {LENGTH + 3} 8000")
    slot = talk.slot(1)
    assert slot.valid
    assert (len(slot.history), slot.unseen) == (LENGTH, 3)
    assert slot.checkpoints == (8000,)
    assert talk.drifts() == []


def test_a_slot_with_unseen_drafts_promises_its_checkpoints_only() -> None:
    talk = drafted()
    talk.play(f"<< PARKED 1 {LENGTH + 3}\n<< BCHECKS 1 {LENGTH + 3} 8000\n<< ERR no")
    talk.play(f">> GEN 9 {LONG},1\n<< RESUME 8000")
    assert talk.drifts() == []


def test_a_park_of_less_than_is_known_is_a_drift() -> None:
    talk = drafted()
    talk.play(f"<< PARKED 1 {LENGTH - 1}")
    assert talk.drifts() == [("parked", LENGTH, LENGTH - 1)]
    assert talk.holds(1) == ""


def test_a_park_nobody_asked_for_is_believed_when_it_fits() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 7,8\n<< PARKED 2 4")
    assert talk.holds(2) == "1,2,3,4"
    assert talk.drifts() == []


@pytest.mark.parametrize("said", [3, 5, 0])
def test_a_park_nobody_asked_for_that_does_not_fit_is_a_drift(said: int) -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    talk.solo("1,2,3", "4 5")
    talk.play(f">> GEN 9 7,8\n<< PARKED 0 {said}\n PARKED 2 {said}")
    assert talk.holds(0) == ""
    assert talk.drifts() == [("parked", 4, said)]


def test_what_is_not_worth_a_park_is_told_as_well() -> None:
    talk = Transcript()
    talk.solo("1,2,3")
    talk.play(">> BGEN 0 9 7,8\n BGEN 0 9 slot=0 7,8")
    assert talk.told("park_skip") == [
        {
            "request": 2,
            "reason": "main_low_value",
            "main_tokens": 3,
            "main_age": 0.0,
            "main_value": 0.0,
        }
    ]


def test_a_park_is_told_with_what_it_saves() -> None:
    told = waiting().told("park")
    assert len(told) == 1
    value = told[0].pop("main_value")
    assert isinstance(value, float)
    assert 0.1 < value < 0.3
    assert told == [
        {
            "request": 2,
            "slot": 1,
            "reason": "reclaim",
            "how": "native",
            "main_tokens": LENGTH,
            "main_age": 2.0,
        }
    ]


@pytest.mark.parametrize(
    ("info", "park"),
    [
        ("batch_slots=4 slot_cache=1", "auto"),
        ("batch_slots=4 slot_cache=1", "native"),
        (f"batch_slots=4 {ACTIVE_ROWS}", "off"),
    ],
)
def test_nothing_is_parked_where_the_engine_or_the_setting_does_not(
    info: str, park: ParkSetting
) -> None:
    talk = Transcript(info, settings=SidecarSettings(park=park))
    talk.solo(LONG)
    talk.play(">> BGEN 0 9 1,2,3\n BGEN 0 9 slot=0 1,2,3")
    assert talk.told("park") == []
    assert talk.told("park_skip") == []


def test_a_main_session_in_use_is_not_parked() -> None:
    talk = Transcript()
    talk.solo(LONG)
    talk.play(f">> GEN 9 {LONG},1\n>> BGEN 3 9 1,2,3\n BGEN 0 9 slot=0 1,2,3")


def test_a_next_turn_is_not_parked() -> None:
    talk = Transcript()
    talk.solo(LONG + ",9,5", "4 5")
    talk.play(f">> BGEN 3 9 {LONG},1\n BGEN 0 9 slot=0 {LONG},1")
    assert talk.told("park") == []
