"""What a slot holds after each line."""

import pytest

from slotd.core import sidecar
from slotd.core.model import Model
from slotd.core.slot_lines import take_token
from slotd.core.state import Activity
from tests.core.transcript import Transcript


def test_while_it_is_read_into_a_slot_holds_what_it_held() -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.fill(0, "1,2,3")
    talk.play(
        """
        >> BGEN 0 9 7,8
           BGEN 0 9 slot=0 7,8
        << RESUME 0
        << T 5
        << DONE 1 2 1.0 1.0 length
        """
    )
    assert talk.holds(0) == "1,2,3"
    assert talk.slot(0).activity is Activity.READING
    talk.play("<< BADM 0 1")
    assert talk.holds(0) == "7,8"
    assert talk.slot(0).activity is Activity.DECODING


def test_each_token_adds_the_one_before_it() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3")
    talk.play("<< BT 0 21")
    assert talk.holds(0) == "1,2,3,500"
    talk.play("<< BT 0 22")
    assert talk.holds(0) == "1,2,3,500,21"


def test_at_its_end_it_keeps_all_but_the_last_token() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="21 22")
    talk.play("@ 5\n<< BDONE 0 3 stop 1.0")
    assert talk.holds(0) == "1,2,3,500,21"
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.slot(0).last_use == 5


@pytest.mark.parametrize(
    "end", ["<< ERR refused", "<< RESUME 0\n<< T 5\n<< DONE 1 2 1 1 stop\n<< BADM 0 0"]
)
def test_an_admission_that_does_not_go_on_leaves_what_was_there(end: str) -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.fill(0, "1,2,3")
    talk.play(">> BGEN 0 9 7,8\n BGEN 0 9 slot=0 7,8\n" + end)
    assert talk.holds(0) == "1,2,3"
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.model.flight.head is None


def test_an_admission_of_one_token_leaves_what_was_there() -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.fill(0, "1,2,3")
    talk.play(
        """
        >> BGEN 0 1 7,8
           BGEN 0 1 slot=0 7,8
        << RESUME 0
        << T 5
        << DONE 1 2 1.0 1.0 length
        << BADM 0 0
        """
    )
    assert talk.holds(0) == "1,2,3"


def test_an_admission_that_should_have_gone_on_was_a_copy_that_failed() -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.fill(0, "1,2,3")
    talk.play(
        """
        >> BGEN 0 9 7,8
           BGEN 0 9 slot=0 7,8
        << RESUME 0
        << T 5
        << DONE 1 2 1.0 1.0 length
        << BADM 0 0
        """
    )
    assert talk.holds(0) == ""
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.main_holds() == "7,8"


def test_a_request_that_ended_in_an_error_leaves_nothing() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="21")
    talk.play("<< BDONE 0 2 error 1.0")
    assert talk.holds(0) == ""


def test_without_slot_cache_a_finished_slot_keeps_nothing() -> None:
    talk = Transcript("batch_slots=2")
    talk.admit(0, "1,2,3", tokens="21")
    talk.play("<< BDONE 0 2 stop 1.0")
    assert talk.holds(0) == ""


def test_pictures_are_not_kept() -> None:
    talk = Transcript()
    talk.play(
        """
        >> BGENI 0 9 /tmp/x 1,2,3
           BGENI 0 9 slot=0 /tmp/x 1,2,3
        << RESUME 0
        << T 5
        << DONE 1 3 1.0 1.0 length
        << BADM 0 1
        << BDONE 0 1 cancel 1.0
        """
    )
    assert talk.holds(0) == ""


def test_a_count_that_is_not_what_was_seen_is_believed() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="21")
    talk.play("<< BDONE 0 5 stop 1.0")
    assert talk.holds(0) == ""
    assert talk.drifts() == [("generated", 2, 5)]


def test_tokens_of_a_slot_nobody_was_sent_to_make_it_busy() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play("<< BT 0 7\n<< BT 0 8")
    assert talk.slot(0).activity is Activity.DECODING
    assert talk.drifts() == [("batch_token", "idle", "decoding")]
    talk.play("<< BDONE 0 2 stop 1.0")
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.holds(0) == ""
    assert len(talk.drifts()) == 1


def test_the_end_of_a_request_nobody_was_sent_is_believed() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play("<< BDONE 0 2 stop 1.0")
    assert talk.holds(0) == ""
    assert talk.drifts() == [("slot_done", "idle", "decoding")]


def test_an_admission_nobody_sent_makes_its_slot_busy_with_something_unknown() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play("<< BADM 0 1\n<< BT 0 5\n<< BT 0 6\n<< BDONE 0 3 stop 1.0")
    assert talk.holds(0) == ""
    assert talk.slot(0).activity is Activity.IDLE


def test_lines_about_slots_that_are_none_change_nothing() -> None:
    talk = Transcript()
    talk.play(
        """
        << BT 9 5
        << BT -1 5
        << BDONE 9 1 stop 1.0
        << BADM 9 1
        << BCHECKS 9 5 1,2
        """
    )
    assert talk.drifts() == []
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)


def test_reported_checkpoints_are_kept_until_something_that_overwrites_them_is_sent() -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.admit(0, "[1..9]")
    talk.play("<< BCHECKS 0 9 3 6\n<< BDONE 0 1 stop 1.0")
    assert talk.slot(0).checkpoints == (3, 6)
    talk.play(">> BGEN 0 9 7,8\n BGEN 0 9 slot=0 7,8")
    assert talk.slot(0).checkpoints == ()


def test_an_admission_has_no_checkpoints_until_they_are_reported() -> None:
    talk = Transcript()
    talk.admit(0, "[1..9]")
    assert talk.slot(0).checkpoints == ()
    talk.play("<< BCHECKS 0 9")
    assert talk.slot(0).checkpoints == ()
    assert talk.told("checks") == [{"slot": 0, "tokens": 9, "checkpoints": []}]


def test_checkpoints_of_another_length_than_the_slots_contradict_it() -> None:
    talk = Transcript()
    talk.admit(0, "[1..9]")
    talk.play("<< BCHECKS 0 8 3,6")
    assert talk.drifts() == [("checks", 9, 8)]
    talk.play("<< BT 0 5\n<< BDONE 0 2 stop 1.0")
    assert talk.holds(0) == ""


def test_what_happened_in_a_slot_is_told() -> None:
    talk = Transcript()
    talk.now = 3.0
    talk.admit(2, "1,2,3", tokens="21")
    talk.finish(0)
    assert talk.told("admitted") == [
        {
            "request": 1,
            "slot": 0,
            "client_slot": 2,
            "prompt": 3,
            "reused": 0,
            "read": 3,
            "ms": 1.0,
            "goes_on": True,
        }
    ]
    assert talk.told("slot_done") == [
        {"request": 1, "slot": 0, "client_slot": 2, "generated": 2, "finish": "stop", "ms": 1.0}
    ]


def test_of_an_engine_that_has_ended_nothing_is_believed() -> None:
    talk = Transcript()
    talk.solo("1,2,3")
    talk.fill(1, "4,5,6")
    talk.play(">> GEN 9 7,8,9")
    talk.sidecar.engine_eof(talk.now)
    after = talk.sidecar.snapshot(talk.now)
    assert (after.slots, after.main, after.in_flight) == ((), None, ())
    assert not after.capabilities.ready


def test_tokens_are_passed_on_before_they_are_taken_in_and_count_in_whatever_comes_next() -> None:
    talk = Transcript()
    slot = talk.admit(0, "1,2,3", tokens="")
    numbers = []

    def note(model: Model, number: int, token: int) -> None:
        numbers.append(token)
        take_token(model, number, token)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sidecar, "take_token", note)
        passed = talk.sidecar.from_engine(b"BT %d 6\nBT %d 7\n" % (slot, slot), 1.0)
        assert b"".join(passed.to_client) == b"BT 0 6\nBT 0 7\n"
        assert numbers == []
        assert talk.sidecar.learn() == []
        assert numbers == [6, 7]
        # Without being told to learn, it begins with that all the same.
        talk.sidecar.from_engine(b"BT %d 8\n" % slot, 1.0)
        talk.sidecar.from_engine(b"BDONE %d 4 stop 1.0\n" % slot, 1.0)
        assert numbers == [6, 7, 8]
    assert talk.holds(slot).endswith("6,7")
    assert talk.drifts() == []


def test_what_a_token_contradicts_is_told_when_it_is_taken_in() -> None:
    talk = Transcript()
    talk.sidecar.from_engine(b"BT 2 6\n", 1.0)
    (event,) = talk.sidecar.learn()
    assert (event.name, event.fields["fact"]) == ("drift", "batch_token")


def test_what_a_token_contradicts_counts_in_a_status_before_it_is_told() -> None:
    talk = Transcript()
    before = talk.sidecar.snapshot(1.0).events.get("drift", 0)
    talk.sidecar.from_engine(b"BT 2 6\n", 1.0)
    assert talk.sidecar.snapshot(1.0).events["drift"] == before + 1
    assert [event.name for event in talk.sidecar.learn()] == ["drift"]
    assert talk.sidecar.snapshot(1.0).events["drift"] == before + 1
