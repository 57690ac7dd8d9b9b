import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.policy.settings import PolicySettings
from slotd.policy.values import (
    PROTECTION_POINTS,
    base,
    overwrite_score,
    retention,
    ttl,
    value,
)

DEFAULT = PolicySettings()

lengths = st.integers(1, 400_000)
ages = st.floats(0, 10_000)


@pytest.mark.parametrize(("tokens", "seconds"), PROTECTION_POINTS)
def test_ttl_runs_through_its_points(tokens: int, seconds: float) -> None:
    assert ttl(tokens, DEFAULT) == seconds
    assert ttl(tokens, PolicySettings(ttl_max_s=60)) == pytest.approx(seconds / 2)


@pytest.mark.parametrize(
    ("tokens", "seconds"),
    [(0, 0.1), (499, 0.1), (300_000, 120), (5_000, 6), (20_000, 27.5), (75_000, 77.5)],
)
def test_ttl_is_linear_between_its_points_and_constant_outside(tokens: int, seconds: float) -> None:
    assert ttl(tokens, DEFAULT) == seconds


def test_published_protections() -> None:
    assert ttl(9_000, DEFAULT) == pytest.approx(11.5, abs=0.05)
    assert ttl(7_900, DEFAULT) == pytest.approx(9.9, abs=0.05)


def test_published_retentions() -> None:
    assert retention(50_000, 0, DEFAULT) == pytest.approx(0.92, abs=0.005)
    assert retention(500, 0, DEFAULT) == pytest.approx(0.002, abs=0.0005)


def test_published_values() -> None:
    assert value(42_100, ttl(42_100, DEFAULT), DEFAULT) == pytest.approx(0.202, abs=0.0005)
    assert value(2_500, ttl(2_500, DEFAULT), DEFAULT) == pytest.approx(0.0095, abs=0.00005)
    assert value(50_000, 20 * 60, DEFAULT) == pytest.approx(0.13, abs=0.005)
    assert value(50_000, 25 * 60, DEFAULT) == pytest.approx(0.07, abs=0.005)


@given(lengths, ages)
def test_retention_is_zero_from_the_end_of_the_protection(tokens: int, age: float) -> None:
    assert (retention(tokens, age, DEFAULT) > 0) == (age < ttl(tokens, DEFAULT))


@given(lengths)
def test_retention_falls_from_the_base_to_a_quarter_of_it(tokens: int) -> None:
    assert retention(tokens, 0, DEFAULT) == pytest.approx(base(tokens))
    nearly = ttl(tokens, DEFAULT) * (1 - 1e-9)
    assert retention(tokens, nearly, DEFAULT) == pytest.approx(base(tokens) / 4, rel=1e-6)


@given(lengths, ages, ages)
def test_value_never_rises_with_age(tokens: int, one: float, other: float) -> None:
    young, old = sorted((one, other))
    assert value(tokens, young, DEFAULT) >= value(tokens, old, DEFAULT)


@given(lengths, lengths, ages)
def test_value_never_falls_with_length(one: int, other: int, age: float) -> None:
    short, long = sorted((one, other))
    assert value(short, age, DEFAULT) <= value(long, age, DEFAULT) + 1e-12


@given(lengths)
def test_value_is_zero_at_the_zero_age_for_every_length(tokens: int) -> None:
    assert value(tokens, 1_800, DEFAULT) == 0
    assert value(tokens, 1_799, DEFAULT) > 0


def test_value_does_not_decay_when_the_zero_age_is_0() -> None:
    settings = PolicySettings(idle_value_zero_s=0)
    assert value(50_000, 1e9, settings) == base(50_000) / 4
    assert value(50_000, 65, settings) == base(50_000) / 4


def test_value_is_zero_at_expiry_when_the_zero_age_lies_within_the_protection() -> None:
    for zero in (30, 65):
        settings = PolicySettings(idle_value_zero_s=zero)
        assert value(50_000, 64.9, settings) > 0
        assert value(50_000, 65, settings) == 0


def test_nothing_is_protected_without_protection() -> None:
    settings = PolicySettings(ttl_max_s=0)
    assert ttl(50_000, settings) == 0
    assert retention(50_000, 0, settings) == 0
    assert value(50_000, 0, settings) == base(50_000) / 4


def test_overwrite_score_is_1_without_retention_and_lower_with_it() -> None:
    assert overwrite_score(50_000, 65, DEFAULT) == 1
    assert overwrite_score(50_000, 0, DEFAULT) == pytest.approx(1 / 1.9246, abs=1e-4)


def test_no_tokens_are_worth_nothing() -> None:
    assert base(0) == retention(0, 0, DEFAULT) == value(0, 0, DEFAULT) == 0
