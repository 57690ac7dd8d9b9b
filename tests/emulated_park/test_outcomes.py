"""What becomes of a park that fails, and of the client's request then."""

import pytest
from attrs import evolve

from slotd.core.own_park import AFFORDABLE_READ, FAILURES
from tests.emulated_park.transcript import AN_ADMISSION_LEAVES, HELD, LONG, ParkTranscript, parking

SENT = f"""
    >> GEN 5 1,2,3
       > BGEN 0 2 {LONG},500
    """
READ = f"<< RESUME {HELD}\n"
DONE = f"<< DONE 1 {HELD + 1} 1.0 1.0"

REFUSED = "<< ERR no such free slot\n"
COPY_FAILED = READ + "<< T 600\n" + DONE + " length\n<< BADM 0 0\n"
ENDED = READ + "<< T 600\n" + DONE + " stop\n<< BADM 0 0\n"
HAS_ENDED = {"refused": REFUSED, "copy": COPY_FAILED, "ended": ENDED}


def fail(talk: ParkTranscript, lines: str) -> None:
    """Play a park's end; only its last line lets the client's request go."""
    talk.act(SENT)
    *first, last = lines.splitlines()
    talk.act("\n".join(first))
    assert talk.both("<<", last.removeprefix("<< ").encode() + b"\n") == ["> GEN 5 1,2,3"]


@pytest.mark.parametrize("why", HAS_ENDED)
def test_the_clients_request_goes_on_at_once_when_the_park_fails(why: str) -> None:
    talk = parking()
    fail(talk, HAS_ENDED[why])
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    (parked,) = talk.told("parked")
    assert (parked["tokens"], parked["why"], parked["how"]) == (0, why, "emulated")
    assert [event.name for event in talk.events] == ["place", "park", "parked", "solo_done"]
    assert talk.slot(0).idle
    assert talk.holds(0) == ""


def test_an_admission_goes_on_too() -> None:
    talk = parking()
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        << ERR no
           > BGEN 0 5 1,2,3
        << RESUME 0
           =
        """
    )


def test_a_refused_park_leaves_the_slot_what_it_held() -> None:
    talk = parking()
    talk.now = 12.0
    talk.model.slots[0].history = talk.main.history.first(3)
    talk.model.slots[0].valid = True
    fail(talk, REFUSED)
    assert talk.holds(0) == "100,101,102"


@pytest.mark.parametrize("said", [0, HELD - AFFORDABLE_READ])
def test_a_read_that_should_not_be_there_is_stopped(said: int) -> None:
    talk = parking()
    talk.act(
        SENT
        + f"""
    << RESUME {said}
       > STOP
    << PP 2048 {HELD + 1} 1.0 1.0
    << DONE 0 {HELD + 1} 1.0 0.0 cancel 0 0 {said}
    << BADM 0 0
       > GEN 5 1,2,3
    << RESUME 0
       =
    """
    )
    (parked,), (drift,) = talk.told("parked"), talk.drifts()
    assert (parked["why"], parked["read_again"]) == ("stopped", HELD - said)
    assert drift == ("resume", HELD, said)


def test_a_stop_that_comes_too_late_for_it_stops_nothing_else() -> None:
    """It was written before the client's request, so the engine drops it before that begins."""
    talk = parking()
    talk.act(
        SENT
        + f"""
    << RESUME 0
       > STOP
    << PP {HELD} {HELD + 1} 1.0 1.0
    << T 600
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 0
    << BADM 0 1
       > BSTOP 0
    << BT 0 601
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    """
    )
    assert talk.holds(0).endswith(",9000,500,600")
    assert [parked["tokens"] for parked in talk.told("parked")] == [HELD + 1]


def test_a_short_read_is_let_be() -> None:
    said = HELD + 1 - AFFORDABLE_READ
    talk = parking()
    talk.act(
        SENT
        + f"""
    << RESUME {said}
    << PP {HELD} {HELD + 1} 1.0 1.0
    << T 600
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {said}
    << BADM 0 1
       > BSTOP 0
    """
    )
    (parked,) = talk.told("parked")
    assert (parked["tokens"], parked["read_again"]) == (HELD + 1, AFFORDABLE_READ - 1)


def test_an_engine_that_cannot_stop_is_not_asked_to() -> None:
    talk = parking()
    talk.model.capabilities = talk.model.capabilities.with_ready(270_000, stop=False)
    talk.act(SENT + "<< RESUME 0")


def test_a_slot_that_fails_after_the_copy_counts_as_a_failure() -> None:
    talk = parking()
    talk.act(SENT + READ + f"<< T 600\n{DONE} length\n<< BADM 0 1\n> BSTOP 0")
    talk.act("<< BDONE 0 1 error 3.0\n> GEN 5 1,2,3")
    assert talk.model.failed_parks == 1
    assert [parked["tokens"] for parked in talk.told("parked")] == [HELD + 1, 0]
    assert talk.holds(0) == ""


def again(talk: ParkTranscript) -> ParkTranscript:
    """End the client's request, and have the conversation in the main session once more."""
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    talk.solo(LONG)
    return talk


def test_after_two_failures_in_a_row_the_engine_is_left_alone() -> None:
    talk = parking()
    fail(talk, REFUSED)
    assert talk.told("park_off") == []
    fail(again(talk), ENDED)
    assert talk.told("park_off") == [{"request": 4, "failures": FAILURES}]
    again(talk).act(">> GEN 5 1,2,3\n=")
    again(talk).act(">> GEN 5 1,2,3\n=")
    assert len(talk.told("park_off")) == 1


def test_a_park_that_works_out_forgives_the_failure_before_it() -> None:
    talk = parking()
    fail(talk, REFUSED)
    again(talk).act(SENT + READ + f"<< T 600\n{DONE} length\n<< BADM 0 1\n> BSTOP 0")
    talk.act("<< BT 0 601\n<< BDONE 0 2 length 3.0\n> GEN 5 1,2,3")
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    talk.slot(0).lose()
    talk.solo(LONG)
    fail(talk, REFUSED)
    assert talk.told("park_off") == []


def test_the_next_engine_is_tried_again() -> None:
    talk = parking()
    fail(talk, REFUSED)
    fail(again(talk), REFUSED)
    talk.sidecar.engine_eof(talk.now)
    talk.act("<< INFO batch_slots=4 slot_cache=1\n=\n<< READY 270000 stop\n=")
    talk.solo(LONG)
    fail(talk, REFUSED)


def test_an_engine_that_dies_ends_everything() -> None:
    talk = parking()
    talk.act(SENT + READ + ">> STOP")
    output = talk.sidecar.engine_eof(talk.now)
    assert (output.to_engine, output.to_client) == ([], [])
    talk.act("<< INFO batch_slots=4 slot_cache=1\n=\n<< READY 270000 stop\n=\n>> STOP\n=")


def test_a_dying_engines_last_words_reach_the_client() -> None:
    talk = parking()
    talk.act(SENT + READ + "<< ERR out of memory\n> GEN 5 1,2,3")
    assert talk.sidecar.engine_eof(talk.now).to_client == [b"ERR out of memory\n"]


def test_what_was_only_a_refusal_does_not_come_back_at_its_end() -> None:
    talk = parking()
    talk.act(SENT + "<< ERR no\n> GEN 5 1,2,3\n<< RESUME 0\n=")
    assert talk.sidecar.engine_eof(talk.now).to_client == []


COPIED = READ + f"<< T 600\n{DONE} length\n<< BADM 0 1\n> BSTOP 0\n"


@pytest.mark.parametrize("said", [1, 2])
def test_an_err_between_the_copy_and_its_end_answers_the_request_which_then_never_runs(
    said: int,
) -> None:
    talk = parking()
    talk.act(SENT + ">> STOP\n" + COPIED + "<< BT 0 601\n" * (said - 1))
    talk.act("<< ERR out of memory\n=\n" + f"<< BDONE 0 {said} cancel 3.0\n> STOP")
    talk.act(">> GEN 5 7,8\n=\n<< RESUME 0\n=")
    assert talk.sidecar.engine_eof(talk.now).to_client == []


def test_an_err_after_an_admission_has_left_is_its_answer() -> None:
    talk = parking()
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        {AN_ADMISSION_LEAVES}
        << ERR no
           =
        << BT 1 601
        << BDONE 1 2 cancel 3.0
        >> BGEN 3 5 1,2,3
           > BGEN 0 5 1,2,3
        """
    )


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", "BADM 3 1"),
        ("", "BCHECKS 3 7 5"),
        (f"RESUME {HELD}\n", "RESUME 5"),
        (f"CACHE_SOURCE -1 {HELD}\n", "CACHE_SOURCE -1 5"),
        (f"RESUME {HELD}\nT 600\nDONE 1 {HELD + 1} 1 1 length\n", "T 9"),
    ],
)
def test_a_line_that_cannot_be_its_own_is_the_clients(before: str, line: str) -> None:
    talk = parking()
    talk.act(SENT)
    assert talk.both("<<", before.encode()) == []
    assert f"< {line}" in talk.both("<<", line.encode() + b"\n")


def test_an_engine_that_begins_anew_without_slots_holds_nothing_up() -> None:
    talk = parking()
    talk.act(SENT + COPIED + "<< INFO batch_slots=0\n> GEN 5 1,2,3\n< INFO batch_slots=0")


def test_a_client_that_goes_away_from_a_hosted_engine_takes_its_waiting_request_along() -> None:
    talk = parking()
    talk.act(SENT + ">> STOP")
    assert talk.sidecar.client_gone(talk.now).to_engine == []
    talk.act(READ + f"<< T 600\n{DONE} length\n<< BADM 0 1\n> BSTOP 0\n> BSTOP 0\n<< BT 0 601")
    assert not talk.sidecar.drained
    talk.act("<< BDONE 0 2 length 3.0")
    assert talk.sidecar.drained
    assert talk.holds(0).endswith(",500,600")
    talk.act(">> GEN 5 1,2,3\n=")


def test_a_hosted_engine_is_not_told_to_quit_and_its_client_may_go_at_once() -> None:
    talk = parking()
    talk.sidecar.replace_settings(evolve(talk.sidecar.settings, keep_loaded=True))
    talk.act(SENT)
    output = talk.put(">>", b"QUIT\n")
    assert output.quits
    assert output.to_engine == []


def test_the_next_clients_first_request_is_not_held_up_by_what_was_dropped() -> None:
    talk = parking()
    talk.act(SENT + ">> VRAM 5")
    talk.sidecar.client_gone(talk.now)
    assert not talk.sidecar.holds
    talk.act("<< ERR no")
    assert talk.sidecar.drained
    talk.act(f">> GEN 5 {LONG},500,1\n=")


def test_a_request_that_has_left_is_stopped_when_its_client_goes_away() -> None:
    talk = parking()
    talk.act(SENT + READ + f"<< T 600\n{DONE} length\n<< BADM 0 1\n> BSTOP 0\n<< BT 0 601")
    talk.act("<< BDONE 0 2 length 3.0\n> GEN 5 1,2,3")
    assert talk.sidecar.client_gone(talk.now).to_engine == []
    talk.act("<< RESUME 0\n> STOP\n< RESUME 0\n<< DONE 0 3 1.0 0.0 cancel 0 0 0\n=")
    assert talk.sidecar.drained


def test_a_frame_that_never_left_needs_no_refusal_when_its_client_goes_away() -> None:
    talk = parking()
    assert talk.both(">>", b"GENG1 2\nab\n") == []
    assert talk.sidecar.client_gone(talk.now).to_engine == []
