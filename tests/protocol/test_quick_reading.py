import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import HeldLine, LineReader, RunReader, TokenRun, raw_of
from protocol.token_run import MOST_BYTES, token_run
from tests.protocol.quick import check_ahead, check_last_field, check_runs
from tests.protocol.strategies import chunked, streams, untimed

LONG = b",".join(b"%d" % (token * 37) for token in range(4000))

requests = st.builds(
    lambda head, ids, tail: head + ids + tail,
    st.sampled_from(
        [
            b"GEN 5 ",
            b"GENI 5 cvec=0 a.bin ",
            b"BGEN 3  200 park=1 x=y ",
            b"BGENI 0 4 a ",
            b"BGEN 3 ",
            b"BGEN ",
            b"GENG1 5 ",
            b"gen 5 ",
        ]
    ),
    st.sampled_from(
        [
            LONG,
            LONG[:4096],
            LONG[:4097],
            b"1",
            b"",
            b"," + LONG,
            LONG + b",",
            LONG.replace(b",999,", b",,"),
            LONG.replace(b",999,", b",x,"),
            LONG.replace(b",999,", b", 9,"),
            LONG + b"," + b"9" * 40,
            b"9" * 5000,
            b"9" * 5000 + b"," + LONG,
            b"-" + LONG,
            b"4294967296," + LONG,
        ]
    ),
    st.sampled_from(
        [b"\n", b"\r\n", b" \n", b"   \r\n", b" 7\n", b" more fields\n", b" 7,8 ", b""]
    ),
)

token_lines = st.sampled_from(
    [
        b"BT 0 1\n",
        b"BT 7 999999999\n",
        b"BT 12 0\n",
        b"BT 999 5\n",
        b"BT 1000 5\n",
        b"BT 00 5\n",
        b"BT 1 05\n",
        b"BT 1 1000000000\n",
        b"BT  1 5\n",
        b"BT 1 5 \n",
        b"BT 1 5\r\n",
        b"BT 1 5 6\n",
        b"BT -1 5\n",
        b"BT 1\n",
        b"BT",
        b"BDONE 1 5 stop 1.0\n",
        b"\n",
    ]
)


@untimed
@given(chunked(st.lists(requests, max_size=3).map(b"".join)))
def test_a_prompt_read_ahead_says_what_its_line_says(chunks: list[bytes]) -> None:
    check_ahead(chunks)


@untimed
@given(chunked())
def test_any_bytes_can_be_read_ahead(chunks: list[bytes]) -> None:
    check_ahead(chunks)


@pytest.mark.parametrize("size", [5, 6, 7, 8, 64, 4096, 10000])
def test_a_prompt_in_pieces_is_held_with_its_ids(size: int) -> None:
    line = b"BGEN 3 200 cvec=1 " + LONG + b"\r\n"
    pieces = [line[at : at + size] for at in range(0, len(line), size)]
    (held,) = check_ahead(pieces)
    assert held.ids_at == line.index(b"0,37")
    assert len(held.ids) == 4000


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n", b"  \r\n"])
def test_its_end_may_come_in_pieces_of_its_own(end: bytes) -> None:
    """As where text and newline are written one after the other."""
    line = b"GEN 5 " + LONG
    for pieces in ([line, end], [line, *(end[at : at + 1] for at in range(len(end)))]):
        (held,) = check_ahead(pieces)
        assert (held.raw, held.ids_at) == (line + end, 6)


@untimed
@given(
    chunked(st.text("0123456789,, \t-", max_size=300).map(str.encode)),
    st.sampled_from([40, 64]),
)
def test_the_last_field_is_read_as_it_is_read_at_once(chunks: list[bytes], enough: int) -> None:
    check_last_field(chunks, enough)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GEN ", b"5\n"],
        [b"BGEN 3 ", b"5\n"],
        [b"BGEN ", b"3\n"],
        [b"GENI 5 ", b"12,34\n"],
        [b"BGENI 3 5 cvec=1 ", b"12", b",34\n"],
        [b"GENI 5 12,34 ", b"5,6\n"],
    ],
)
def test_a_field_that_is_no_prompt_is_not_taken_for_one(pieces: list[bytes]) -> None:
    check_ahead(pieces)


def test_another_field_after_blanks_in_pieces_of_their_own_is_not_joined_to_the_ids() -> None:
    (held,) = check_ahead([b"GEN 5 ", LONG, b" ", b" ", b"7", b"8,9", b"\n"])
    assert held.ids.tolist() == [78, 9]


QUARTER = 1 << 18


@pytest.mark.parametrize("filling", [b"7,", b"7", b",", b" ", b"7 ", b"7,8 ", b", ", b"12345678,"])
@pytest.mark.parametrize("size", [61, 65_536])
def test_a_line_of_any_filling_is_held_once_and_read_once(filling: bytes, size: int) -> None:
    """What is looked at and what is kept grow with the line, and with nothing else."""
    line = b"GEN 5 " + filling * (QUARTER // len(filling)) + b"1\n"
    pieces = [line[at : at + size] for at in range(0, len(line), size)]
    reader = LineReader(frames=True, ahead=True)
    tracemalloc.start()
    try:
        items = [item for piece in pieces for item in reader.feed(piece)]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [raw_of(item) for item in items] == [line]
    # The line held, joined, and four bytes for each two of it, in parts and joined.
    assert most < 7 * QUARTER


def test_a_line_in_one_piece_is_not_read_ahead() -> None:
    reader = LineReader(frames=True, ahead=True)
    assert reader.feed(b"BGEN 3 200 1,2\n") == [b"BGEN 3 200 1,2\n"]


def test_a_line_too_long_to_be_read_is_not_held() -> None:
    reader = LineReader(frames=True, max_line=10_000, ahead=True)
    items = [item for at in range(0, len(LONG), 1000) for item in reader.feed(LONG[at : at + 1000])]
    items += reader.feed(b"\nGEN 5 1,") + reader.feed(b"2\n")
    assert not any(isinstance(item, HeldLine) for item in items[:-1])
    assert isinstance(items[-1], HeldLine)


def test_of_a_line_too_long_to_be_read_no_ids_are_kept() -> None:
    reader = LineReader(frames=True, max_line=10_000, ahead=True)
    reader.feed(b"GEN 5 7")
    tracemalloc.start()
    try:
        for _ in range(1000):
            reader.feed(b",7" * 500)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 200_000  # the ids would be two million bytes


def test_its_printed_form_shows_no_prompt() -> None:
    (held,) = check_ahead([b"GEN 5 12345,", b"67890\n"])
    assert "12345" not in repr(held)
    assert "67890" not in repr(held)


@untimed
@given(chunked(st.lists(token_lines, max_size=20).map(b"".join)))
def test_tokens_in_runs_are_those_of_their_lines(chunks: list[bytes]) -> None:
    check_runs(chunks)


@untimed
@given(chunked(streams))
def test_any_bytes_can_be_read_in_runs(chunks: list[bytes]) -> None:
    check_runs(chunks)


def run_of(raw: bytes) -> TokenRun:
    run = token_run(raw)
    assert run is not None
    return run


def test_lines_that_come_together_are_a_run_and_the_beginning_of_another_waits() -> None:
    reader = RunReader()
    assert reader.feed(b"BT 0 5\nBT 1 6\nBT 0") == [run_of(b"BT 0 5\nBT 1 6\n")]
    assert reader.feed(b" 8\nBT 2 9\n") == [b"BT 0 8\n", run_of(b"BT 2 9\n")]


def test_what_comes_with_another_line_is_read_line_by_line() -> None:
    items = RunReader().feed(b"BT 0 5\nBDONE 1 2 stop 3.0\nBT 0 7\nBT 0")
    assert items == [b"BT 0 5\n", b"BDONE 1 2 stop 3.0\n", b"BT 0 7\n"]


@pytest.mark.parametrize(
    "line",
    [
        b"BT 1 07\n",
        b"BT 01 7\n",
        b"BT  1 7\n",
        b"BT 1 7 \n",
        b"BT 1 7\r\n",
        b"BT 1 +7\n",
        b"BT 1 7_0\n",
        b"BT -1 7\n",
        b"BT 1 -7\n",
        b"BT 1 2147483648\n",
        b"BT 1\n",
        b"BT 1 7 8\n",
        b"BT 1 x\n",
        b"BX 1 7\n",
        b"BT 1 " + b"9" * 5000 + b"\n",
        b"\n",
        b"BT\n",
    ],
)
def test_a_line_spelt_in_another_way_makes_no_run(line: bytes) -> None:
    for lines in (line, line + b"BT 0 5\n", b"BT 0 5\n" + line):
        assert token_run(lines) is None
        assert check_runs([lines]) == []


def test_the_largest_numbers_make_a_run() -> None:
    assert run_of(b"BT 123456789 2147483647\n").numbers == (123456789, 2147483647)


def test_the_rest_of_a_line_is_no_run() -> None:
    reader = RunReader()
    assert reader.feed(b"ERR ") == []
    assert reader.feed(b"BT 0 5\nBT 1 6\n") == [b"ERR BT 0 5\n", run_of(b"BT 1 6\n")]


def test_long_runs_come_in_several() -> None:
    runs = check_runs([b"BT 0 12\n" * 20_000])
    assert sum(len(run.lines()) for run in runs) == 20_000
    assert max(len(run.raw) for run in runs) <= MOST_BYTES


def test_a_run_is_written_with_other_slot_numbers() -> None:
    run = run_of(b"BT 0 5\nBT 12 6\nBT 0 7\n")
    assert run.renumbered(lambda slot: slot + 1) == b"BT 1 5\nBT 13 6\nBT 1 7\n"
