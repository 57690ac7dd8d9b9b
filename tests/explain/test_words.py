import pytest
from attrs import evolve

from slotd.explain import words
from slotd.policy.table import EngineShape
from tests.policy.builders import row, table


def test_tokens_have_their_unit() -> None:
    assert [words.tokens(number) for number in (0, 1, 37_352)] == [
        "0 tokens",
        "1 token",
        "37,352 tokens",
    ]


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0.0 s"),
        (0.0001, "1 ms"),
        (0.05, "50 ms"),
        (0.1, "0.1 s"),
        (599.9, "599.9 s"),
        (1_800.0, "30.0 min"),
        (7_200.0, "2.0 h"),
    ],
)
def test_times(number: float, written: str) -> None:
    assert words.seconds(number) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.0, "0"), (0.9246, "0.925"), (0.00948, "0.00948"), (3.1409, "3.141")],
)
def test_values_have_three_digits_that_count(number: float, written: str) -> None:
    assert words.value(number) == written


def test_two_values_are_told_apart() -> None:
    assert words.two_values(0.1, 0.2) == ("0.100", "0.200")
    assert words.two_values(0.009999, 0.01) == ("0.009999", "0.01")
    assert words.two_values(1.9999999, 2.0) == ("1.9999999", "2")
    assert words.two_values(0.5, 0.5) == ("0.500", "0.500")
    assert words.two_values(0.1 + 0.2, 0.3) == ("0.30000000000000004", "0.3")


def test_a_share_is_never_rounded_up_to_the_one_it_falls_short_of() -> None:
    assert words.share(12_394, 12_647) == "97.9%"
    assert words.share(98, 100) == "98.0%"
    assert words.share(9_999, 10_000) == "99.9%"
    assert words.share(7, 7) == "100%"
    assert words.share(0, 7) == "0%"
    assert words.share(0, 0) == "0%"


def test_slots_in_a_row() -> None:
    assert words.slots([]) == "no slot"
    assert words.slots([2]) == "slot 2"
    assert words.slots([0, 3, 4]) == "slots 0, 3 and 4"


def test_what_the_policy_makes_of_a_history() -> None:
    of = table(
        row(0),
        row(1, 9_000, age=1.0),
        row(2, 9_000, age=60.0),
        row(3, 900, age=60.0),
        row(4, 9_000, superseded=True),
        row(5, 9_000, valid=False),
    )
    assert [words.standing(of, each) for each in of.slots] == [
        "blank (empty)",
        "protected",
        "expired, worth keeping",
        "expired",
        "blank (superseded)",
        "blank (may be lost)",
    ]
    assert words.standing(of, row(0, 900, images=True)) == "blank (pictures)"
    without = evolve(of, engine=EngineShape(batch_slots=6))
    assert words.standing(without, row(0, 900)) == "blank (no slot_cache)"
