"""One line of a log as a person sees it."""

import pytest
from rich.text import Text

from slotd.logs.person import line_of, line_of_garbage, printable, slot_colour

PLACE = {
    "ts": "2026-01-31T12:00:00.250Z",
    "level": "info",
    "event": "place",
    "request": 7,
    "slot": 3,
    "client_slot": 0,
    "reason": "least_loss",
    "source": None,
    "hint": 37352,
    "score": 0.52083,
    "park": {"slot": 2, "reason": "older"},
    "table": {"slots": [1, 2, 3]},
}


def test_it_says_when_what_which_slot_and_the_rest_without_the_table() -> None:
    assert line_of(PLACE).plain == (
        "12:00:00.250 place        slot 3   request=7 client_slot=0 reason=least_loss source=- "
        "hint=37352 score=0.5208 park=2:older"
    )


def _style_of(line: Text, part: str) -> set[str]:
    start = line.plain.index(part)
    return {str(span.style) for span in line.spans if span.start <= start < span.end}


def test_every_slot_has_a_colour_and_neighbours_differ() -> None:
    assert _style_of(line_of(PLACE), "slot 3") == {slot_colour(3)}
    assert _style_of(line_of({**PLACE, "slot": 2}), "slot 2") == {slot_colour(2)}
    assert len({slot_colour(slot) for slot in range(12)}) == 12


@pytest.mark.parametrize(
    ("level", "style"),
    [("error", "bold red"), ("warning", "bold yellow"), ("info", "bold"), ("debug", "dim")],
)
def test_the_level_is_seen(level: str, style: str) -> None:
    assert _style_of(line_of({**PLACE, "level": level}), "place") == {style}


@pytest.mark.parametrize("slot", [None, "2", -5, 10**30, [1]])
def test_any_slot_is_one_line(slot: object) -> None:
    assert "\n" not in line_of({**PLACE, "slot": slot}).plain


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "no"),
        (1234567.25, "1234567"),
        (0.00001, "1e-05"),
        ("one word", '"one word"'),
        ("", '""'),
        ([1, 2], "[1, 2]"),
        ("x" * 500, "x" * 199 + "…"),
        ("\x1b[31mred\n", "\\x1b[31mred\\n"),
    ],
)
def test_values_are_short_and_safe(value: object, shown: str) -> None:
    assert line_of({"event": "e", "v": value}).plain.endswith(f" v={shown}")


def test_nothing_a_terminal_acts_on_gets_through() -> None:
    hostile = "\x1b]0;title\x07\r\b\u202e\u2028\x9b2J\ud800"
    assert printable(hostile).isprintable()
    record = {"ts": hostile, "event": hostile, "level": hostile, "slot": hostile, hostile: hostile}
    assert line_of(record).plain.isprintable()
    assert line_of_garbage(hostile.encode("utf-8", "surrogatepass")).plain.isprintable()


def test_garbage_is_dimmed() -> None:
    line = line_of_garbage(b"loading \xff model\r\n")
    assert line.plain == "loading \ufffd model"
    assert line.style == "dim"
