"""What a history is worth: the protection, retention and value curves.

Here: the formulas of POLICY.md, Numbers, over a history's length in tokens and its age in seconds.
Not here: slots, and which histories count as blank (see `table`).
"""

from bisect import bisect_right

from slotd.policy.settings import PolicySettings

PROTECTION_POINTS: tuple[tuple[int, float], ...] = (
    (500, 0.1),
    (2_000, 2.0),
    (8_000, 10.0),
    (32_000, 45.0),
    (50_000, 65.0),
    (100_000, 90.0),
    (262_144, 120.0),
)
"""(tokens, seconds) the protection runs through when `ttl_max_s` is its default."""

_LENGTHS = tuple(tokens for tokens, _ in PROTECTION_POINTS)
_FULL_SCALE_S = PROTECTION_POINTS[-1][1]
_EXPIRED_SHARE = 0.25
"""The part of the base value that is left when the protection ends."""


def ttl(tokens: int, settings: PolicySettings) -> float:
    """Return the seconds a history of `tokens` tokens is protected after its last use.

    Linear between `PROTECTION_POINTS`, constant outside them, times ttl_max_s / 120.
    """
    after = bisect_right(_LENGTHS, tokens)
    if after == 0:
        seconds = PROTECTION_POINTS[0][1]
    elif after == len(PROTECTION_POINTS):
        seconds = _FULL_SCALE_S
    else:
        (shorter, low), (longer, high) = PROTECTION_POINTS[after - 1 : after + 1]
        seconds = low + (tokens - shorter) * (high - low) / (longer - shorter)
    return seconds * settings.ttl_max_s / _FULL_SCALE_S


def base(tokens: int) -> float:
    """Return what a history just used is worth: (n/50000)^0.7 * (n/(n+2000))^2."""
    if tokens <= 0:
        return 0.0
    return float((tokens / 50_000) ** 0.7 * (tokens / (tokens + 2_000)) ** 2)


def retention(tokens: int, age: float, settings: PolicySettings) -> float:
    """Return the worth of a protected history, and 0 once its protection has ended.

    base(n) * (0.25 + 0.75 * (1 - age/ttl)) while age < ttl; `age` is seconds since the last use.
    """
    protection = ttl(tokens, settings)
    if age >= protection:
        return 0.0
    freshness = 1 - age / protection
    return base(tokens) * (_EXPIRED_SHARE + (1 - _EXPIRED_SHARE) * freshness)


def overwrite_score(tokens: int, age: float, settings: PolicySettings) -> float:
    """Return 1 / (1 + retention): 1 for what nobody will miss, lower the more it is kept for."""
    return 1 / (1 + retention(tokens, age, settings))


def value(tokens: int, age: float, settings: PolicySettings) -> float:
    """Return what overwriting a history would lose: its retention, decayed once it has expired.

    After the protection: base(n) * 0.25 * (1 - x^2), x = clamp((age - ttl) / (zero - ttl), 0, 1)
    with zero = idle_value_zero_s; zero = 0 means x = 0, zero <= ttl means x = 1.
    """
    protection = ttl(tokens, settings)
    if age < protection:
        return retention(tokens, age, settings)
    zero = settings.idle_value_zero_s
    if zero == 0:
        decay = 0.0
    elif zero <= protection:
        decay = 1.0
    else:
        decay = min(max((age - protection) / (zero - protection), 0.0), 1.0)
    return base(tokens) * _EXPIRED_SHARE * (1 - decay * decay)
