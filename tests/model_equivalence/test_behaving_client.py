"""A client that behaves: the model knows all that can be known, and nothing drifts."""

from hypothesis.stateful import run_state_machine_as_test

from tests.model_equivalence.at_random import RandomPlay
from tests.model_equivalence.behaving import BehavingClient, ParkingClient
from tests.model_equivalence.budget import of_seed, rounds, seeds


def test_model_and_client_after_any_acts() -> None:
    for settings in rounds(examples=140, steps=40):
        run_state_machine_as_test(BehavingClient, settings=settings)


def test_model_and_client_after_many_random_acts() -> None:
    for seed in seeds(140):
        with of_seed(seed):
            RandomPlay(seed).run(60)


def test_model_lines_and_client_with_a_park_by_slotds_own_request_at_any_moment() -> None:
    for settings in rounds(examples=60, steps=20):
        run_state_machine_as_test(ParkingClient, settings=settings)


def test_model_and_client_with_parks_by_requests_of_slotds_own() -> None:
    for seed in seeds(60):
        with of_seed(seed):
            RandomPlay(seed, own_parks=True).run(60)
