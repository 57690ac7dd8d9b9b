"""A client that goes away: what is stopped, what is kept, and when the next one may begin."""

import pytest

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.state import Activity
from tests.core.transcript import Transcript, spelled

ADMITTED = """
>> BGEN 2 9 [1..50]
   BGEN 0 9 slot=0 [1..50]
<< RESUME 0
<< T 500
<< DONE 1 50 1 1 length
<< BADM 0 1
   BADM 2 1
"""


def gone(talk: Transcript) -> bytes:
    """Let the client go; return what the engine gets."""
    output = talk.sidecar.client_gone(talk.now)
    assert output.to_client == []
    talk.events += output.events
    return b"".join(output.to_engine)


def says(talk: Transcript, text: str) -> bytes:
    """Let the engine write lines; return what it gets for them."""
    output = talk.sidecar.from_engine(spelled(text).encode() + b"\n", talk.now)
    talk.events += output.events
    return b"".join(output.to_engine)


def in_step(talk: Transcript) -> bool:
    idle = all(slot.idle for slot in talk.model.slots)
    assert talk.sidecar.drained <= (idle and len(talk.model.flight) == 0)
    return talk.sidecar.drained


def test_a_client_that_asked_for_nothing_leaves_nothing_to_do() -> None:
    talk = Transcript()
    assert gone(talk) == b""
    assert in_step(talk)
    assert talk.events == []


def test_a_solo_request_is_stopped_while_it_decodes() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n<< T 5")
    assert gone(talk) == b"STOP\n"
    assert not in_step(talk)
    assert says(talk, "T 6\nDONE 2 50 1 1 cancel") == b""
    assert in_step(talk)
    assert talk.main_holds() == ",".join(map(str, [*range(1, 51), 5]))


def test_a_request_that_has_not_begun_is_stopped_when_it_has() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n>> GEN 9 [60..70]")
    assert gone(talk) == b""
    assert says(talk, "RESUME 0") == b"STOP\n"
    assert says(talk, "PP 20 50 1 1\nDONE 0 50 1 0 cancel") == b""
    assert not in_step(talk)
    assert says(talk, "CACHE_SOURCE -1 0\nRESUME 0") == b"STOP\n"
    assert says(talk, "DONE 0 11 1 0 cancel") == b""
    assert in_step(talk)


def test_an_engine_that_does_not_honour_stop_is_left_to_finish() -> None:
    talk = Transcript(None)
    talk.play("<< READY 270000\n>> GEN 2 [1..50]\n<< RESUME 0")
    assert gone(talk) == b""
    assert says(talk, "T 5\nT 6") == b""
    assert not in_step(talk)
    assert says(talk, "DONE 2 50 1 1 length") == b""
    assert in_step(talk)


def test_a_read_for_a_slot_that_is_stopped_leaves_the_slot_what_it_held() -> None:
    talk = Transcript("batch_slots=1 slot_cache=1")
    talk.fill(0, "7,8,9")
    talk.play(">> BGEN 0 9 [1..50]\n   BGEN 0 9 slot=0 [1..50]\n<< RESUME 0")
    assert gone(talk) == b"STOP\n"
    assert says(talk, "DONE 0 50 1 0 cancel") == b""
    assert not in_step(talk)
    assert says(talk, "BADM 0 0") == b""
    assert in_step(talk)
    assert talk.holds(0) == "7,8,9"


@pytest.mark.parametrize("last", ["T 500", "T 500\nDONE 1 50 1 1 length"])
def test_an_admission_that_goes_on_regardless_is_stopped_in_its_slot(last: str) -> None:
    talk = Transcript()
    talk.play(">> BGEN 2 9 [1..50]\n   BGEN 0 9 slot=0 [1..50]\n<< RESUME 0")
    says(talk, last)
    gone(talk)
    if "DONE" not in last:
        says(talk, "DONE 1 50 1 1 length")
    assert says(talk, "BADM 0 1") == b"BSTOP 0\n"
    assert says(talk, "BT 0 501\nBT 0 502") == b""
    assert not in_step(talk)
    assert says(talk, "BDONE 0 3 cancel 1.0") == b""
    assert in_step(talk)
    assert talk.holds(0) == ",".join(map(str, [*range(1, 51), 500, 501]))
    assert talk.drifts() == []


def test_every_slot_that_decodes_is_stopped_by_the_engines_number() -> None:
    talk = Transcript()
    first, second = talk.admit(3, "1,2,3"), talk.admit(1, "4,5,6")
    assert gone(talk) == b"BSTOP %d\nBSTOP %d\n" % (first, second)
    assert says(talk, f"BT {first} 9\nBDONE {second} 1 cancel 1.0") == b""
    assert not in_step(talk)
    assert says(talk, f"BDONE {first} 2 cancel 1.0") == b""
    assert in_step(talk)
    assert (talk.holds(first), talk.holds(second)) == ("1,2,3,500", "4,5,6")


def test_a_slot_nobody_knew_of_is_stopped_at_its_first_token_among_others() -> None:
    talk = Transcript()
    slot = talk.admit(3, "1,2,3")
    other = (slot + 1) % 4
    assert gone(talk) == b"BSTOP %d\n" % slot
    run = f"BT {slot} 9\nBT {other} 5\nBT {slot} 8\nBT {other} 6"
    assert says(talk, run) == b"BSTOP %d\n" % other
    assert says(talk, f"BDONE {slot} 3 cancel 1.0") == b""
    assert not in_step(talk)
    assert says(talk, f"BDONE {other} 2 cancel 1.0") == b""
    assert in_step(talk)
    assert talk.holds(slot) == "1,2,3,500,9"


def test_a_read_that_gave_way_is_a_history_like_any_other() -> None:
    talk = Transcript()
    talk.play(
        """
        >> BGEN 2 9 [1..50]
           BGEN 0 9 slot=0 [1..50]
        << RESUME 0
        >> BYIELD 2
           BYIELD 0
        << YIELDED 0 20
           YIELDED 2 20
        << DONE 0 50 1.0 0.0 cancel 0 0 0
        << BADM 0 0
           BADM 2 0
        """
    )
    assert talk.slot(0).activity is Activity.YIELDED
    gone(talk)
    assert in_step(talk)
    talk.play(">> BGEN 3 9 [1..60]\n   BGEN 0 9 slot=0 [1..60]\n<< RESUME 20")
    assert talk.drifts() == []


def test_a_reservation_is_nobodys_once_its_read_has_ended() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 2\n   BYIELD 0")
    assert gone(talk) == b"STOP\n"
    assert says(talk, "PP 20 50 1 1\nYIELDED 0 20\nDONE 0 50 1 0 cancel") == b""
    assert in_step(talk)
    assert talk.holds(0) == ",".join(map(str, range(1, 21)))


def test_the_next_client_finds_every_number_free_and_every_history_kept() -> None:
    talk = Transcript()
    slot = talk.fill(3, "[1..50]")
    gone(talk)
    talk.play(f">> BGEN 0 9 [1..60]\n   BGEN {slot} 9 slot={slot} [1..60]\n<< RESUME 50")
    assert talk.drifts() == []


def test_an_unfinished_line_is_dropped() -> None:
    talk = Transcript()
    talk.write(">>", b"BGEN 1 9 1,2,")
    assert gone(talk) == b""
    assert in_step(talk)
    talk.play(">> GEN 9 3,4,5")


def test_an_unfinished_frame_is_dropped() -> None:
    talk = Transcript()
    assert talk.write(">>", b"GENG1 20\nroot ::= ") == b""
    assert gone(talk) == b""
    assert in_step(talk)
    talk.play(">> GEN 9 3,4,5")


def test_a_frame_without_its_request_gets_one_that_is_refused() -> None:
    talk = Transcript()
    assert talk.write(">>", b"GENG1 4\nroot\n") == b"GENG1 4\nroot\n"
    assert gone(talk) == b"GEN 0 0\n"
    assert not in_step(talk)
    assert says(talk, "ERR bad request") == b""
    assert in_step(talk)
    assert talk.told("error") == []


@pytest.mark.parametrize("after", [b"STOP\n", b"BSTOP 1\n", b"QUIT\n"])
def test_so_does_one_with_a_line_behind_it_that_is_no_request(after: bytes) -> None:
    talk = Transcript(settings=SidecarSettings(keep_loaded=True))
    passed = talk.write(">>", b"GENG1 4\nroot\n" + after)
    assert passed == b"GENG1 4\nroot\n" + (b"" if after == b"QUIT\n" else after)
    assert gone(talk) == b"GEN 0 0\n"
    says(talk, "ERR bad request")
    assert in_step(talk)


def test_a_frame_whose_request_has_come_gets_no_other() -> None:
    talk = Transcript()
    talk.write(">>", b"GENG1 4\nroot\nGEN 9 1,2,3\n")
    assert gone(talk) == b""
    assert not in_step(talk)


def test_a_frame_that_is_kept_does_not_leave_with_a_quit() -> None:
    settings = SidecarSettings(park="emulated", keep_loaded=True)
    talk = Transcript("batch_slots=4 slot_cache=1", settings=settings)
    assert talk.write(">>", b"GENG1 4\nroot\nQUIT\n") == b""
    assert gone(talk) == b""
    assert in_step(talk)


def test_a_line_too_long_to_be_held_whose_verb_has_no_answer_is_ended() -> None:
    talk = Transcript()
    assert talk.write(">>", b"BSTOP " + b"1" * (17 << 20))
    assert gone(talk) == b",x\nGEN 0 0\n"
    assert not in_step(talk)
    says(talk, "ERR bad request")
    talk.sidecar.silent(talk.now)
    assert in_step(talk)


def test_a_line_too_long_to_be_held_is_made_one_the_engine_refuses() -> None:
    talk = Transcript()
    begun = b"GEN 9 " + b"1," * (9 << 20)
    passed = talk.write(">>", begun)
    assert begun.startswith(passed)
    assert passed
    assert gone(talk) == b",x\n"
    assert not in_step(talk)
    says(talk, "ERR bad request: ids")
    assert in_step(talk)


def test_an_exchange_is_waited_for() -> None:
    talk = Transcript()
    talk.play(">> VRAM 100")
    assert gone(talk) == b""
    assert not in_step(talk)
    says(talk, "VRAM free=1")
    assert in_step(talk)


def test_requests_nobody_could_follow_are_stopped_as_well() -> None:
    talk = Transcript()
    for _ in range(70):
        talk.write(">>", b"GEN 9 1,2,3\n")
    gone(talk)
    for _ in range(70):
        assert not in_step(talk)
        assert says(talk, "RESUME 0") == b"STOP\n"
        assert says(talk, "DONE 0 3 1 0 cancel") == b""
    assert in_step(talk)


def test_a_request_sent_while_the_model_loads_is_stopped_when_it_begins() -> None:
    talk = Transcript(None)
    talk.write(">>", b"BGEN 0 9 1,2,3\n")
    assert gone(talk) == b""
    assert says(talk, "INFO batch_slots=2 slot_cache=1\nREADY 9999 stop") == b""
    assert not in_step(talk)
    assert says(talk, "RESUME 0") == b"STOP\n"
    says(talk, "DONE 0 3 1 0 cancel\nBADM 0 0")
    assert in_step(talk)


UNKNOWN = b"\nSTATS\n"
"""Lines that some engines answer with ERR and others not at all."""


def silent(talk: Transcript) -> None:
    output = talk.sidecar.silent(talk.now)
    assert (output.to_engine, output.to_client) == ([], [])
    talk.events += output.events


def test_after_lines_nobody_knows_comes_one_that_is_answered() -> None:
    talk = Transcript()
    talk.write(">>", UNKNOWN)
    assert gone(talk) == b"GEN 0 0\n"
    assert says(talk, "ERR what?\nERR what?") == b""
    silent(talk)  # its own answer is still to come, or one of theirs was none
    assert in_step(talk)


def test_an_engine_that_answers_every_unknown_line_is_not_waited_for() -> None:
    talk = Transcript()
    talk.write(">>", UNKNOWN)
    gone(talk)
    assert says(talk, "ERR what?\nERR what?\nERR bad request") == b""
    assert in_step(talk)


def test_an_engine_that_passes_over_unknown_lines_is_in_step_once_it_is_silent() -> None:
    talk = Transcript()
    slot = talk.fill(1, "[1..50]")
    talk.write(">>", UNKNOWN * 40)  # more than are followed
    gone(talk)
    silent(talk)
    assert not in_step(talk)  # it may be busy with them
    says(talk, "ERR bad request")
    assert not in_step(talk)
    silent(talk)
    assert in_step(talk)
    assert talk.holds(slot) == ",".join(map(str, range(1, 51)))
    assert [event.name for event in talk.events[-2:]] == ["drain", "drained"]


def test_silence_ends_no_request_and_no_exchange() -> None:
    for line in (b"GEN 9 1,2,3\n", b"SAVE /x\n"):
        talk = Transcript()
        talk.write(">>", b"VRAM\n\n" + line)
        assert gone(talk) == b"GEN 0 0\n"
        silent(talk)
        assert not in_step(talk)
    talk = Transcript()
    talk.write(">>", b"VRAM\nSAVE /x\n")
    assert gone(talk) == b""
    says(talk, "VRAM free=1")
    silent(talk)
    assert not in_step(talk)


def test_silence_ends_no_slots_request() -> None:
    talk = Transcript()
    slot = talk.admit(2, "1,2,3")
    talk.write(">>", b"\n")
    assert gone(talk) == b"BSTOP %d\nGEN 0 0\n" % slot
    says(talk, "ERR bad request")
    silent(talk)
    assert not in_step(talk)
    says(talk, f"BDONE {slot} 1 cancel 1.0")
    assert in_step(talk)


def test_an_engine_that_ends_meanwhile_ends_the_drain() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0")
    gone(talk)
    talk.sidecar.engine_eof(1.0)
    assert talk.sidecar.drained


def test_a_quit_passes_unless_the_engine_is_kept_loaded() -> None:
    assert Sidecar(SidecarSettings()).from_client(b"QUIT\n", 0).to_engine == [b"QUIT\n"]
    kept = Sidecar(SidecarSettings(keep_loaded=True))
    output = kept.from_client(b"VRAM\nQUIT\nVRAM\n", 0)
    assert (b"".join(output.to_engine), output.quits) == (b"VRAM\n", True)
    assert kept.from_client(b"GEN 1 1,2\n", 0).to_engine == []
    kept.client_gone(0)
    assert kept.from_client(b"GEN 1 1,2\n", 0).to_engine == [b"GEN 1 1,2\n"]


def test_what_is_dropped_and_stopped_is_told() -> None:
    talk = Transcript()
    talk.play(ADMITTED + ">> GEN 9 [60..70]")
    talk.now = 5
    gone(talk)
    assert talk.told("drain") == [{"requests": 1, "slots": 1, "unfinished": False}]
    talk.now = 5.5
    says(talk, "BDONE 0 1 cancel 1\nRESUME 0\nDONE 0 11 1 0 cancel")
    assert talk.told("drained") == [{"ms": 500.0}]
