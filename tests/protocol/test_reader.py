import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import MAX_LINE, Fragment, Frame, LineReader, RawItem
from tests.protocol.strategies import SHORT_LIMIT, chunked, joined, streams, untimed


def read(chunks: list[bytes], frames: bool, max_line: int = MAX_LINE) -> list[RawItem]:
    reader = LineReader(frames, max_line)
    items = [item for chunk in chunks for item in reader.feed(chunk)]
    return items + reader.finish()


@untimed
@given(chunked(), st.booleans(), st.sampled_from([1, 2, SHORT_LIMIT, MAX_LINE]))
def test_bytes_come_out_as_they_went_in(chunks: list[bytes], frames: bool, limit: int) -> None:
    assert joined(read(chunks, frames, limit)) == b"".join(chunks)


@untimed
@given(chunked(), st.booleans(), st.sampled_from([1, 2, SHORT_LIMIT, MAX_LINE]))
def test_chunking_changes_no_item(chunks: list[bytes], frames: bool, limit: int) -> None:
    assert read(chunks, frames, limit) == read([b"".join(chunks)], frames, limit)


@untimed
@given(streams, st.booleans())
def test_one_byte_at_a_time_is_the_same(stream: bytes, frames: bool) -> None:
    single = [stream[at : at + 1] for at in range(len(stream))]
    assert read(single, frames) == read([stream], frames)


@untimed
@given(streams)
def test_the_engines_direction_has_lines_only(stream: bytes) -> None:
    lines = re.findall(rb"[^\n]*\n", stream)
    rest = stream[len(b"".join(lines)) :]
    assert read([stream], frames=False) == [*lines, *([Fragment(rest)] if rest else [])]


@untimed
@given(st.binary(min_size=1, max_size=60), st.binary(max_size=20))
def test_a_frames_body_is_never_read_as_lines(body: bytes, after: bytes) -> None:
    frame = b"GENG1 %d\n%s\n" % (len(body), body)
    assert read([frame + b"STOP\n" + after], frames=True)[:2] == [Frame(frame), b"STOP\n"]


@pytest.mark.parametrize(
    "header",
    [
        b"GENG1 4\n",
        b"GENG1 4\r\n",
        b"GENG1  4 \n",
        b"GENG2 4 0 1\n",
        b"GENG3 4 1 0 1 77\n",
    ],
)
def test_headers_of_frames(header: bytes) -> None:
    assert read([header + b"\nx\ny\nQUIT\n"], frames=True) == [
        Frame(header + b"\nx\ny\n"),
        b"QUIT\n",
    ]


@pytest.mark.parametrize(
    "header",
    [
        b"GENG1\n",
        b"GENG1 \n",
        b"GENG1 0\n",
        b"GENG1 -4\n",
        b"GENG1 8193\n",
        b"GENG1 4x\n",
        b"GENG1 " + b"9" * 400 + b"\n",
        b"GENG1 4 0\n",
        b"GENG1\t4\n",
        b" GENG1 4\n",
        b"geng1 4\n",
        b"GENG 4\n",
        b"GENG4 4\n",
        b"GENG2 4 0\n",
        b"GENG2 4 0 2\n",
        b"GENG2 4 0 1 1\n",
        b"GENG3 4 0 1 1\n",
        b"GENG3 4 0 1 1 x\n",
        b"GENG3 4 0 1 01 5\n",
    ],
)
def test_a_bad_header_is_an_ordinary_line(header: bytes) -> None:
    assert read([header + b"abc\nQUIT\n"], frames=True) == [header, b"abc\n", b"QUIT\n"]


def test_the_engine_prints_no_frames() -> None:
    assert read([b"GENG1 3\nabc\n"], frames=False) == [b"GENG1 3\n", b"abc\n"]


def test_the_longest_body() -> None:
    frame = b"GENG1 8192\n" + b"\n" * 8192 + b"\n"
    assert read([frame, b"STOP\n"], frames=True) == [Frame(frame), b"STOP\n"]


def test_a_frame_without_its_newline_ends_with_its_body() -> None:
    assert read([b"GENG1 3\nabcSTOP\nQUIT\n"], frames=True) == [
        Frame(b"GENG1 3\nabc"),
        b"STOP\n",
        b"QUIT\n",
    ]


@pytest.mark.parametrize("stream", [b"GENG1 3\n", b"GENG1 3\na\n", b"GENG1 3\nabc"])
def test_a_frame_cut_off_by_the_end_is_a_fragment(stream: bytes) -> None:
    assert read([stream], frames=True) == [Fragment(stream)]


def test_frames_follow_each_other() -> None:
    one, two = b"GENG1 2\n\n\n\n", b"GENG2 1 0 0\nG\n"
    assert read([one + two + one], frames=True) == [Frame(one), Frame(two), Frame(one)]


def test_an_unfinished_last_line_is_a_fragment() -> None:
    assert read([b"STOP\nQU", b"IT"], frames=True) == [b"STOP\n", Fragment(b"QUIT")]


def test_the_reader_begins_anew_after_the_end() -> None:
    reader = LineReader(frames=True)
    reader.feed(b"GENG1 50\nabc")
    assert reader.finish() == [Fragment(b"GENG1 50\nabc")]
    assert reader.feed(b"STOP\n") == [b"STOP\n"]
    assert reader.finish() == []


def test_only_a_newline_ends_a_line() -> None:
    line = b"a\rb\x0bc\x0c\x1c\x85\xe2\x80\xa8\x00d\r\n"
    assert read([line], frames=False) == [line]


def test_a_line_as_long_as_the_limit_is_a_line() -> None:
    assert read([b"abc\nabcd\n"], frames=True, max_line=4) == [
        b"abc\n",
        Fragment(b"abcd"),
        Fragment(b"\n"),
    ]


def test_an_over_long_line_comes_in_pieces_of_the_limit() -> None:
    stream = b"STOP\n" + b"x" * 11 + b"\nQUIT\n"
    assert read([stream], frames=True, max_line=5) == [
        b"STOP\n",
        Fragment(b"xxxxx"),
        Fragment(b"xxxxx"),
        Fragment(b"x\n"),
        b"QUIT\n",
    ]


def test_the_end_of_an_over_long_line_begins_no_frame() -> None:
    stream = b"xxxxxxxxxxGENG1 4\nSTOP\n"
    assert read([stream], frames=True, max_line=10) == [
        Fragment(b"xxxxxxxxxx"),
        Fragment(b"GENG1 4\n"),
        b"STOP\n",
    ]


def test_the_real_limit() -> None:
    chunk = b"7" * (1 << 20)
    reader = LineReader(frames=True)
    items = [item for _ in range(17) for item in reader.feed(chunk)]
    assert [type(item) for item in items] == [Fragment]
    assert len(joined(items)) == MAX_LINE
    assert reader.feed(b"\nSTOP\n") == [Fragment(chunk + b"\n"), b"STOP\n"]


def test_a_prompt_of_262144_tokens_in_pipe_sized_chunks() -> None:
    line = b"BGEN 3 200 " + b"248319," * 262_143 + b"1\n"
    chunks = [line[at : at + 65536] for at in range(0, len(line), 65536)]
    assert read(chunks, frames=True) == [line]


def test_many_lines_in_one_chunk() -> None:
    lines = [b"BT %d %d\n" % (n % 8, n) for n in range(100_000)]
    assert read([b"".join(lines)], frames=False) == lines


def test_a_bytearray_gives_bytes() -> None:
    items = LineReader(frames=False).feed(bytearray(b"BT 1 2\n"))
    assert [type(item) for item in items] == [bytes]
