"""The numbers the policy is set by, and what is refused as one.

Here: the seven settings of the placement policy, their defaults, the environment names they are
known by, and the check each value must pass. Not here: where a value comes from (files, the
environment, the command line are the configuration's business) and what the numbers do.
"""

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any

from attrs import Attribute, asdict, field, frozen

ENVIRONMENT_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ttl_max_s": "STRATA_SLOT_TTL_MAX_S",
        "expired_keep_score": "STRATA_SLOT_EXPIRED_KEEP_SCORE",
        "idle_value_zero_s": "STRATA_SLOT_IDLE_VALUE_ZERO_S",
        "park_value_ratio": "STRATA_SLOT_PARK_VALUE_RATIO",
        "park_min_value": "STRATA_SLOT_PARK_MIN_VALUE",
        "park_kept_share": "STRATA_SLOT_PARK_KEPT_SHARE",
        "sibling_share": "STRATA_SLOT_SIBLING_SHARE",
    }
)
"""The environment variable of every field of `PolicySettings`, in the fields' order."""

_SHARES = frozenset({"park_kept_share", "sibling_share"})
_FIELD_OF_ENVIRONMENT_NAME = {variable: name for name, variable in ENVIRONMENT_NAMES.items()}


class SettingError(ValueError):
    """A setting's value, or its name, is refused; the message is one line for a person."""


def check_number(name: str, number: float, shown: str | None = None) -> float:
    """Return `number` when the setting `name` may have it.

    `name` is a field of `PolicySettings` or its environment name; `shown` is how the value was
    written, for the message. Every setting is a finite number of 0 or more, a share 0 to 1.

    Raises SettingError with one line naming the setting, the value and what is allowed.
    """
    setting = _FIELD_OF_ENVIRONMENT_NAME.get(name, name)
    highest = 1.0 if setting in _SHARES else None
    if isfinite(number) and number >= 0 and (highest is None or number <= highest):
        return number
    raise SettingError(_refusal(name, setting, repr(number) if shown is None else shown))


def parse_number(name: str, text: str) -> float:
    """Read the value of the setting `name` (a field or its environment name) from `text`.

    Raises SettingError as `check_number` does, and for text that is no number.
    """
    try:
        number = float(text)
    except ValueError:
        setting = _FIELD_OF_ENVIRONMENT_NAME.get(name, name)
        raise SettingError(_refusal(name, setting, repr(text))) from None
    return check_number(name, number, shown=repr(text))


def _refusal(name: str, setting: str, shown: str) -> str:
    allowed = "a share from 0 to 1" if setting in _SHARES else "a finite number, 0 or more"
    default = DEFAULTS.get(setting)
    hint = "" if default is None else f" (default {default:g})"
    return f"{name} is {shown}: give {allowed}{hint}"


def _checked(_settings: "PolicySettings", attribute: "Attribute[float]", number: float) -> None:
    check_number(attribute.name, number)


def _as_float(number: float) -> float:
    # attrs looks at a converter's signature, and takes over a millisecond each time for a type's.
    return float(number)


def _setting(default: float) -> Any:
    # Any: what attrs reads as a field is, to the type checker, the default of a float.
    return field(default=default, converter=_as_float, validator=_checked)


@frozen
class PolicySettings:
    """What an operator may choose about the policy; POLICY.md, Numbers.

    Raises SettingError on a value that is not a finite number of 0 or more (shares: 0 to 1).
    """

    ttl_max_s: float = _setting(120.0)
    """Seconds of protection at 262,144 tokens; the whole curve scales with it. 0 protects none."""
    expired_keep_score: float = _setting(0.01)
    """An expired history worth at least this is given up last."""
    idle_value_zero_s: float = _setting(1800.0)
    """Seconds since the last use at which a history is worth nothing; 0 turns the decay off."""
    park_value_ratio: float = _setting(2.0)
    """How many times more the main session's history must be worth than the expired history worth
    keeping that a park overwrites; 0 means a park never overwrites one."""
    park_min_value: float = _setting(0.01)
    """A main session's history worth less than this is not parked."""
    park_kept_share: float = _setting(0.98)
    """A slot that holds this share of the main session's history already keeps it."""
    sibling_share: float = _setting(0.98)
    """A history sharing this share of its own length with the prompt, and not its start, is an
    older version of the same conversation; 0 turns the rule off."""


DEFAULTS: Mapping[str, float] = MappingProxyType(asdict(PolicySettings()))
"""The default of every setting, by field name."""
