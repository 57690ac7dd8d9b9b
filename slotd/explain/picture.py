"""The picture of the curves: protection by length, value over idle time.

Here: drawing with matplotlib, which is the optional extra `plot`; whoever imports this module must
be ready for an ImportError. Not here: the figures (`curves`).

The figures are in the file too, as JSON in the PNG's `Description`: what a picture shows can be
checked against the settings without looking at it.
"""

import json
from typing import Any, BinaryIO

import matplotlib as mpl
from attrs import asdict
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from slotd.explain.curves import LONGEST, OLDEST, SHORTEST, YOUNGEST, Figures
from slotd.policy.settings import DEFAULTS, PolicySettings
from slotd.policy.values import PROTECTION_POINTS, ttl

DECIMALS = 6
"""Decimals of the figures in the file's description."""

_INCHES = (11.0, 4.8)
_DOTS_PER_INCH = 120
# Any: the library types each name of a parameter, and they differ between its releases.
_STYLE: dict[Any, Any] = {"font.family": "DejaVu Sans", "font.size": 9.0, "axes.spines.top": False}
_STYLE |= {"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25}
_LEAST_VALUE, _MOST_VALUE = 0.001, 2.5
_TOKEN_TICKS = (100, 500, 2_000, 8_000, 32_000, 100_000, 262_144)
_AGE_TICKS = {1: "1 s", 10: "10 s", 60: "1 min", 300: "5 min", 1_800: "30 min"}
_VALUE_TICKS = (0.001, 0.01, 0.1, 1.0)
_KEEP_COLOUR, _PARK_COLOUR = "#b2182b", "#2166ac"


def draw(shown: Figures, file: BinaryIO) -> None:
    """Write the picture as a PNG. The same figures give the same file. Raises OSError."""
    with mpl.rc_context():
        mpl.rcdefaults()  # a person's own matplotlibrc must not change the file
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
        FigureCanvasAgg(figure)
        protection, value = figure.subplots(1, 2, width_ratios=(2, 3))
        _draw_protection(protection, shown)
        _draw_values(value, shown)
        figure.suptitle(_settings(shown.settings), fontsize=9, color="0.35")
        figure.savefig(
            file, format="png", metadata={"Software": None, "Description": description(shown)}
        )


def description(shown: Figures) -> str:
    """Return the figures as JSON, rounded; it is the same for the same figures."""
    return json.dumps(_rounded(asdict(shown)), separators=(",", ":"))


def _rounded(found: object) -> object:
    if isinstance(found, float):
        return round(found, DECIMALS)
    if isinstance(found, dict):
        return {name: _rounded(inner) for name, inner in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(inner) for inner in found]
    return found


def _settings(settings: PolicySettings) -> str:
    """Say what the curves are drawn for: the settings they depend on."""
    names = ("ttl_max_s", "idle_value_zero_s", "expired_keep_score", "park_min_value")
    said = ", ".join(f"{name} {getattr(settings, name):g}" for name in names)
    default = all(getattr(settings, name) == DEFAULTS[name] for name in names)
    return f"{said} (the defaults)" if default else said


def _draw_protection(axes: Axes, shown: Figures) -> None:
    axes.set_title("Protection: others are given up first for so long", loc="left", fontsize=10)
    axes.plot(shown.protection.x, shown.protection.y, color="#1b7837", linewidth=2)
    highest = max(shown.protection.y)
    for tokens, _ in PROTECTION_POINTS:
        seconds = ttl(tokens, shown.settings)
        axes.plot([tokens], [seconds], "o", color="#1b7837", markersize=4)
        axes.annotate(
            f"{seconds:.3g} s", (tokens, seconds), (-6, 4), textcoords="offset points", ha="right"
        )
    axes.set_xscale("log")
    axes.set_xlim(SHORTEST, LONGEST)
    axes.set_ylim(0, highest * 1.08 or 1.0)
    axes.set_xticks(_TOKEN_TICKS, [_tokens(tokens) for tokens in _TOKEN_TICKS])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("history, tokens")
    axes.set_ylabel("seconds since the last use")


def _draw_values(axes: Axes, shown: Figures) -> None:
    axes.set_title("Value: what overwriting the history would lose", loc="left", fontsize=10)
    colours = mpl.colormaps["viridis"]
    for place, curve in enumerate(shown.values):
        colour = colours(0.88 * (1 - place / (len(shown.values) - 1)))
        axes.plot(curve.protected.x, curve.protected.y, color=colour, linewidth=2.4)
        axes.plot(curve.expired.x, curve.expired.y, color=colour, linewidth=1.4, linestyle="--")
        first = (curve.protected.y or curve.expired.y)[0]
        if first >= _LEAST_VALUE:
            axes.annotate(
                _tokens(curve.tokens),
                (YOUNGEST, first),
                (5, 3),
                textcoords="offset points",
                color=colour,
                weight="bold",
            )
        if curve.protected.x and YOUNGEST < curve.ttl < OLDEST:
            axes.plot([curve.ttl], [curve.expired.y[0]], "o", color=colour, markersize=4)
    _draw_thresholds(axes, shown.settings)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(YOUNGEST, OLDEST)
    axes.set_ylim(_LEAST_VALUE, _MOST_VALUE)
    axes.set_xticks(list(_AGE_TICKS), list(_AGE_TICKS.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(_VALUE_TICKS)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("idle for (solid: protected, dashed: expired)")


def _draw_thresholds(axes: Axes, settings: PolicySettings) -> None:
    keep, least = settings.expired_keep_score, settings.park_min_value
    if keep == least:
        lines = [(keep, "goes first,\nnot parked", _KEEP_COLOUR)]
    else:
        lines = [(keep, "goes first", _KEEP_COLOUR), (least, "not parked", _PARK_COLOUR)]
    for value, says, colour in lines:
        if not _LEAST_VALUE <= value <= _MOST_VALUE:  # 0 is off; the title has the others
            continue
        axes.axhline(value, color=colour, linewidth=1, linestyle=":")
        axes.annotate(
            f"below {value:g}:\n{says}",
            (OLDEST, value),
            (4, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=8,
        )


def _tokens(tokens: int) -> str:
    return f"{tokens / 1000:.3g}K" if tokens >= 1000 else str(tokens)
