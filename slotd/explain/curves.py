"""The protection and value curves of some settings, as figures.

Here: which lengths and ages are shown, what the curves are there, and when a value falls under a
threshold. Not here: the curves' formulas (`slotd.policy.values`), the picture (`picture`).
"""

from collections.abc import Iterable

from attrs import frozen

from slotd.policy import values
from slotd.policy.settings import PolicySettings

LENGTHS = (500, 2_000, 5_000, 8_000, 12_000, 20_000, 32_000, 50_000, 100_000, 200_000, 262_144)
"""Histories of the table, in tokens."""
AGES = (0.0, 10.0, 60.0, 300.0, 600.0, 1_200.0, 1_500.0, 1_800.0)
"""Idle times of the table, in seconds."""

DRAWN_LENGTHS = (1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000)
"""Histories of the picture."""
SHORTEST, LONGEST = 100, 300_000
"""Where the protection curve is drawn, in tokens."""
YOUNGEST, OLDEST = 1.0, 3_600.0
"""Where the value curves are drawn, in seconds."""
_STEPS = 48
"""Points between the ends of a curve, apart from its corners."""
_CLOSER = 12
"""Points before the age at which every value is zero, each half as far from it as the last."""
_BISECTIONS = 60
"""Halvings that leave less than a microsecond of any age."""


@frozen
class Line:
    """A history of one length: a line of the table."""

    tokens: int
    ttl: float
    """Seconds of protection."""
    values: tuple[float, ...]
    """Its value at each of `AGES`; while it is protected that is its retention."""
    given_up_after: float | None
    """Seconds after which it has expired and is worth less than expired_keep_score, so that it goes
    first; None: never."""
    not_parked_after: float | None
    """Seconds after which it is worth less than park_min_value; None: it never is."""


@frozen
class Curve:
    """Points of a curve."""

    x: tuple[float, ...]
    y: tuple[float, ...]


@frozen
class ValueCurve:
    """The value of a history over its idle time."""

    tokens: int
    ttl: float
    protected: Curve
    """Up to the end of its protection."""
    expired: Curve
    """From there on."""


@frozen
class Figures:
    """Everything the picture draws."""

    settings: PolicySettings
    protection: Curve
    """Seconds of protection over tokens."""
    values: tuple[ValueCurve, ...]


def table(settings: PolicySettings) -> tuple[Line, ...]:
    """Return the lines of the table, the shortest history first."""
    return tuple(_line(tokens, settings) for tokens in LENGTHS)


def _line(tokens: int, settings: PolicySettings) -> Line:
    ttl = values.ttl(tokens, settings)
    worthless = falls_below(tokens, settings.expired_keep_score, settings)
    return Line(
        tokens,
        ttl,
        tuple(values.value(tokens, age, settings) for age in AGES),
        None if worthless is None else max(ttl, worthless),
        falls_below(tokens, settings.park_min_value, settings),
    )


def falls_below(tokens: int, threshold: float, settings: PolicySettings) -> float | None:
    """Return the idle time in seconds from which on a history is worth less than `threshold`.

    0 when it always is, None when it never is.
    """
    low, high = 0.0, max(values.ttl(tokens, settings), settings.idle_value_zero_s)
    if values.value(tokens, low, settings) < threshold:
        return low
    if values.value(tokens, high, settings) >= threshold:  # from there on it stays as it is
        return None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if values.value(tokens, middle, settings) < threshold:
            high = middle
        else:
            low = middle
    return high


def figures(settings: PolicySettings) -> Figures:
    """Return what the picture draws."""
    corners = [tokens for tokens, _ in values.PROTECTION_POINTS]
    lengths = sorted({*map(round, spaced(SHORTEST, LONGEST)), *corners})
    return Figures(
        settings,
        _curve(lengths, (values.ttl(tokens, settings) for tokens in lengths)),
        tuple(_value_curve(tokens, settings) for tokens in DRAWN_LENGTHS),
    )


def _value_curve(tokens: int, settings: PolicySettings) -> ValueCurve:
    ttl, zero = values.ttl(tokens, settings), settings.idle_value_zero_s
    corners = (ttl, zero, *(zero * (1 - 0.5**step) for step in range(1, _CLOSER)))
    ages = sorted({*spaced(YOUNGEST, OLDEST), *(age for age in corners if age > YOUNGEST)})
    before = [age for age in ages if age < ttl]
    after = [age for age in ages if age >= ttl]
    expired = _curve(after, (values.value(tokens, age, settings) for age in after))
    worth = [values.retention(tokens, age, settings) for age in before]
    if before and after:  # the two parts meet where the protection ends
        before, worth = [*before, after[0]], [*worth, expired.y[0]]
    return ValueCurve(tokens, ttl, _curve(before, worth), expired)


def _curve(x: Iterable[float], y: Iterable[float]) -> Curve:
    return Curve(tuple(x), tuple(y))


def spaced(first: float, last: float) -> list[float]:
    """Return numbers from `first` to `last`, each the same number of times the one before."""
    ratio = last / first
    return [first * ratio ** (step / _STEPS) for step in range(_STEPS)] + [last]
