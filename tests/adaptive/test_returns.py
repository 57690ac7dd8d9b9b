import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.policy.adaptive.loss import prospect
from slotd.policy.adaptive.returns import AGES, FADE_AT, ReturnModel, kind_of
from slotd.policy.adaptive.state import dump, load

OFTEN, SELDOM = kind_of(5, 30, 30.0, 9000), kind_of(1, 0, None, 9000)


def learned(returns: int = 40) -> ReturnModel:
    model = ReturnModel()
    for _ in range(returns):
        model.watched(OFTEN, 0.0, 20.0, 1.0)
        model.watched(SELDOM, 0.0, AGES[-1])
    model.fit()
    return model


def test_those_that_came_back_are_expected_back() -> None:
    model = learned()
    often, seldom = (prospect(model.hazards(kind), 1.0) for kind in (OFTEN, SELDOM))
    assert often.rate > 10 * seldom.rate
    assert often.chance > 0.8
    assert seldom.chance < 0.2


def test_nothing_seen_gives_the_prior_which_falls_with_age() -> None:
    hazards = ReturnModel().hazards(SELDOM)
    assert (np.diff(hazards) < 0).all()
    assert 0 < prospect(hazards, 0.0).chance < 1


@given(st.floats(0, 5000), st.integers(0, 60))
def test_a_prospect_is_a_chance_and_a_rate(age: float, returns: int) -> None:
    found = prospect(learned(returns).hazards(OFTEN), age)
    assert 0 <= found.chance <= 1
    assert found.rate >= 0
    assert math.isfinite(found.rate)
    assert (found.chance == 0) == (age >= AGES[-1])


def test_a_constant_hazard_is_its_own_rate() -> None:
    found = prospect(np.full(len(AGES) - 1, 0.01), 0.0)
    assert found.rate == pytest.approx(0.01)


def test_old_counts_fade() -> None:
    model = ReturnModel()
    for _ in range(int(FADE_AT) + 1):
        model.watched(OFTEN, 0.0, 10.0, 1.0)
    assert model.returns.sum() < FADE_AT
    assert model.seen == FADE_AT + 1


def test_what_is_watched_is_spread_over_the_ages() -> None:
    model = ReturnModel()
    model.watched(OFTEN, 2.0, 10.0, 1.0)
    seconds = model.seconds[OFTEN.index]
    assert seconds[:3].tolist() == [2.0, 4.0, 2.0]
    assert seconds.sum() == 8.0
    assert np.flatnonzero(model.returns[OFTEN.index]).tolist() == [2]


def test_the_same_observations_give_the_same_model() -> None:
    assert np.array_equal(learned().hazards(OFTEN), learned().hazards(OFTEN))


def test_a_model_outlives_a_restart() -> None:
    model = learned()
    again = load(dump(model))
    assert again is not None
    assert again.seen == model.seen
    assert np.allclose(again.hazards(OFTEN), model.hazards(OFTEN), rtol=1e-3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        dump(ReturnModel()).replace('"slotd_adaptive":1', '"slotd_adaptive":2'),
        dump(ReturnModel()).replace("3840.0", "99.0"),
        dump(learned()).replace('"seen":40', '"seen":-1'),
        dump(learned()).replace('"cells":[[', '"cells":[[9,'),
        dump(learned()).replace('"cells":[[', '"cells":[["x",'),
    ],
)
def test_a_model_that_cannot_be_is_not_loaded(text: str) -> None:
    assert load(text) is None
