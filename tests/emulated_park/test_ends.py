"""The end of a client in the middle of a park: what waits, what comes last, when the end does."""

import pytest

from slotd.policy.settings import PolicySettings
from tests.emulated_park.transcript import BEFORE_THE_COPY, HELD, LONG, THE_COPY, parking


def test_a_quit_waits_like_any_other_line() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY + ">> VRAM 5\n>> QUIT")
    talk.act(THE_COPY + "<< BDONE 0 2 length 3.0\n   > GEN 5 1,2,3")
    assert talk.both("<<", b"RESUME 0\n") == ["> VRAM 5", "> QUIT", "< RESUME 0"]


def test_what_a_client_that_leaves_has_written_goes_on_waiting_and_the_end_with_it() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY + ">> STOP\n>> VRAM 5")
    assert talk.sidecar.client_eof(talk.now).to_engine == []
    assert talk.sidecar.holds
    talk.act(THE_COPY + "<< BDONE 0 2 length 3.0\n   > GEN 5 1,2,3")
    assert talk.sidecar.holds
    talk.act("<< RESUME 0\n> STOP\n> VRAM 5\n< RESUME 0")
    assert not talk.sidecar.holds
    talk.act("<< DONE 0 3 1.0 0.0 cancel 0 0 0\n   =")


def test_a_request_for_the_parks_slot_is_not_refused_because_its_client_leaves() -> None:
    talk = parking("batch_slots=2 slot_cache=1")
    talk.act(f">> BGEN 0 5 1,2,3\n> BGEN 1 2 {LONG},500\n>> BGEN 1 5 4,5,6")
    assert talk.sidecar.client_eof(talk.now).to_engine == []
    talk.act(f"<< RESUME {HELD}\n<< T 600\n> BGEN 0 5 1,2,3")
    talk.act(f"<< DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}\n<< BADM 1 1\n> BSTOP 1")
    talk.act("<< RESUME 0\n=\n<< BT 1 601\n<< BDONE 1 2 length 3.0\n> BGEN 1 5 4,5,6")
    assert not talk.sidecar.holds


@pytest.mark.parametrize("last", ["BSTOP 3", "GEN 5 1,2,3", "STOP"])
def test_nothing_of_slotds_comes_behind_a_last_line_without_its_end(last: str) -> None:
    talk = parking()
    talk.model.slots[3].decode_unknown()
    talk.act(">> BGEN 2 5 1,2,3\n" + f"> BGEN 1 2 {LONG},500")
    talk.put(">>", last.encode())
    assert talk.sidecar.client_eof(talk.now).to_engine == []
    talk.act(f"<< RESUME {HELD}\n<< T 600\n> BGEN 0 5 1,2,3")
    talk.act(f"<< DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}\n<< BADM 1 1\n> BSTOP 1")
    talk.act("<< RESUME 0\n=\n<< BT 1 601")
    assert talk.put("<<", b"BDONE 1 2 length 3.0\n").to_engine == [last.encode()]
    assert not talk.sidecar.holds


def test_an_admission_without_its_lines_end_leaves_when_slotd_has_nothing_more_to_say() -> None:
    talk = parking()
    talk.put(">>", b"BGEN 2 5 1,2,3")
    (own,) = talk.sidecar.client_eof(talk.now).to_engine
    assert own.startswith(b"BGEN 1 2 100,")
    talk.act(f"<< RESUME {HELD}\n<< T 600")
    talk.act(f"<< DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}\n<< BADM 1 1\n> BSTOP 1")
    assert talk.sidecar.holds
    talk.act("<< BT 1 601")
    assert talk.put("<<", b"BDONE 1 2 length 3.0\n").to_engine == [b"BGEN 0 5 1,2,3"]
    assert not talk.sidecar.holds


def test_a_frame_that_waits_and_gets_no_request_is_passed_on_at_last() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY)
    assert talk.both(">>", b"GENG1 2\nab\n") == []
    assert talk.sidecar.client_eof(talk.now).to_engine == []
    talk.act(THE_COPY + "<< BDONE 0 2 length 3.0\n   > GEN 5 1,2,3")
    got = talk.both("<<", b"RESUME 0\nT 7\nDONE 1 3 1.0 1.0 stop 0 0 0\n")
    assert [line for line in got if line.startswith(">")] == ["> GENG1 2", "> ab"]


def test_a_frame_that_waits_for_a_request_the_client_will_not_write_is_passed_on() -> None:
    talk = parking()
    assert talk.both(">>", b"GENG1 2\nab\n") == []
    assert talk.sidecar.client_eof(talk.now).to_engine == [b"GENG1 2\nab\n"]


def test_so_it_is_where_nothing_runs_any_more_when_the_park_ends() -> None:
    """A frame might then be kept for the request behind it, which another park might precede."""
    talk = parking(policy=PolicySettings(park_min_value=0))
    talk.act(f">> BGEN 3 5 1,2,3\n> BGEN 1 2 {LONG},500")
    assert talk.both(">>", b"GENG1 2\nab\n") == []
    assert talk.sidecar.client_eof(talk.now).to_engine == []
    talk.act(f"<< RESUME {HELD}\n<< T 600\n> BGEN 0 5 1,2,3")
    talk.act(f"<< DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}\n<< BADM 1 1\n> BSTOP 1")
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    talk.act("<< BADM 0 0\n< BADM 3 0\n<< BT 1 601")
    assert talk.both("<<", b"BDONE 1 2 length 3.0\n") == ["> GENG1 2", "> ab"]
    assert not talk.sidecar.holds
