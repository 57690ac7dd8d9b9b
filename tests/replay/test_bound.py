from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.replay.bound import Interval, intervals, most_saved, most_shared
from slotd.replay.drive import Row, Run
from slotd.workload.prompt import TURN, text
from slotd.workload.traffic import RequestSpec, Traffic

some_intervals = st.lists(
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
@given(some_intervals, st.integers(1, 3))
def test_the_bound_is_what_trying_everything_finds(found: list[Interval], states: int) -> None:
    assert most_saved(found, states) == by_trying(found, states)


def day(*requests: RequestSpec) -> tuple[Traffic, Run]:
    """Requests that take 5 s each, and wait for none of it."""
    rows = [
        Row(number, one.arrival, len(one.prompt), 0, 0, 0.0, len(one.reply), "stop", "GEN", end)
        for number, one in enumerate(requests)
        for end in (one.arrival + 5,)
    ]
    return Traffic("day", requests), Run("any", rows)


def request(arrival: float, conversation: int, *prompt_and_reply: int) -> RequestSpec:
    *prompt, reply = prompt_and_reply
    told = TURN
    for stream in prompt:
        told = told + text(stream, 100)
    return RequestSpec(arrival, conversation, 1, None, told + TURN, text(reply, 20))


def continued(before: RequestSpec, arrival: float, reply: int) -> RequestSpec:
    prompt = before.prompt + before.reply + text(reply + 1000, 50) + TURN
    return RequestSpec(arrival, before.conversation, 2, None, prompt, text(reply, 20))


def test_a_history_is_needed_from_its_end_or_its_last_use_on() -> None:
    first = request(0.0, 1, 10, 11)
    traffic, run = day(first, continued(first, 30.0, 20), continued(first, 70.0, 30))
    held = len(first.prompt) + 19
    assert sorted(intervals(traffic, run), key=lambda one: one.end) == [
        Interval(5.0, 30.0, held),
        Interval(30.0, 70.0, held),
    ]
    assert most_saved(intervals(traffic, run), 1) == 2 * held


def test_a_rewritten_end_is_granted_the_periodic_checkpoint() -> None:
    long = text(7, 40_000)
    one = RequestSpec(0.0, 1, 1, None, long + text(8, 30), text(9, 20))
    other = RequestSpec(60.0, 1, 2, None, long + text(10, 30), text(11, 20))
    traffic, run = day(one, other)
    assert [found.tokens for found in intervals(traffic, run)] == [32_768]


def test_with_room_for_everything_what_conversations_share_counts_too() -> None:
    one, other = request(0.0, 1, 10, 11), request(60.0, 2, 10, 12, 13)
    traffic, run = day(one, other)
    assert intervals(traffic, run) == []
    assert most_shared(traffic, run) == 101
