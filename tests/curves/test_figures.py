import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.explain.curves import (
    AGES,
    DRAWN_LENGTHS,
    LENGTHS,
    LONGEST,
    OLDEST,
    SHORTEST,
    YOUNGEST,
    falls_below,
    figures,
    spaced,
    table,
)
from slotd.policy import values
from slotd.policy.settings import PolicySettings

DEFAULT = PolicySettings()


def test_the_published_figures_are_in_the_table() -> None:
    lines = {line.tokens: line for line in table(DEFAULT)}
    fifty = dict(zip(AGES, lines[50_000].values, strict=True))
    assert fifty[0.0] == pytest.approx(0.92, abs=0.005)
    assert fifty[1_200.0] == pytest.approx(0.13, abs=0.005)
    assert fifty[1_500.0] == pytest.approx(0.07, abs=0.005)
    assert lines[500].values[0] == pytest.approx(0.002, abs=0.0005)
    assert (lines[8_000].ttl, lines[262_144].ttl) == (10.0, 120.0)


def test_a_line_for_every_length_and_a_value_for_every_age() -> None:
    settings = PolicySettings(ttl_max_s=240.0)
    for tokens, line in zip(LENGTHS, table(settings), strict=True):
        assert line.tokens == tokens
        assert line.ttl == values.ttl(tokens, settings)
        assert line.values == tuple(values.value(tokens, age, settings) for age in AGES)


def test_nothing_goes_first_while_it_is_protected() -> None:
    lines = {line.tokens: line for line in table(DEFAULT)}
    assert lines[2_000].given_up_after == 2.0
    assert lines[2_000].not_parked_after == pytest.approx(1.7, abs=0.05)
    assert lines[500].not_parked_after == 0


def test_thresholds_of_0_are_never_fallen_below() -> None:
    off = PolicySettings(expired_keep_score=0, park_min_value=0)
    assert all(line.given_up_after is None for line in table(off))
    assert all(line.not_parked_after is None for line in table(off))


def test_without_decay_a_history_may_be_kept_for_ever() -> None:
    lines = {line.tokens: line for line in table(PolicySettings(idle_value_zero_s=0))}
    assert lines[50_000].given_up_after is None
    assert lines[2_000].given_up_after == 2.0


@given(
    st.integers(1, 400_000),
    st.floats(1e-4, 3.0),
    st.builds(
        PolicySettings,
        ttl_max_s=st.sampled_from([0.0, 1.0, 120.0, 5_000.0]),
        idle_value_zero_s=st.sampled_from([0.0, 10.0, 1_800.0]),
    ),
)
def test_a_history_falls_below_a_threshold_once_and_then(
    tokens: int, threshold: float, settings: PolicySettings
) -> None:
    since = falls_below(tokens, threshold, settings)
    later = 1e9 if since is None else since * 1.001 + 1
    if since is None:
        assert values.value(tokens, later, settings) >= threshold
        return
    assert values.value(tokens, since, settings) < threshold
    assert values.value(tokens, later, settings) < threshold
    if since > 1e-3:
        assert values.value(tokens, since - 1e-3, settings) >= threshold


def test_the_protection_curve_passes_through_its_points() -> None:
    drawn = dict(zip(figures(DEFAULT).protection.x, figures(DEFAULT).protection.y, strict=True))
    for tokens, seconds in values.PROTECTION_POINTS:
        assert drawn[tokens] == seconds
    assert (min(drawn), max(drawn)) == (SHORTEST, LONGEST)


def test_a_value_curve_changes_where_the_protection_ends() -> None:
    for curve in figures(DEFAULT).values:
        assert curve.ttl == values.ttl(curve.tokens, DEFAULT)
        assert curve.expired.x[-1] == OLDEST
        if curve.protected.x:
            assert curve.protected.x[0] == YOUNGEST
            assert curve.protected.x[-1] == curve.expired.x[0] == curve.ttl
            assert curve.protected.y[-1] == curve.expired.y[0]
        for age, value in zip(curve.expired.x, curve.expired.y, strict=True):
            assert value == values.value(curve.tokens, age, DEFAULT)
    assert [curve.tokens for curve in figures(DEFAULT).values] == list(DRAWN_LENGTHS)


def test_numbers_are_spaced_by_their_ratio() -> None:
    numbers = spaced(1.0, 3_600.0)
    assert (numbers[0], numbers[-1]) == (1.0, 3_600.0)
    assert numbers[10] / numbers[9] == pytest.approx(numbers[40] / numbers[39])
