import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import replace_field
from protocol.fields import count, decimal, integer, split_verb, token_id, word
from tests.protocol.strategies import streams, untimed


@pytest.mark.parametrize(
    ("raw", "index", "line"),
    [
        (b"BT 3 17\n", 1, b"BT 12 17\n"),
        (b"BT 3 17\r\n", 2, b"BT 3 12\r\n"),
        (b"BT  3\t 17  \n", 1, b"BT  12\t 17  \n"),
        (b"BT 3 17", 2, b"BT 3 12"),
        (b" BT 3\n", 0, b" 12 3\n"),
        (b"\xff \x00 x\n", 1, b"\xff 12 x\n"),
    ],
)
def test_replace_field(raw: bytes, index: int, line: bytes) -> None:
    assert replace_field(raw, index, b"12") == line


@untimed
@given(streams, st.integers(0, 6))
def test_replace_field_keeps_every_other_byte(raw: bytes, index: int) -> None:
    pieces = re.split(rb"(\S+)", raw)  # whitespace at even places, fields at odd ones
    if 2 * index + 1 >= len(pieces):
        with pytest.raises(IndexError, match=f"no field {index}"):
            replace_field(raw, index, b"new")
    else:
        pieces[2 * index + 1] = b"new"
        assert replace_field(raw, index, b"new") == b"".join(pieces)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"0", 0),
        (b"-0", 0),
        (b"-12", -12),
        (b"007", 7),
        (b"9" * 18, 10**18 - 1),
        (b"9" * 19, None),
        (b"1" * 400, None),
        (b"", None),
        (b"-", None),
        (b"+1", None),
        (b"1_000", None),
        (b" 1", None),
        (b"1\n", None),
        (b"1.0", None),
        (b"\xb2", None),
        ("٣".encode(), None),
    ],
)
def test_integer(text: bytes, number: int | None) -> None:
    assert integer(text) == number
    assert count(text) == (None if b"-" in text else number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"0", 0),
        (b"2147483647", 2147483647),
        (b"2147483648", None),
        (b"-1", None),
        (b"1" * 400, None),
    ],
)
def test_token_id(text: bytes, number: int | None) -> None:
    assert token_id(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"12", 12.0),
        (b"12.5", 12.5),
        (b"-0.1", -0.1),
        (b"3.", 3.0),
        (b"1e3", 1000.0),
        (b"1e999", None),
        (b"nan", None),
        (b"inf", None),
        (b"1_0.5", None),
        (b".5", None),
        (b"1" * 400, None),
        (b"", None),
    ],
)
def test_decimal(text: bytes, number: float | None) -> None:
    assert decimal(text) == number


@pytest.mark.parametrize(
    ("raw", "verb", "rest"),
    [
        (b"GEN 5 1,2\n", b"GEN", b"5 1,2"),
        (b"GEN  5 1,2\r\n", b"GEN", b" 5 1,2"),
        (b"STOP\r\n", b"STOP", b""),
        (b"STOP\r\r\n", b"STOP\r", b""),
        (b"STOP", b"STOP", b""),
        (b" STOP\n", b"", b"STOP"),
        (b"BT\t1 2\n", b"BT\t1", b"2"),
        (b"\n", b"", b""),
    ],
)
def test_split_verb(raw: bytes, verb: bytes, rest: bytes) -> None:
    assert split_verb(raw) == (verb, rest)


def test_words_are_text_for_people() -> None:
    assert word(b"stop") == "stop"
    assert word(b"caf\xc3\xa9\xff") == "café\ufffd"
