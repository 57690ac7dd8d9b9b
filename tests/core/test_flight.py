"""What is on its way to the engine, and whose answer a line is."""

import pytest

from slotd.core.flight import BOUND, Phase
from slotd.core.state import Activity
from tests.core.transcript import Transcript


def test_answers_go_to_what_was_sent_first() -> None:
    talk = Transcript()
    talk.play(
        """
        >> VRAM
        >> GEN 9 1,2,3
        >> SAVE /tmp/x
        << VRAM free=1
        << RESUME 0
        << T 4
        << DONE 1 3 1.0 1.0 length
        << SAVED 5
        """
    )
    assert len(talk.model.flight) == 0
    assert talk.main_holds() == "1,2,3"


def test_stop_bstop_byield_and_quit_are_not_answered() -> None:
    talk = Transcript()
    talk.play(">> STOP\n>> BSTOP 0\n>> BYIELD 0\n>> BSTOP x\n>> BYIELD\n>> QUIT\n>> QUIT now")
    assert len(talk.model.flight) == 0


def test_a_request_that_begins_ends_every_exchange_before_it() -> None:
    talk = Transcript()
    talk.play(">> VRAM\n>> nonsense\n>> GEN 9 1,2,3\n<< RESUME 0\n<< ERR broken")
    assert len(talk.model.flight) == 0
    assert talk.main_holds() == ""


@pytest.mark.parametrize("answer", ["WHATEVER 1", "ERR unknown", "VRAM x=1"])
def test_anything_answers_a_line_that_is_not_known(answer: str) -> None:
    talk = Transcript()
    talk.play(f">> WHAT\n<< {answer}")
    assert len(talk.model.flight) == 0


def test_noise_answers_neither_an_exchange_nor_a_request() -> None:
    talk = Transcript()
    talk.play(">> VRAM\n<< loading shard 3")
    assert len(talk.model.flight) == 1
    talk.play("<< VRAM x=1\n>> GEN 9 1,2\n<< loading shard 4\n<< VRAM x=1")
    assert len(talk.model.flight) == 1


def test_a_grammar_frame_is_answered_by_the_line_it_belongs_to() -> None:
    talk = Transcript()
    frame = b"GENG1 9\nGEN 1 2,3\n"
    assert talk.write(">>", frame) == frame
    assert len(talk.model.flight) == 0
    talk.play(">> CHECKG\n<< CHECKG ok")
    assert len(talk.model.flight) == 0


def test_a_request_that_was_not_understood_may_run_all_the_same() -> None:
    talk = Transcript()
    talk.solo("1,2,3")
    talk.play(
        """
        >> BGEN 0 9 x 1,2,3
        << RESUME 0
        << T 7
        << DONE 1 3 1.0 1.0 length
        << BADM 0 1
        << BT 0 8
        << BDONE 0 2 stop 1.0
        """
    )
    assert len(talk.model.flight) == 0
    assert talk.main_holds() == ""
    assert talk.holds(0) == ""
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.drifts() == []


def test_its_slot_is_mapped() -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    talk.play(">> BGEN 2 9 x 1,2,3\n BGEN 0 9 x 1,2,3\n<< ERR bad\n>> BGEN what\n<< ERR bad")
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)


def test_a_request_whose_end_was_missed_is_given_up_when_the_next_one_begins() -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(
        """
        >> BGEN 0 9 1,2,3,4
           BGEN 0 9 slot=0 1,2,3,4
        << RESUME 3
        << T 5
        << DONE 1 4 1.0 1.0 length
        >> GEN 9 7,8
        << RESUME 0
        """
    )
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.holds(0) == ""
    [request] = talk.model.flight.requests()
    assert (request.verb, request.phase) == ("GEN", Phase.READING)


@pytest.mark.parametrize("line", ["RESUME 0", "CACHE_SOURCE -1 0"])
def test_a_second_begin_is_the_next_requests(line: str) -> None:
    talk = Transcript()
    talk.play(f">> GEN 9 1,2,3\n>> GEN 9 7,8\n<< {line}\n<< {line}\n<< T 5")
    talk.play("<< DONE 1 2 1.0 1.0 length")
    assert talk.main_holds() == "7,8"
    assert len(talk.model.flight) == 0


def test_beyond_the_bound_requests_pass_and_what_they_touch_is_unknown() -> None:
    talk = Transcript()
    talk.fill(2, "1,2,3")  # engine slot 0
    talk.fill(1, "4,5,6")
    for _ in range(BOUND):
        talk.play(">> GEN 9 7,8")
    talk.play(">> BGEN 2 9 [1..9]\n BGEN 0 9 [1..9]")
    assert talk.model.flight.untracked == 1
    assert talk.slot(0).activity is Activity.READING
    for _ in range(BOUND):
        talk.play("<< RESUME 0\n<< T 5\n<< DONE 1 2 1.0 1.0 length")
    assert talk.main_holds() == "7,8"
    talk.play("<< RESUME 3\n<< T 5\n<< DONE 1 9 1.0 1.0 length")
    assert talk.main_holds() == ""
    talk.play("<< BADM 0 1\n BADM 2 1")
    assert talk.model.flight.untracked == 0
    talk.play("<< BT 0 6\n BT 2 6\n<< BDONE 0 2 stop 1.0\n BDONE 2 2 stop 1.0")
    assert talk.holds(0) == ""
    assert talk.holds(1) == "4,5,6"
    talk.solo("7,8")
    assert talk.main_holds() == "7,8"


def test_beyond_the_bound_a_refused_admission_frees_its_slot_when_the_next_one_begins() -> None:
    talk = Transcript()
    for _ in range(BOUND):
        talk.play(">> GEN 9 7,8")
    talk.play(">> BGEN 2 9 1,2,3")
    for _ in range(BOUND + 1):
        talk.play("<< ERR no")
    talk.play(">> GEN 9 7,8\n<< RESUME 0")
    assert talk.slot(2).activity is Activity.IDLE
    assert talk.model.flight.untracked == 0


def test_many_unanswered_lines_cost_no_memory_and_do_not_stop_requests() -> None:
    talk = Transcript()
    for _ in range(10 * BOUND):
        assert talk.write(">>", b"\n") == b"\n"
    assert len(talk.model.flight) == BOUND
    talk.play(">> GEN 9 1,2,3\n<< RESUME 0\n<< T 5\n<< DONE 1 3 1.0 1.0 length")
    talk.solo("7,8")
    assert talk.main_holds() == "7,8"


def test_a_line_too_long_to_be_read_is_one_line() -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    line = b"BGEN 2 5 " + b"1," * (9 * 1024 * 1024) + b"1\n"
    assert talk.write(">>", line) == line.replace(b"BGEN 2", b"BGEN 0", 1)
    assert len(talk.model.flight) == 1
    talk.play("<< ERR bad\n>> BSTOP 2\n BSTOP 0")
    assert len(talk.model.flight) == 0


def test_when_the_engine_has_ended_nothing_is_believed() -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    talk.solo("1,2,3")
    talk.play(">> GEN 9 1,2,3,4")
    last = talk.sidecar.engine_eof(9.0)
    assert last.to_client == []
    assert talk.model.slots == []
    assert talk.main_holds() == ""
    assert len(talk.model.flight) == 0
    talk.play("<< INFO batch_slots=4 slot_cache=1\n<< READY 4096\n>> BSTOP 2")
