from hypothesis import given
from hypothesis import strategies as st

from protocol.tokens import common_prefix
from slotd.policy.runs import Runs

# Few ids and short runs, so that lists often begin alike and are cut at different places.
run_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8)
id_lists = st.lists(st.tuples(st.integers(0, 1), st.just(1)), min_size=120, max_size=200)


def test_runs_are_their_ids_in_order() -> None:
    runs = Runs([(5, 3), (1, 0), (9, 1)])
    assert runs.ids().tolist() == [5, 6, 7, 9]
    assert len(runs) == 4
    assert Runs([]).ids().tolist() == []


@given(run_lists, run_lists)
def test_common_prefix_is_that_of_the_ids(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    a, b = Runs(one), Runs(other)
    assert a.common_prefix(b) == common_prefix(a.ids(), b.ids()) == b.common_prefix(a)


@given(id_lists, st.integers(0, 119))
def test_common_prefix_of_many_single_ids(ids: list[tuple[int, int]], at: int) -> None:
    changed = [*ids[:at], (2, 1), *ids[at + 1 :]]
    assert Runs(ids).common_prefix(Runs(changed)) == at
    assert Runs(ids).common_prefix(Runs(ids[:at])) == at


@given(run_lists, st.integers(0, 7))
def test_last_index_is_the_last_position_of_the_token(
    runs: list[tuple[int, int]], token: int
) -> None:
    ids = Runs(runs).ids().tolist()
    expected = max((at for at, each in enumerate(ids) if each == token), default=None)
    assert Runs(runs).last_index(token) == expected


def test_a_long_run_is_not_written_out_to_be_compared() -> None:
    # As many ids as these would not fit in memory.
    one, other = Runs([(0, 2**31), (7, 1)]), Runs([(0, 2**31), (8, 1)])
    assert one.common_prefix(other) == 2**31
    assert one.last_index(2**31 - 1) == 2**31 - 1
