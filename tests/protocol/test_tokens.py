import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import (
    EMPTY,
    TokenIds,
    common_prefix,
    format_ids,
    is_proper_prefix,
    last_index,
    parse_ids,
)
from tests.protocol.strategies import untimed

INT32_MAX = 2**31 - 1
token_ids = st.integers(0, INT32_MAX) | st.integers(0, 248_319) | st.integers(0, 11)


def array(ids: list[int]) -> TokenIds:
    return np.array(ids, dtype=np.int32)


@untimed
@given(st.lists(token_ids, min_size=1, max_size=60))
def test_ids_are_read_as_they_are_written(ids: list[int]) -> None:
    text = format_ids(array(ids))
    assert text == ",".join(map(str, ids)).encode()
    parsed = parse_ids(text)
    assert parsed is not None
    assert parsed.dtype == np.int32
    assert parsed.tolist() == ids


@untimed
@given(
    st.lists(
        st.sampled_from([*"0123456789,,"]) | st.sampled_from([*"+-./: x\n\0\xff"]), max_size=24
    )
    .map("".join)
    .map(lambda text: text.encode("latin-1"))
)
@example(b"")
@example(b",")
@example(b"1,,2")
@example(b"1,2,")
@example(b",1")
@example(b"-1")
@example(b"1,-2")
@example(b"1.5")
@example(b"1/2")
@example(b"1,2 ")
@example(b" 1,2")
@example(b"1, 2")
@example(b"0x10")
@example(b"1e3")
@example(b"2147483647")
@example(b"2147483648")
@example(b"1,4294967297")
@example(b"1," + b"9" * 19)
@example(b"9" * 400 + b",1")
@example(b"18446744073709551617")
@example(b"0" * 400 + b"7,8")
def test_what_is_well_formed(text: bytes) -> None:
    ids = parse_ids(text)
    if re.fullmatch(rb"[0-9]+(,[0-9]+)*", text):
        expected = [int(item) for item in text.split(b",")]
        assert (None if max(expected) > INT32_MAX else expected) == (
            None if ids is None else ids.tolist()
        )
    else:
        assert ids is None


def test_a_long_prompt_there_and_back() -> None:
    ids = np.random.default_rng(7).integers(0, 248_320, 262_144, dtype=np.int32)
    parsed = parse_ids(format_ids(ids))
    assert parsed is not None
    assert np.array_equal(parsed, ids)


def test_parsed_ids_and_no_tokens_are_read_only() -> None:
    parsed = parse_ids(b"1,2")
    assert parsed is not None
    with pytest.raises(ValueError, match="read-only"):
        parsed[0] = 5
    assert not EMPTY.flags.writeable
    assert len(EMPTY) == 0
    assert EMPTY.dtype == np.int32


def test_writing_no_ids_and_negative_ids() -> None:
    assert format_ids(EMPTY) == b""
    with pytest.raises(ValueError, match="never negative"):
        format_ids(array([1, -1]))


def plain_common_prefix(a: list[int], b: list[int]) -> int:
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return shared


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    # Shared lengths on both sides of the block borders, and tails that may agree by chance.
    shared = list(range(draw(st.sampled_from([0, 1, 2, 255, 256, 257, 1279, 1280, 1281, 6000]))))
    tail = st.lists(st.integers(0, 2), max_size=5)
    return shared + draw(tail), shared + draw(tail)


@untimed
@given(histories())
def test_common_prefix_is_the_plain_loops(pair: tuple[list[int], list[int]]) -> None:
    a, b = pair
    shared = plain_common_prefix(a, b)
    assert common_prefix(array(a), array(b)) == shared
    assert common_prefix(array(b), array(a)) == shared
    assert is_proper_prefix(array(a), array(b)) == (shared == len(a) < len(b))


@pytest.mark.parametrize("at", [0, 100, 255, 256, 65_535, 90_000, 261_000, 262_143])
def test_common_prefix_of_long_histories(at: int) -> None:
    a = np.arange(262_144, dtype=np.int32)
    b = a.copy()
    b[at] = -1
    assert common_prefix(a, b) == at
    assert not is_proper_prefix(a, b)
    assert is_proper_prefix(a[:at], b) == (at < len(b))


def test_no_tokens_begin_anything_but_no_tokens() -> None:
    assert is_proper_prefix(EMPTY, array([1]))
    assert not is_proper_prefix(EMPTY, EMPTY)
    assert common_prefix(EMPTY, array([1])) == 0


def test_the_last_index_of_a_token_is_where_it_stands_last() -> None:
    ids = array([7, 1, 7, 2])
    assert last_index(ids, 7) == 2
    assert last_index(ids, 2) == 3
    assert last_index(ids, 9) is None
    assert last_index(EMPTY, 7) is None
