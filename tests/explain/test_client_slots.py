from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from slotd.core.numbering import Numbering
from slotd.explain.client_slots import ClientSlots


def test_nothing_is_known_at_first() -> None:
    assert ClientSlots().known() == {}


def test_an_engine_begins_with_equal_numberings_and_takes_them_along() -> None:
    numbers = ClientSlots()
    numbers.begin(2)
    assert numbers.known() == {0: 0, 1: 1}
    numbers.end()
    assert numbers.known() == {}


def test_a_pair_alone_says_nothing_of_the_others() -> None:
    numbers = ClientSlots()
    numbers.pair(client_slot=1, slot=3)
    assert numbers.known() == {3: 1}
    numbers.pair(client_slot=1, slot=2)
    assert numbers.known() == {2: 1}
    numbers.pair(client_slot=0, slot=2)
    assert numbers.known() == {2: 0}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_from_the_start_it_is_the_numbering(chosen: Sequence[tuple[int, int]]) -> None:
    real, told = Numbering(5), ClientSlots()
    told.begin(5)
    for client_slot, slot in chosen:
        real.choose(client_slot, slot)
        told.pair(client_slot, slot)
        assert told.known() == {engine: real.client_slot(engine) for engine in range(5)}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))), st.integers(0, 8))
def test_from_the_middle_it_knows_no_pair_that_is_wrong(
    chosen: Sequence[tuple[int, int]], begins: int
) -> None:
    real, told = Numbering(5), ClientSlots()
    for at, (client_slot, slot) in enumerate(chosen):
        real.choose(client_slot, slot)
        if at >= begins:
            told.pair(client_slot, slot)
        assert all(real.client_slot(engine) == number for engine, number in told.known().items())
