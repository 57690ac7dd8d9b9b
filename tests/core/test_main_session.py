"""What the main session holds after each line."""

import pytest

from tests.core.transcript import Transcript

BEGUN = """
>> GEN 9 1,2,3
   GEN 9 1,2,3
<< RESUME 0
"""


def test_after_a_request_it_holds_the_prompt_and_all_generated_tokens_but_the_last() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< T 5\n@ 7\n<< T 6\n<< DONE 3 3 1.0 1.0 length 0 0 0")
    assert talk.main_holds() == "1,2,3,4,5"
    assert talk.main.exact
    assert talk.main.last_use == 7


def test_a_request_that_is_queued_changes_nothing_until_it_begins() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 7,8")
    assert talk.main_holds() == "1,2,3,4"
    talk.play("<< RESUME 0")
    assert talk.main_holds() == ""


@pytest.mark.parametrize(
    "line", ["CACHE_SOURCE -1 0", "RESUME 0", "PP 1 2 1.0 1.0", "T 5", "DONE 0 2 1.0 0.0 cancel"]
)
def test_any_sign_of_reading_is_the_end_of_what_it_held(line: str) -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(f">> GEN 9 7,8\n<< {line}")
    assert talk.main_holds() == ""


@pytest.mark.parametrize("finish", ["stop", "length", "cancel"])
def test_a_request_ended_while_decoding_is_a_normal_end(finish: str) -> None:
    talk = Transcript()
    talk.play(BEGUN + f"<< T 4\n<< T 5\n<< DONE 2 3 1.0 1.0 {finish} 0 0 0")
    assert talk.main_holds() == "1,2,3,4"


def test_a_read_that_was_stopped_leaves_nothing() -> None:
    talk = Transcript()
    talk.play(BEGUN + ">> STOP\n<< DONE 0 3 1.0 0.0 cancel 0 0 0")
    assert talk.main_holds() == ""


def test_err_instead_of_done_leaves_nothing() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< ERR out of memory")
    assert talk.main_holds() == ""
    assert talk.model.flight.head is None


def test_a_refused_request_leaves_what_was_there() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(">> GEN 9 7,8\n<< ERR exceeds the context")
    assert talk.main_holds() == "1,2,3,4"
    assert talk.model.flight.head is None


def test_no_checkpoint_asked_for_nothing_kept() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 ckpt=0 1,2,3\n<< RESUME 0\n<< T 4\n<< DONE 1 3 1.0 1.0 length")
    assert talk.main_holds() == ""


def test_pictures_leave_nothing() -> None:
    talk = Transcript()
    talk.play(">> GENI 9 /tmp/x 1,2,3\n<< RESUME 0\n<< T 4\n<< DONE 1 3 1.0 1.0 length")
    assert talk.main_holds() == ""


def test_after_an_admission_it_still_holds_the_prompt() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="7 8")
    assert talk.main_holds() == "1,2,3"


def test_an_admission_with_no_checkpoint_leaves_the_slot_its_history() -> None:
    talk = Transcript()
    talk.play(
        """
        >> BGEN 0 9 ckpt=0 1,2,3
           BGEN 0 9 ckpt=0 slot=0 1,2,3
        << RESUME 0
        << T 4
        << DONE 1 3 1.0 1.0 length
        << BADM 0 1
        << BDONE 0 1 cancel 1.0
        """
    )
    assert talk.main_holds() == ""
    assert talk.holds(0) == "1,2,3"


def test_after_an_end_token_with_drafts_it_may_hold_more_than_was_shown() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< T 5\n<< DONE 2 3 1.0 1.0 stop 1 4 0")
    assert talk.main_holds() == "1,2,3,4"
    assert not talk.main.exact


@pytest.mark.parametrize("end", ["stop 0 0 0", "length 1 4 0", "cancel 1 4 0"])
def test_no_drafts_or_no_end_token_and_what_it_holds_is_exact(end: str) -> None:
    talk = Transcript()
    talk.play(BEGUN + f"<< T 4\n<< T 5\n<< DONE 2 3 1.0 1.0 {end}")
    assert talk.main.exact


def test_a_main_session_not_exactly_known_is_no_promise_of_reuse() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< T 5\n<< DONE 2 3 1.0 1.0 stop 1 4 0")
    talk.play(">> GEN 9 1,2,3,4,5,6\n<< RESUME 0\n<< T 1\n<< DONE 1 6 1.0 1.0 length")
    assert talk.drifts() == []


@pytest.mark.parametrize("answer", ["RESTORED 5", "SESSION x", "RELEASED", "FATAL x"])
def test_an_answer_that_may_replace_the_session_leaves_nothing_known(answer: str) -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play(f">> RESTORE /tmp/x\n<< {answer}")
    assert talk.main_holds() == ""
    assert talk.model.flight.head is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("VRAM 512", "VRAM free=1"),
        ("SAVE /tmp/x", "SAVED 5"),
        ("RESTORE /tmp/x", "SERR invalid 0"),
        ("REFILL", "REFILLED"),
        ("VRAM", "ERR needs --vram-elastic"),
        ("nonsense", "ERR expected: GEN"),
        ("", "ERR expected: GEN"),
    ],
)
def test_other_answers_leave_it_alone(question: str, answer: str) -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    assert talk.write(">>", question.encode() + b"\n") == question.encode() + b"\n"
    assert talk.model.flight.head is not None
    talk.play(f"<< {answer}")
    assert talk.main_holds() == "1,2,3,4"
    assert talk.model.flight.head is None


def test_what_done_counts_must_be_what_was_seen() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< DONE 2 3 1.0 1.0 length 0 0 0")
    assert talk.main_holds() == ""
    assert talk.drifts() == [("generated", 1, 2)]


def test_the_prompt_done_names_must_be_the_one_that_was_sent() -> None:
    talk = Transcript()
    talk.play(BEGUN + "<< T 4\n<< DONE 1 5 1.0 1.0 length 0 0 0")
    assert talk.main_holds() == ""
    assert talk.drifts() == [("prompt", 3, 5)]


def test_a_request_nobody_sent_leaves_nothing_known() -> None:
    talk = Transcript()
    talk.solo("1,2,3", "4 5")
    talk.play("<< RESUME 0\n<< T 4\n<< DONE 1 3 1.0 1.0 length")
    assert talk.main_holds() == ""
