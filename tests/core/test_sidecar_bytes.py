"""Bytes in, bytes out: nothing lost, nothing depends on how it was cut."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.core.events import Event
from slotd.core.sidecar import Sidecar, SidecarSettings
from tests.core.transcript import ACTIVE_ROWS, spelled

SIDES = st.sampled_from([">>", "<<"])
KNOWN_WORDS = """
    GEN GENI BGEN BGENI STOP BSTOP BYIELD VRAM SAVE RESTORE GENG1 CHECKG QUIT
    INFO READY RESUME CACHE_SOURCE PARKED BCHECKS PP T DONE BADM BT BDONE YIELDED ERR SERR SESSION
    batch_slots=4 slot_cache=1 batch_groups=2 slot_park=1 park=1 slot=0 cvec=0 ckpt=0 =
    stop length cancel error -1 0 1 2 3 9 1,2,3 1,2 3,4,5 1.5 x 99999999999999999999
"""
WORDS = st.sampled_from([*KNOWN_WORDS.split(), "\r", "\x00", "\xff", ""])
LINES = st.lists(WORDS, max_size=7).map(lambda words: " ".join(words).encode("latin-1") + b"\n")
BYTES = st.one_of(LINES, LINES, LINES, st.binary(max_size=40))
STREAM = st.lists(st.tuples(SIDES, BYTES), max_size=60)
OFF = SidecarSettings(policy_name="off")


def play(sidecar: Sidecar, stream: list[tuple[str, bytes]]) -> tuple[bytes, bytes, list[Event]]:
    """Play what both sides write; return what both got, and the events."""
    to_engine, to_client = b"", b""
    events: list[Event] = []
    for now, (side, data) in enumerate(stream):
        if side == ">>":
            output = sidecar.from_client(data, float(now))
        else:
            output = sidecar.from_engine(data, float(now))
        to_engine += b"".join(output.to_engine)
        to_client += b"".join(output.to_client)
        events += output.events
    for output in (sidecar.client_eof(1e3), sidecar.engine_eof(1e3)):
        to_engine += b"".join(output.to_engine)
        to_client += b"".join(output.to_client)
        events += output.events
    return to_engine, to_client, events


@settings(deadline=None)
@given(STREAM)
def test_with_the_policy_off_both_directions_are_the_same_bytes(
    stream: list[tuple[str, bytes]],
) -> None:
    to_engine, to_client, events = play(Sidecar(OFF), stream)
    assert to_engine == b"".join(data for side, data in stream if side == ">>")
    assert to_client == b"".join(data for side, data in stream if side == "<<")
    assert all(event.level != "error" for event in events)


@settings(deadline=None)
@given(STREAM)
def test_no_garbage_makes_the_core_fail(stream: list[tuple[str, bytes]]) -> None:
    begin = [("<<", f"INFO batch_slots=4 batch_groups=2 {ACTIVE_ROWS}\nREADY 4096 stop\n".encode())]
    sidecar = Sidecar(SidecarSettings())
    failed: list[str] = []
    for now, (side, data) in enumerate(begin + stream):
        feed = sidecar.from_client if side == ">>" else sidecar.from_engine
        output = feed(data, float(now))
        failed += [str(event.fields) for event in output.events if event.level == "error"]
        slots = sidecar.model.slots
        numbers = [sidecar.model.numbering.engine_slot(number) for number in range(len(slots))]
        assert sorted(numbers) == list(range(len(slots)))
    assert failed == []


@settings(deadline=None)
@given(STREAM)
def test_garbage_keeps_its_number_of_lines(stream: list[tuple[str, bytes]]) -> None:
    to_engine, to_client, _ = play(Sidecar(SidecarSettings()), stream)
    for side, got in ((">>", to_engine), ("<<", to_client)):
        wrote = b"".join(data for wrote_by, data in stream if wrote_by == side)
        assert got.count(b"\n") == wrote.count(b"\n")


RECORDED = spelled(
    f"""
<< INFO batch_slots=4 {ACTIVE_ROWS} engine=0.2.7
<< READY 270000 stop
>> GEN 9 seed=1 [100..9000]
<< CACHE_SOURCE -1 0
<< RESUME 0
<< PP 8900 8901 100.0 89000
<< T 5
<< T 6
<< DONE 2 8901 100.0 1.0 length 0 0 0
>> VRAM
<< VRAM free=1
>> BGEN 3 9 seed=1 [1..50]
<< PARKED 1 8902
<< BCHECKS 1 8902 4000 8000
<< CACHE_SOURCE -1 0
<< RESUME 0
>> BYIELD 3
<< PP 20 50 1.0 20000
<< YIELDED 0 20
<< DONE 0 50 1.0 0.0 cancel 0 0 0
<< BADM 0 0
>> BGEN 1 9 [100..9000],5,77
<< CACHE_SOURCE 1 8902
<< RESUME 8902
<< T 7
<< DONE 1 8903 1.0 1.0 length 0 0 8902
<< BADM 1 1
<< BT 1 8
>> BGEN 3 9 seed=1 [1..50]
<< CACHE_SOURCE 0 20
<< RESUME 20
<< BT 1 9
<< PP 49 50 1.0 20000
<< T 5
<< DONE 1 50 1.0 0.0 length 0 0 20
<< BADM 0 1
<< BT 0 5
<< BT 1 10
<< BDONE 1 4 stop 9.0
>> BSTOP 3
>> BSTOP 1
<< BT 0 6
<< BDONE 0 3 cancel 9.0
"""
)


def recorded() -> list[tuple[str, bytes]]:
    lines = [line for line in RECORDED.splitlines() if line]
    return [(line[:2], line[3:].encode() + b"\n") for line in lines]


def test_the_recorded_conversation_is_one_the_engine_could_have() -> None:
    _, _, told = play(Sidecar(SidecarSettings()), recorded())
    events = [event.name for event in told]
    assert "drift" not in events
    assert "error" not in events
    assert {"parked", "yielded", "admitted", "slot_done", "solo_done", "checks"} <= set(events)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_chunking_of_a_conversation_gives_the_same_bytes(data: st.DataObject) -> None:
    whole = play(Sidecar(SidecarSettings()), recorded())
    pieces: list[tuple[str, bytes]] = []
    for side, line in recorded():
        cuts = data.draw(st.lists(st.integers(0, len(line)), max_size=3).map(sorted))
        bounds = [0, *cuts, len(line)]
        pieces += [(side, line[a:b]) for a, b in pairwise(bounds)]
    to_engine, to_client, _ = play(Sidecar(SidecarSettings()), pieces)
    assert (to_engine, to_client) == whole[:2]


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_so_does_cutting_it_into_equal_pieces(size: int) -> None:
    whole = play(Sidecar(SidecarSettings()), recorded())
    pieces = [
        (side, line[at : at + size])
        for side, line in recorded()
        for at in range(0, len(line), size)
    ]
    to_engine, to_client, _ = play(Sidecar(SidecarSettings()), pieces)
    assert (to_engine, to_client) == whole[:2]


def test_consecutive_lines_of_one_side_may_come_at_once() -> None:
    whole = play(Sidecar(SidecarSettings()), recorded())
    joined: list[tuple[str, bytes]] = []
    for side, line in recorded():
        if joined and joined[-1][0] == side:
            joined[-1] = (side, joined[-1][1] + line)
        else:
            joined.append((side, line))
    to_engine, to_client, _ = play(Sidecar(SidecarSettings()), joined)
    assert (to_engine, to_client) == whole[:2]


def test_what_the_end_cuts_off_is_passed_on() -> None:
    sidecar = Sidecar(SidecarSettings())
    assert sidecar.from_client(b"GEN 5 1,2", 0.0).to_engine == []
    assert sidecar.client_eof(1.0).to_engine == [b"GEN 5 1,2"]
    assert sidecar.from_engine(b"ERR out of", 2.0).to_client == []
    assert sidecar.engine_eof(3.0).to_client == [b"ERR out of"]
