"""A client that does not behave: the model claims nothing that is not there, and lines pass."""

from hypothesis.stateful import run_state_machine_as_test

from tests.model_equivalence.at_random import play_roughly
from tests.model_equivalence.budget import of_seed, rounds, seeds
from tests.model_equivalence.rough import RoughMachine


def test_model_and_lines_after_any_acts() -> None:
    for settings in rounds(examples=60, steps=30):
        run_state_machine_as_test(RoughMachine, settings=settings)


def test_model_and_lines_after_many_random_acts() -> None:
    for seed in seeds(60):
        with of_seed(seed):
            play_roughly(seed, 50)
