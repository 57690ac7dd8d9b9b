import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.workload.prompt import NOTHING, TURN, TURN_TOKEN, Prompt, text

runs = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=8
)


@given(runs, runs)
def test_joining_prompts_joins_their_tokens(
    first: list[tuple[int, int, int]], more: list[tuple[int, int, int]]
) -> None:
    one, other = Prompt(first), Prompt(more)
    whole = (one + other).tokens()
    assert np.array_equal(whole, np.concatenate([one.tokens(), other.tokens()]))
    assert len(one + other) == len(whole)


@given(runs, st.integers(0, 50), st.integers(0, 50))
def test_a_part_holds_the_tokens_at_its_place(
    rows: list[tuple[int, int, int]], start: int, end: int
) -> None:
    prompt = Prompt(rows)
    assert np.array_equal(
        prompt.part(start, end).tokens(), prompt.tokens()[start : max(start, end)]
    )


@given(runs, runs, runs)
def test_what_two_prompts_share_is_what_their_tokens_share(
    begin: list[tuple[int, int, int]],
    one: list[tuple[int, int, int]],
    other: list[tuple[int, int, int]],
) -> None:
    a, b = Prompt(begin) + Prompt(one), Prompt(begin) + Prompt(other)
    mine, theirs = a.tokens(), b.tokens()
    least = min(len(mine), len(theirs))
    differs = np.flatnonzero(mine[:least] != theirs[:least])
    assert a.shared(b) == (int(differs[0]) if len(differs) else least)


def test_turn_tokens_are_the_engines_and_texts_never_hold_one() -> None:
    prompt = TURN + text(5, 1000) + TURN + text(6, 10)
    assert prompt.last_turn() == 1001
    assert np.flatnonzero(prompt.tokens() == TURN_TOKEN).tolist() == [0, 1001]
    assert prompt.tokens(turn_token=7)[0] == 7


def test_an_empty_prompt_has_no_tokens_and_no_turn() -> None:
    assert len(NOTHING) == 0
    assert len(NOTHING.tokens()) == 0
    assert NOTHING.last_turn() is None
    assert (NOTHING + text(1, 3)) == text(1, 3)


@pytest.mark.parametrize(("stream", "count"), [(0, 1), (1 << 41, 5), (17, 300)])
def test_a_text_is_the_same_every_time(stream: int, count: int) -> None:
    assert np.array_equal(text(stream, count).tokens(), text(stream, count).tokens())
    assert not np.array_equal(text(stream, 300).tokens(), text(stream + 1, 300).tokens())
