"""The two numberings of the slots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.core.numbering import Numbering


def test_it_begins_as_the_identity() -> None:
    numbering = Numbering(4)
    assert numbering.identity
    assert [numbering.engine_slot(number) for number in range(4)] == [0, 1, 2, 3]


def test_choosing_swaps_the_slots_of_two_numbers() -> None:
    numbering = Numbering(4)
    numbering.choose(0, 2)
    assert [numbering.engine_slot(number) for number in range(4)] == [2, 1, 0, 3]
    assert not numbering.identity
    numbering.choose(3, 2)
    assert [numbering.engine_slot(number) for number in range(4)] == [3, 1, 0, 2]


def test_choosing_back_makes_it_the_identity_again() -> None:
    numbering = Numbering(3)
    numbering.choose(0, 2)
    numbering.choose(0, 0)
    assert numbering.identity


def test_numbers_out_of_range_are_left_alone() -> None:
    numbering = Numbering(2)
    numbering.choose(0, 1)
    for number in (-1, 2, 99):
        assert numbering.engine_slot(number) == number
        assert numbering.client_slot(number) == number


@pytest.mark.parametrize(("client_slot", "engine_slot"), [(-1, 0), (0, -1), (2, 0), (0, 2)])
def test_a_number_that_is_no_slot_cannot_be_chosen_and_changes_nothing(
    client_slot: int, engine_slot: int
) -> None:
    numbering = Numbering(2)
    with pytest.raises(IndexError):
        numbering.choose(client_slot, engine_slot)
    assert numbering.identity
    assert [numbering.client_slot(number) for number in range(2)] == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_it_stays_a_permutation(choices: list[tuple[int, int]]) -> None:
    numbering = Numbering(6)
    for client_slot, engine_slot in choices:
        numbering.choose(client_slot, engine_slot)
        assert numbering.engine_slot(client_slot) == engine_slot
        slots = [numbering.engine_slot(number) for number in range(6)]
        assert sorted(slots) == list(range(6))
        assert [numbering.client_slot(slot) for slot in slots] == list(range(6))
        assert numbering.identity == (slots == list(range(6)))
