import numpy as np
import pytest

from protocol.tokens import EMPTY, TokenIds
from slotd.sim.serve_slots import GroupsAlone, LongestStart, ServeSlot, ServeSlots


def ids(*tokens: int) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def test_the_slot_whose_tokens_start_the_prompt_is_chosen_the_longest_first() -> None:
    slots = [
        ServeSlot(0),
        ServeSlot(1, tokens=ids(1)),
        ServeSlot(2, tokens=ids(1, 2)),
        ServeSlot(3, tokens=ids(1, 2, 3, 4)),
        ServeSlot(4, busy=True, tokens=ids(1, 2, 3)),
    ]
    assert LongestStart().choose(ids(1, 2, 3, 5), slots, 5) == 2


def test_a_slot_that_holds_the_whole_prompt_does_not_start_it() -> None:
    slots = [ServeSlot(0, tokens=ids(1, 2)), ServeSlot(1)]
    assert LongestStart().choose(ids(1, 2), slots, 2) == 1


def test_otherwise_an_empty_slot_is_chosen() -> None:
    slots = [ServeSlot(0, tokens=ids(9), last_use=1), ServeSlot(1), ServeSlot(2)]
    assert LongestStart().choose(ids(1), slots, 3) == 1


def test_otherwise_the_least_recently_used_slot_is_chosen() -> None:
    slots = [
        ServeSlot(0, tokens=ids(9), last_use=3),
        ServeSlot(1, tokens=ids(8), last_use=2),
        ServeSlot(2, tokens=ids(7), last_use=1, busy=True),
    ]
    assert LongestStart().choose(ids(1), slots, 3) == 1


@pytest.mark.parametrize(
    ("busy", "chosen"),
    [((), 0), ((0,), 2), ((0, 2), 4), ((0, 2, 4), 1), ((1, 2, 4), 0), ((0, 3, 4), 1)],
)
def test_groups_alone_takes_the_least_loaded_group_and_fills_its_holes(
    busy: tuple[int, ...], chosen: int
) -> None:
    slots = [ServeSlot(slot, busy=slot in busy, tokens=ids(1)) for slot in range(6)]
    assert GroupsAlone().choose(ids(1, 2), slots, 2) == chosen


@pytest.mark.parametrize("strategy", [LongestStart(), GroupsAlone()])
def test_no_free_slot_no_choice(strategy: LongestStart | GroupsAlone) -> None:
    assert strategy.choose(ids(1), [ServeSlot(0, busy=True)], 1) is None


def test_the_table_reserves_releases_and_remembers() -> None:
    table = ServeSlots(2, 1, LongestStart())
    assert table.reserve(ids(1)) == 0
    assert table.reserve(ids(1)) == 1
    assert table.reserve(ids(1)) is None
    table.hold(0, ids(4, 5), now=2.0)
    table.release(0)
    table.release(1)
    assert table.free == 2
    assert table.reserve(ids(4, 5, 6)) == 0
    table.hold(0, EMPTY, now=3.0)
    table.release(0)
    assert table.rows[0].last_use == 3.0
