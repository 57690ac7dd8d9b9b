"""A growing token history."""

from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import TokenIds, parse_ids
from slotd.core.history import History
from tests.core.transcript import ids


def test_a_new_history_is_empty() -> None:
    assert len(History()) == 0
    assert History().tokens().tolist() == []


def test_a_history_begins_with_the_array_it_was_given_and_does_not_copy_it() -> None:
    prompt = ids("1,2,3")
    assert np.shares_memory(History(prompt).tokens(), prompt)


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(0, 99), st.none(), st.lists(st.integers(0, 9)))))
def test_appending_extending_and_reading_in_any_order(steps: list[int | list[int] | None]) -> None:
    history, expected = History(ids("1,2")), [1, 2]
    read: list[tuple[TokenIds, list[int]]] = []
    for step in steps:
        if step is None:
            read.append((history.tokens(), expected.copy()))
        elif isinstance(step, list):
            history.extend(array("i", step))
            expected += step
        else:
            history.append(step)
            expected.append(step)
        assert len(history) == len(expected)
    assert history.tokens().tolist() == expected
    assert all(tokens.tolist() == then for tokens, then in read)


def test_what_was_read_stays_as_it_was_when_the_history_grows_on() -> None:
    history = History(ids("1,2"))
    history.append(3)
    before = history.tokens()
    start = history.first(2)
    for token in range(10_000):
        history.append(token)
    start.append(7)
    assert before.tolist() == [1, 2, 3]
    assert start.tokens().tolist() == [1, 2, 7]
    assert history.tokens()[:5].tolist() == [1, 2, 3, 0, 1]


def test_nobody_can_write_to_what_was_read() -> None:
    history = History(ids("1,2"))
    history.append(3)
    with pytest.raises(ValueError, match="read-only"):
        history.tokens()[0] = 5


def test_the_request_keeps_its_prompt_when_a_history_made_of_it_grows() -> None:
    prompt = parse_ids(b"1,2,3")
    assert prompt is not None
    history = History(prompt)
    history.append(4)
    assert history.tokens().tolist() == [1, 2, 3, 4]
    assert prompt.tolist() == [1, 2, 3]
