import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.policy.adaptive.loss import return_chance
from slotd.policy.adaptive.returns import AGES, FADE_AT, PRIOR_BASE, ReturnModel, kind_of
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
    model = learned(80)
    often, seldom = (return_chance(model.hazards(kind), 1.0) for kind in (OFTEN, SELDOM))
    assert often > 0.9
    assert seldom < 0.15


def test_nothing_seen_gives_the_prior() -> None:
    model = ReturnModel()
    early = model.hazards(kind_of(1, 0, None, 9000))
    assert early == pytest.approx([0.7 * 1.3 * 0.8 * rate for rate in PRIOR_BASE])
    chances = [
        return_chance(model.hazards(kind_of(turn, 0, 50.0, 9000)), 0.0) for turn in (2, 3, 8)
    ]
    assert 0.2 < chances[0] < chances[1] < chances[2] < 0.95


def test_a_handful_of_returns_moves_the_prior_a_little_and_a_day_of_them_outvotes_it() -> None:
    before = return_chance(ReturnModel().hazards(SELDOM), 0.0)
    few, many = ReturnModel(), ReturnModel()
    for model, times in ((few, 3), (many, 600)):
        for _ in range(times):
            model.watched(SELDOM, 0.0, 20.0, 1.0)
        model.fit()
    after_few, after_many = (return_chance(one.hazards(SELDOM), 0.0) for one in (few, many))
    assert before < after_few < before + 0.25
    assert after_many > 0.95


@settings(deadline=None)  # it fits a model each time, on a machine that may be busy
@given(st.floats(0, 5000), st.integers(0, 60))
def test_a_chance_is_one_and_falls_to_nothing_with_age(age: float, returns: int) -> None:
    hazards = learned(returns).hazards(OFTEN)
    found = return_chance(hazards, age)
    assert 0 <= found <= return_chance(hazards, age / 2) <= 1
    assert (found == 0) == (age >= AGES[-1])


def test_a_constant_hazard_gives_the_chance_of_a_memoryless_return() -> None:
    hazards = np.full(len(AGES) - 1, 0.001)
    assert return_chance(hazards, 840.0) == pytest.approx(1 - math.exp(-0.001 * 3000))


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
        dump(learned()).replace('"seen":40', '"seen":true'),
        dump(ReturnModel()).replace('"cells":[', '"cells":[' + "[" * 100_000),
        dump(learned()).replace('"cells":[[', '"cells":[[9,'),
        dump(learned()).replace('"cells":[[', '"cells":[["x",'),
        dump(learned()).replace('"cells":', '"cells":' + "[" * 100_000),
    ],
)
def test_a_model_that_cannot_be_is_not_loaded(text: str) -> None:
    assert load(text) is None
