import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.tokens import TokenIds
from slotd.sim.options import END_TOKEN, VOCABULARY
from slotd.sim.token_model import HashModel, ScriptedModel, roll
from tests.sim.reference import reference_module


def prompt_of(tokens: int, seed: int = 0) -> TokenIds:
    return np.random.default_rng(seed).integers(0, VOCABULARY, tokens, dtype=np.int32)


@pytest.mark.parametrize("end_every", [0, 1, 40])
@pytest.mark.parametrize("tokens", [1, 2, 4095, 4096, 4097, 4098, 20_000])
def test_replies_are_those_of_the_reference_engine(tokens: int, end_every: int) -> None:
    prompt = prompt_of(tokens, seed=tokens)
    expected = reference_module().expected_tokens(prompt.tolist(), 60, end_every)
    assert HashModel(end_every).reply(prompt, 60) == expected


@given(st.lists(st.integers(0, 9000), max_size=6), st.sampled_from([0, 248_319]))
def test_rolling_in_pieces_is_rolling_at_once(cuts: list[int], token: int) -> None:
    prompt = np.full(9000, token, dtype=np.int32)
    state = 0
    for piece in np.split(prompt, sorted(cuts)):
        state = roll(state, piece)
    assert state == roll(0, prompt)


def test_largest_ids_do_not_overflow() -> None:
    prompt = np.full(4096, VOCABULARY - 1, dtype=np.int32)
    state = 0
    for token in prompt.tolist():
        state = reference_module().roll(state, token)
    assert roll(0, prompt) == state


def test_states_are_values() -> None:
    state = HashModel().blank().read(prompt_of(100))
    after, token = state.next(7)
    assert state.next(7)[1] == token
    assert after.next(7)[1] != token


def test_script_starts_anew_with_every_prompt_and_ends_in_end_tokens() -> None:
    model = ScriptedModel(lambda prompt: [len(prompt), 5])
    state = model.blank().read(prompt_of(10)).begin(prompt_of(3))
    state, first = state.next(1)
    state, second = state.next(first)
    state, third = state.next(second)
    assert (first, second, third, state.next(third)[1]) == (3, 5, END_TOKEN, END_TOKEN)
    assert state.read(prompt_of(4)).begin(prompt_of(8)).next(1)[1] == 8
