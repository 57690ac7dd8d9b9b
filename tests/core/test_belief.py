"""Believe the engine: what it is expected to reuse, and what follows when it says otherwise."""

from slotd.core.state import Activity
from tests.core.transcript import Transcript

GROUPS = "batch_slots=4 batch_groups=2 slot_cache=1"


def test_what_the_main_session_holds_is_expected() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 1,2,3,4,7\n<< RESUME 4")
    assert talk.drifts() == []


def test_all_of_a_prompt_is_never_reused() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 1,2,3,4\n<< RESUME 0")
    assert talk.drifts() == []


def test_less_than_a_slot_should_give_makes_the_slot_invalid() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.solo("7,8")
    talk.play(">> GEN 9 1,2,3,4\n<< RESUME 0")
    assert talk.drifts() == [("resume", 3, 0)]
    assert talk.told("drift")[0]["slots"] == [0]
    assert talk.holds(0) == ""


def test_only_those_who_should_have_given_more_are_contradicted() -> None:
    talk = Transcript()
    short = talk.fill(0, "1,2")
    long = talk.fill(1, "3,2,1")
    talk.solo("7,8")
    talk.slot(long).history = talk.slot(short).history.first(2)
    talk.slot(long).history.append(3)
    talk.play(">> GEN 9 1,2,3,4\n<< RESUME 2")
    assert talk.drifts() == [("resume", 3, 2)]
    assert talk.holds(short) == "1,2"
    assert talk.holds(long) == ""


def test_less_than_the_main_session_should_give() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 1,2,3,4,7\n<< RESUME 0")
    assert talk.drifts() == [("resume", 4, 0)]
    assert talk.told("drift")[0]["main"] is True


def test_a_checkpoint_that_gives_nothing_is_dropped_and_the_slot_kept() -> None:
    talk = Transcript()
    talk.admit(0, "[1..9]")
    talk.play("<< BCHECKS 0 9 3,6\n<< BDONE 0 1 stop 1.0")
    talk.solo("77,78")
    talk.play(">> GEN 9 [1..7],99\n<< RESUME 3")
    assert talk.drifts() == [("resume", 6, 3)]
    assert talk.slot(0).checkpoints == (3,)
    assert talk.slot(0).valid


def test_a_reported_checkpoint_is_expected() -> None:
    talk = Transcript()
    talk.admit(0, "[1..9]")
    talk.play("<< BCHECKS 0 9 3,6\n<< BDONE 0 1 stop 1.0")
    talk.solo("77,78")
    talk.play(">> GEN 9 [1..7],99\n<< CACHE_SOURCE 0 6\n<< RESUME 6")
    assert talk.drifts() == []


def test_more_than_expected_is_explained_by_a_checkpoint_nobody_reported() -> None:
    talk = Transcript()
    talk.fill(0, "[1..9]")
    talk.solo("77,78")
    talk.play(">> GEN 9 [1..7],99\n<< RESUME 5")
    assert talk.drifts() == []


def test_what_was_read_before_may_have_left_checkpoints() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n<< PP 20 50 1.0 1.0\n<< DONE 0 50 1.0 0.0 cancel")
    talk.play(">> GEN 9 [1..60]\n<< RESUME 16")
    assert talk.drifts() == []


def test_more_than_anybody_ever_held_is_a_drift() -> None:
    talk = Transcript()
    talk.fill(0, "[1..9]")
    talk.solo("77,78")
    talk.play(">> GEN 9 [1..7],99,98,97\n<< RESUME 8")
    assert talk.drifts() == [("resume", 0, 8)]


def test_another_cvec_explains_nothing_and_promises_nothing() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(">> GEN 9 cvec=0 1,2,3,4\n<< RESUME 0")
    assert talk.drifts() == []
    talk.play("<< ERR no\n>> GEN 9 cvec=2 1,2,3,4\n<< RESUME 2")
    assert talk.drifts() == [("resume", 0, 2)]


def test_a_request_with_pictures_is_promised_nothing() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(">> GENI 9 /tmp/x 1,2,3,4\n<< RESUME 0")
    assert talk.drifts() == []


def test_a_decoding_slot_promises_nothing() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="4")
    talk.solo("7,8")
    talk.play(">> GEN 9 1,2,3,500,9\n<< RESUME 0")
    assert talk.drifts() == []


def test_a_source_that_cannot_have_given_it_is_wrong_about_what_it_holds() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.fill(1, "4,5,6")
    talk.play(">> GEN 9 1,2,3,4\n<< CACHE_SOURCE 1 3\n<< RESUME 3")
    assert talk.drifts() == [("resume", 3, 3)]
    assert talk.told("drift")[0]["slots"] == [1]
    assert talk.holds(1) == ""
    assert talk.holds(0) == "1,2,3"


def test_a_source_named_after_resume_is_compared_as_well() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.fill(1, "4,5,6")
    talk.play(">> GEN 9 1,2,3,4\n<< RESUME 3\n<< CACHE_SOURCE 1 3")
    assert talk.drifts() == [("cache_source", 0, 3)]
    assert talk.holds(1) == ""


def test_a_source_believed_lost_that_gives_all_it_held_is_believed_again() -> None:
    talk = Transcript(GROUPS)
    talk.fill(0, "1,2,3")
    talk.solo("7,8")
    talk.slot(0).lose()
    talk.play(">> GEN 9 1,2,3,4\n<< CACHE_SOURCE 0 3\n<< RESUME 3")
    assert talk.drifts() == [("resume", 0, 3)]
    assert talk.holds(0) == "1,2,3"


def test_a_source_that_decodes_is_told_and_left_alone() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="4")
    talk.solo("7,8")
    talk.play(">> GEN 9 1,2,3,4\n<< CACHE_SOURCE 0 3")
    assert talk.drifts() == [("resume", 0, 3)]
    assert talk.slot(0).activity is Activity.DECODING


def test_no_source_means_the_main_session_or_its_checkpoints() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.solo("1,2,9")
    talk.play(">> GEN 9 1,2,7,8\n<< CACHE_SOURCE -1 2\n<< RESUME 2")
    assert talk.drifts() == []
    talk.play("<< ERR x\n>> GEN 9 1,2,3,8\n<< CACHE_SOURCE -1 3\n<< RESUME 3")
    assert talk.drifts() == [("resume", 3, 3)]


def test_the_amount_is_one_fact_however_often_it_is_said() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.solo("7,8")
    talk.play(">> GEN 9 1,2,3,4\n<< CACHE_SOURCE -1 0\n<< RESUME 0")
    talk.play("<< T 5\n<< DONE 1 4 1.0 1.0 length 0 0 0")
    assert talk.drifts() == [("resume", 3, 0)]


def test_two_lines_that_say_different_amounts_are_a_drift() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(">> GEN 9 1,2,3,4\n<< CACHE_SOURCE 0 3\n<< RESUME 2")
    assert talk.drifts() == [("resume", 3, 2)]
    talk.play("<< T 5\n<< DONE 1 4 1.0 1.0 length 0 0 1")
    assert talk.drifts()[1:] == [("reused", 2, 1)]


def test_a_slot_kept_for_a_yielded_read_is_expected_to_give_its_part() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 0\n<< YIELDED 0 20")
    talk.play("<< DONE 0 50 1.0 0.0 cancel\n>> GEN 9 [1..60]\n<< RESUME 20")
    assert talk.drifts() == []


def test_the_next_decision_uses_what_was_corrected() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.solo("7,8")
    talk.play(">> GEN 9 1,2,3,4\n<< RESUME 0\n<< ERR broken")
    talk.play(">> BGEN 0 9 1,2,3,4\n BGEN 0 9 slot=0 1,2,3,4")
    placed = talk.told("place")[-1]
    assert (placed["reason"], placed["hint"]) == ("reclaim", 0)
