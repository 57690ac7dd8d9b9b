"""One park from the client's line to the end, and what each side sees of it."""

from itertools import cycle

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from slotd.core.detour import MOST_BYTES, MOST_LINES
from slotd.policy.settings import PolicySettings
from tests.emulated_park.transcript import (
    AN_ADMISSION_LEAVES,
    BEFORE_THE_COPY,
    EMULATED,
    HELD,
    LONG,
    THE_COPY,
    ParkTranscript,
    parking,
)


def test_a_solo_request_waits_for_the_copy_and_sees_nothing_of_it() -> None:
    talk = parking()
    talk.act(
        f"""
        >> GEN 5 1,2,3
           > BGEN 0 2 {LONG},500
        << RESUME {HELD}
        << T 600
        << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
        @ 12.5
        << BADM 0 1
           > BSTOP 0
        << BT 0 601
        << BDONE 0 2 length 3.0
           > GEN 5 1,2,3
        << RESUME 0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 stop 0 0 0
           =
        """
    )
    slot = talk.slot(0)
    assert talk.holds(0).endswith(",9000,500,600")
    assert (slot.idle, slot.last_use) == (True, 10.0)
    (place,), (park,), (parked,) = talk.told("place"), talk.told("park"), talk.told("parked")
    assert place["park"] == {"slot": 0, "reason": "reclaim"}
    assert (park["how"], park["slot"], park["request"]) == ("emulated", 0, 2)
    assert parked == {
        "request": 2,
        "slot": 0,
        "tokens": HELD + 1,
        "ms": 500.0,
        "how": "emulated",
        "read_again": 0,
    }
    assert [event.name for event in talk.events] == ["place", "park", "parked", "solo_done"]
    assert talk.told("solo_done")[0]["request"] == 2


def test_an_admission_goes_on_as_soon_as_nothing_can_be_stopped_any_more() -> None:
    talk = parking()
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        {AN_ADMISSION_LEAVES}
        << RESUME 0
           =
        << BT 1 601
        << BDONE 1 2 length 3.0
        << PP 2 3 1.0 1.0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 length 0 0 0
           =
        << BADM 0 1
           < BADM 3 1
        << BT 0 8
           < BT 3 8
        """
    )
    assert talk.drifts() == []
    assert [event.name for event in talk.events] == ["place", "park", "parked", "admitted"]


def test_other_slots_are_heard_and_stopped_without_delay() -> None:
    talk = parking()
    talk.model.slots[3].decode_unknown()
    talk.act(
        BEFORE_THE_COPY
        + """
    << BT 3 9
       =
    >> BSTOP 3
       =
    << BDONE 3 4 cancel 1.0
       =
    """
        + THE_COPY
    )


def test_they_are_while_the_copy_decodes_in_its_slot() -> None:
    talk = parking()
    talk.model.slots[3].decode_unknown()
    talk.act(BEFORE_THE_COPY + THE_COPY)
    talk.act("<< BT 3 9\n=\n<< BCHECKS 3 7 2\n=\n>> BSTOP 3\n=\n<< BDONE 3 4 cancel 1.0\n=")


def test_a_stop_reaches_the_clients_own_request_once_it_has_begun() -> None:
    talk = parking()
    talk.act(
        BEFORE_THE_COPY
        + """
    >> STOP
    """
        + THE_COPY
        + """
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    << RESUME 0
       > STOP
       < RESUME 0
    << DONE 0 3 1.0 0.0 cancel 0 0 0
       =
    """
    )


def test_a_stop_between_the_requests_leaving_and_its_begin_waits_too() -> None:
    talk = parking()
    talk.act(
        BEFORE_THE_COPY
        + THE_COPY
        + """
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    >> STOP
    << RESUME 0
       > STOP
       < RESUME 0
    >> STOP
       =
    """
    )


def test_a_yield_waits_for_its_read() -> None:
    talk = parking()
    talk.act(
        BEFORE_THE_COPY
        + """
    >> BYIELD 2
    """
        + THE_COPY
        + """
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    << RESUME 0
       > BYIELD 1
       < RESUME 0
    << YIELDED 1 2
       < YIELDED 2 2
    << DONE 0 3 1.0 0.0 cancel 0 0 0
       =
    """
    )


def test_what_follows_waits_in_order_and_leaves_in_order() -> None:
    talk = parking()
    talk.act(
        BEFORE_THE_COPY
        + """
    >> STOP
    >> VRAM 512
    >> whatever
    """
        + THE_COPY
        + """
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    << RESUME 0
       > STOP
       > VRAM 512
       > whatever
       < RESUME 0
    """
    )


def test_a_stop_of_the_waiting_requests_own_slot_waits_for_it() -> None:
    talk = parking()
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        >> BSTOP 3
        >> BSTOP 2
           =
        {AN_ADMISSION_LEAVES}
        << RESUME 0
           > BSTOP 0
           < RESUME 0
        """
    )


def test_a_stop_of_a_waiting_requests_slot_waits_behind_that_too() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY + ">> BGEN 2 5 4,5,6\n>> BSTOP 2\n>> BSTOP 3\n   =")


def test_a_request_behind_it_waits_until_the_slot_is_free_again() -> None:
    """Client number 1 means the slot the conversation is being copied into."""
    talk = parking("batch_slots=2 slot_cache=1")
    talk.act(
        f"""
        >> BGEN 0 5 1,2,3
           > BGEN 1 2 {LONG},500
        {AN_ADMISSION_LEAVES}
        << RESUME 0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 length 0 0 0
           =
        << BADM 0 1
           =
        >> BGEN 1 5 4,5,6
        << BT 1 601
        << BDONE 1 2 length 3.0
           > BGEN 1 5 4,5,6
        """
    )


def test_a_frame_stays_with_its_request() -> None:
    talk = parking()
    frame = b"GENG1 5\nGEN 9\n"
    assert talk.both(">>", frame) == []
    assert talk.both(">>", b"GEN 5 1,2,3\n")[0].startswith("> BGEN 0 2 100,")
    talk.act(
        f"""
        << RESUME {HELD}
        """
        + THE_COPY
    )
    assert talk.both("<<", b"BDONE 0 2 length 3.0\n") == [
        "> GENG1 5",
        "> GEN 9",
        "> GEN 5 1,2,3",
    ]


def test_a_frame_does_not_wait_where_nothing_is_decided() -> None:
    off = evolve(EMULATED, policy_name="off")
    talk = ParkTranscript(settings=off)
    assert talk.both(">>", b"GENG1 2\nab\n") == ["> GENG1 2", "> ab"]


def test_a_frame_for_anything_else_comes_with_it() -> None:
    talk = parking()
    assert talk.both(">>", b"GENG1 2\nab\nCHECKG 1\n") == ["> GENG1 2", "> ab", "> CHECKG 1"]
    assert talk.both(">>", b"GENG1 2\nab\n") == ["> GENG1 2", "> ab"]


def test_too_many_lines_all_go_at_once_in_order() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY)
    for number in range(MOST_LINES):
        assert talk.both(">>", b"VRAM %d\n" % number) == []
    expected = ["> GEN 5 1,2,3", *(f"> VRAM {number}" for number in range(MOST_LINES + 1))]
    assert talk.both(">>", b"VRAM %d\n" % MOST_LINES) == expected
    talk.act(">> STOP\n   =\n" + THE_COPY + "<< BDONE 0 2 length 3.0\n<< RESUME 0\n   =")


def test_so_do_too_many_bytes() -> None:
    talk = parking()
    talk.act(BEFORE_THE_COPY)
    long = b"x" * MOST_BYTES + b"\n"
    output = talk.put(">>", long)
    assert b"".join(output.to_engine) == b"GEN 5 1,2,3\n" + long


def next_park(talk: ParkTranscript) -> None:
    """Let an admission end while slotd's own request still decodes, with another one behind it."""
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        >> GEN 5 7,8
        >> STOP
        {AN_ADMISSION_LEAVES}
        << RESUME 0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 stop 0 0 0
           =
        << BADM 0 0
           < BADM 3 0
        << BT 1 601
        """
    )


def test_what_waits_goes_on_waiting_where_the_request_behind_it_parks_too() -> None:
    talk = parking(policy=PolicySettings(park_min_value=0))
    next_park(talk)
    talk.act("<< BDONE 1 2 length 3.0\n> BGEN 0 2 1,2,3,7\n<< ERR no\n> GEN 5 7,8")
    talk.act("<< RESUME 0\n> STOP\n< RESUME 0")


def test_so_many_bytes_are_counted_on() -> None:
    talk = parking(policy=PolicySettings(park_min_value=0))
    next_park(talk)
    long = b"x" * (MOST_BYTES - 40) + b"\n"
    assert talk.put(">>", long).to_engine == []
    talk.act("<< BDONE 1 2 length 3.0\n> BGEN 0 2 1,2,3,7")
    more = b"y" * 60 + b"\n"
    sent = talk.put(">>", more).to_engine
    assert b"".join(sent) == b"GEN 5 7,8\nSTOP\n" + long + more


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_any_chunking_gives_the_same(sizes: list[int]) -> None:
    whole, pieces = parking(), parking()
    said = f"RESUME {HELD}\nT 600\nDONE 1 {HELD + 1} 1 1 length 0 0 {HELD}\nBADM 1 1\nRESUME 0\n"
    said += "BT 1 601\nBDONE 1 2 length 3\nT 7\nDONE 1 3 1 1 length\nBADM 0 1\nBT 0 8\n"
    written = b"BGEN 3 5 1,2,3\nSTOP\nBSTOP 2\nBYIELD 3\n"
    assert _through(pieces, written, said.encode(), sizes) == _through(
        whole, written, said.encode(), [10**6]
    )


def _through(
    talk: ParkTranscript, written: bytes, said: bytes, sizes: list[int]
) -> tuple[bytes, bytes]:
    to_engine, to_client = b"", b""
    for side, data in ((">>", written), ("<<", said)):
        for piece in _cut(data, sizes):
            output = talk.put(side, piece)
            to_engine += b"".join(output.to_engine)
            to_client += b"".join(output.to_client)
    return to_engine, to_client


def _cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at, lengths = [], 0, cycle(sizes)
    while at < len(data):
        end = at + next(lengths)
        pieces.append(data[at:end])
        at = end
    return pieces
