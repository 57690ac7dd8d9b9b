from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.replay.bound import Interval, most_saved

intervals = st.lists(
    st.builds(
        lambda start, length, tokens: Interval(float(start), float(start + length), tokens),
        st.integers(0, 12),
        st.integers(0, 6),
        st.integers(1, 50),
    ),
    max_size=8,
)


def by_trying(found: list[Interval], states: int) -> int:
    best = 0
    for size in range(len(found) + 1):
        for chosen in combinations(found, size):
            moments = {one.start for one in chosen}
            if all(
                sum(one.start <= moment < one.end for one in chosen) <= states for moment in moments
            ):
                best = max(best, sum(one.tokens for one in chosen))
    return best


@settings(max_examples=200)
@given(intervals, st.integers(1, 3))
def test_the_bound_is_what_trying_everything_finds(found: list[Interval], states: int) -> None:
    assert most_saved(found, states) == by_trying(found, states)
