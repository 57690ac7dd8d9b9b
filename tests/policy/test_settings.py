from math import inf, nan

import pytest
from attrs import fields

from slotd.policy.settings import (
    DEFAULTS,
    ENVIRONMENT_NAMES,
    PolicySettings,
    SettingError,
    check_number,
    parse_number,
)


def test_defaults_are_the_published_ones() -> None:
    assert dict(DEFAULTS) == {
        "ttl_max_s": 120,
        "expired_keep_score": 0.01,
        "idle_value_zero_s": 1800,
        "park_value_ratio": 2,
        "park_min_value": 0.01,
        "park_kept_share": 0.98,
        "sibling_share": 0.98,
    }


def test_every_setting_has_its_environment_name() -> None:
    names = [setting.name for setting in fields(PolicySettings)]
    assert list(ENVIRONMENT_NAMES) == names
    assert [f"STRATA_SLOT_{name.upper()}" for name in names] == list(ENVIRONMENT_NAMES.values())


@pytest.mark.parametrize("setting", list(ENVIRONMENT_NAMES))
@pytest.mark.parametrize("text", ["-0.001", "nan", "inf", "-inf", "", "two", "1,5", "1e999"])
def test_what_is_no_finite_number_of_0_or_more_is_refused(setting: str, text: str) -> None:
    variable = ENVIRONMENT_NAMES[setting]
    with pytest.raises(SettingError) as refused:
        parse_number(variable, text)
    message = str(refused.value)
    assert message.startswith(f"{variable} is {text!r}: give ")
    assert "\n" not in message


@pytest.mark.parametrize("name", ["sibling_share", "STRATA_SLOT_PARK_KEPT_SHARE"])
def test_a_share_above_1_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"^{name} is '1.01': give a share from 0 to 1 "):
        parse_number(name, "1.01")


def test_the_refusal_names_the_default() -> None:
    with pytest.raises(SettingError) as refused:
        parse_number("STRATA_SLOT_TTL_MAX_S", "-3")
    assert str(refused.value) == (
        "STRATA_SLOT_TTL_MAX_S is '-3': give a finite number, 0 or more (default 120)"
    )


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [("ttl_max_s", "0", 0.0), ("ttl_max_s", "1e3", 1000.0), ("sibling_share", " 1 ", 1.0)],
)
def test_numbers_in_range_are_read(name: str, text: str, number: float) -> None:
    assert parse_number(name, text) == number


@pytest.mark.parametrize("number", [-1.0, nan, inf])
def test_settings_cannot_be_made_with_a_refused_number(number: float) -> None:
    with pytest.raises(SettingError, match=r"^park_min_value is "):
        PolicySettings(park_min_value=number)


def test_check_number_returns_what_is_allowed() -> None:
    assert check_number("park_value_ratio", 7.5) == 7.5
