"""Reads that give way: where the part is kept, and what becomes of it."""

import pytest

from slotd.core.sidecar import SidecarSettings
from slotd.core.state import Activity
from tests.core.transcript import Transcript, spelled

YIELDED_ADMISSION = """
>> BGEN 2 9 [1..50]
   BGEN 0 9 slot=0 [1..50]
<< RESUME 0
>> BYIELD 2
   BYIELD 0
<< PP 20 50 1.0 1.0
@ 4
<< YIELDED 0 20
   YIELDED 2 20
<< DONE 0 50 1.0 0.0 cancel 0 0 0
<< BADM 0 0
   BADM 2 0
"""

YIELDED_SOLO = """
>> GEN 9 [1..50]
<< RESUME 0
>> BYIELD 2
   BYIELD 0
<< PP 20 50 1.0 1.0
<< YIELDED 0 20
   YIELDED 2 20
<< DONE 0 50 1.0 0.0 cancel 0 0 0
"""


def test_an_admission_that_gives_way_is_kept_in_its_own_slot() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    slot = talk.slot(0)
    assert slot.activity is Activity.YIELDED
    assert talk.holds(0) == ",".join(map(str, range(1, 21)))
    assert slot.last_use == 4
    assert talk.main_holds() == ""
    assert talk.told("yielded") == [{"request": 1, "slot": 0, "client_slot": 2, "tokens": 20}]


def test_it_goes_on_where_its_part_is_whatever_the_policy_would_choose() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.fill(3, "[1..30]")  # a longer start of the same prompt, elsewhere
    talk.play(">> BGEN 2 9 [1..50]\n BGEN 0 9 slot=0 [1..50]")
    placed = talk.told("place")[-1]
    assert (placed["slot"], placed["reason"], placed["source"]) == (0, "continue", 0)
    assert placed["hint"] == 20
    assert talk.slot(0).activity is Activity.READING


def test_the_part_is_expected_to_be_reused() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.play(">> BGEN 2 9 [1..50]\n BGEN 0 9 slot=0 [1..50]\n<< RESUME 0")
    assert talk.drifts() == [("resume", 20, 0)]


def test_another_request_takes_another_slot_meanwhile() -> None:
    talk = Transcript("batch_slots=2 slot_cache=1")
    talk.play(
        YIELDED_ADMISSION.replace("GEN 2", "GEN 1").replace("D 2", "D 1").replace("M 2", "M 1")
    )
    talk.play(">> BGEN 0 9 [1..60]\n BGEN 1 9 slot=1 [1..60]")


def test_what_the_yield_interrupted_is_parked_when_it_goes_on() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.solo("[100..9000]")
    talk.play(">> BGEN 2 9 [1..50]\n BGEN 0 9 slot=0 park=1 [1..50]")


@pytest.mark.parametrize("prompt", ["7,8,9", "[1..20]", "cvec=0 [1..50]"])
def test_a_number_used_for_something_else_means_the_read_was_cancelled(prompt: str) -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.write(">>", spelled(f"BGEN 2 9 {prompt}\n").encode())
    table = talk.told("place")[-1]["table"]
    assert isinstance(table, dict)
    rows = table["slots"]
    assert isinstance(rows, list)
    assert isinstance(rows[0], dict)
    assert (rows[0]["state"], rows[0]["tokens"], rows[0]["valid"]) == ("idle", 20, True)


def test_a_cancelled_part_still_matches() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.play(">> BGEN 2 9 7,8\n BGEN 1 9 slot=1 7,8\n<< ERR no")
    talk.play(">> BGEN 3 9 [1..60]\n BGEN 0 9 slot=0 [1..60]")


def test_a_solo_read_gives_way_into_a_slot_the_policy_chooses() -> None:
    talk = Transcript()
    talk.play(YIELDED_SOLO)
    assert talk.slot(0).activity is Activity.YIELDED
    placed = talk.told("place")[-1]
    assert (placed["verb"], placed["client_slot"], placed["slot"]) == ("BYIELD", 2, 0)
    talk.play(">> BGEN 2 9 [1..50]\n BGEN 0 9 slot=0 [1..50]\n<< RESUME 20")
    assert talk.drifts() == []


def test_a_solo_read_that_ends_before_it_gives_way_frees_what_was_reserved() -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 3\n BYIELD 1")
    assert talk.slot(1).activity is Activity.RESERVED
    talk.play("<< T 5\n<< DONE 1 50 1.0 0.0 length")
    assert talk.slot(1).activity is Activity.IDLE
    assert talk.holds(0) == "7,8,9"


def test_a_solo_read_that_fails_frees_what_was_reserved() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 3\n BYIELD 0\n<< ERR broken")
    assert talk.slot(0).activity is Activity.IDLE


def test_a_reserved_slot_is_not_given_to_another_request() -> None:
    talk = Transcript("batch_slots=2 slot_cache=1")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 1\n BYIELD 0")
    talk.play(">> BGEN 0 9 [1..60]\n BGEN 1 9 slot=1 [1..60]")


@pytest.mark.parametrize("end", ["<< T 5", "<< T 5\n<< DONE 1 50 1.0 0.0 length"])
def test_a_yield_that_comes_after_the_read_reserves_nothing(end: str) -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n" + end + "\n>> BYIELD 3")
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)
    assert len(talk.told("place")) == 1


def test_a_yield_with_nothing_running_is_mapped_and_passed() -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    talk.play(">> BYIELD 2\n BYIELD 0\n>> BYIELD 0\n BYIELD 2\n>> BYIELD 7")
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)


def test_pictures_do_not_give_way() -> None:
    talk = Transcript()
    talk.play(">> GENI 9 /tmp/x [1..50]\n<< RESUME 0\n>> BYIELD 3")
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)


def test_a_number_whose_read_was_cancelled_reserves_by_the_policy_again() -> None:
    talk = Transcript()
    talk.play(YIELDED_ADMISSION)
    talk.play(">> GEN 9 7,8,9\n<< RESUME 0\n>> BYIELD 2\n BYIELD 1")
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.slot(1).activity is Activity.RESERVED


def test_when_no_slot_is_free_the_yield_is_passed_to_its_own() -> None:
    talk = Transcript("batch_slots=2 slot_cache=1")
    talk.admit(0, "1,2,3")
    talk.admit(1, "4,5,6")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 1")
    assert all(slot.activity is Activity.DECODING for slot in talk.model.slots)


def test_a_read_that_gives_way_with_nothing_read_keeps_nothing() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 0\n<< YIELDED 0 0")
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.holds(0) == ""


def test_with_the_policy_off_a_part_is_followed_in_the_clients_own_slot() -> None:
    talk = Transcript(settings=SidecarSettings(policy_name="off"))
    talk.play(
        """
        >> GEN 9 [1..50]
        << RESUME 0
        >> BYIELD 2
        << YIELDED 2 20
        << DONE 0 50 1.0 0.0 cancel
        >> BGEN 2 9 [1..50]
        << RESUME 20
        << T 5
        << DONE 1 50 1.0 1.0 length
        << BADM 2 1
        """
    )
    assert talk.drifts() == []
    assert talk.slot(2).activity is Activity.DECODING
