"""Outcomes for people: a table, and plots.

Here: formatting. Not here: the sums (`outcome`).
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from rich.table import Table as RichTable

from slotd.replay.drive import Run
from slotd.replay.outcome import Outcome

PICTURE_ENDINGS: Final = (".png", ".svg", ".pdf", ".jpg")
"""Of the picture files matplotlib can write, those that need nothing else installed."""
_HEADROOM: Final = 1.4
"""How much taller than its bars a plot is: its legend covers none of them."""
_PARTS: Final = 24
"""Bars over the time of a traffic."""


def thousands(tokens: float) -> str:
    """Write tokens in thousands."""
    return f"{tokens / 1000:,.0f}K"


def table_of(outcomes: Sequence[Outcome], title: str) -> RichTable:
    """Return the outcomes as a table, one policy a row."""
    table = RichTable(title=title)
    table.add_column("policy")
    for name in (
        "prompt",
        "reused",
        "share",
        "replaced",
        "never parked",
        "rewritten",
        "first token: mean",
        "p50",
        "p95",
    ):
        table.add_column(name, justify="right")
    table.add_column("placed")
    table.add_column("parks")
    for found in outcomes:
        table.add_row(
            found.policy,
            thousands(found.prompt),
            thousands(found.reused),
            f"{found.share:.1%}",
            thousands(found.replaced),
            thousands(found.never_parked),
            thousands(found.rewritten),
            f"{found.wait_mean:.2f} s",
            f"{found.wait_p50:.2f} s",
            f"{found.wait_p95:.2f} s",
            counts(found.placements),
            counts(found.parks),
        )
    return table


def counts(found: dict[str, int]) -> str:
    """Write counts in a line."""
    return " ".join(f"{name}:{count}" for name, count in found.items()) or "-"


def check_plot(file: Path) -> None:
    """See, before anything is replayed for it, whether a plot can be drawn into a file.

    Raises:
        ImportError: matplotlib is not installed (the extra `plot`).
        ValueError: the file's ending is no image format.
        OSError: there is no such folder.
    """
    import matplotlib as mpl  # noqa: F401 - whether it is there is the question

    if file.suffix.lower() not in PICTURE_ENDINGS:
        raise ValueError(f"its ending has to be one of {', '.join(PICTURE_ENDINGS)}")
    if not file.parent.is_dir():
        raise OSError(errno.ENOENT, "there is no such folder")


def plot(runs: Sequence[Run], outcomes: Sequence[Outcome], title: str, file: Path) -> None:
    """Draw reuse by policy, and reuse over the time of the traffic, into an image file.

    Raises:
        ImportError: matplotlib is not installed (the extra `plot`).
        OSError, ValueError: the file cannot be written, or its ending is no image format.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (bars, lines) = pyplot.subplots(1, 2, figsize=(14, 4.5))
    names = [found.policy for found in outcomes]
    places = np.arange(len(names))
    bottom = np.zeros(len(names))
    for label, colour, values in (
        ("reused", "#2a7f62", [found.reused for found in outcomes]),
        ("read again: replaced", "#d98c3f", [found.replaced for found in outcomes]),
        ("read again: never parked", "#b5483a", [found.never_parked for found in outcomes]),
        ("rewritten", "#9a9a9a", [found.rewritten for found in outcomes]),
    ):
        heights = np.array(values) / 1000
        bars.bar(places, heights, bottom=bottom, label=label, color=colour)
        bottom += heights
    bars.set_xticks(places, names, rotation=25, ha="right")
    bars.set_ylabel("thousand tokens")
    bars.set_title(title)
    bars.set_ylim(0, _HEADROOM * (bottom.max(initial=0.0) or 1.0))
    bars.legend(fontsize="small")
    end = max((row.arrival for run in runs for row in run.rows), default=1.0) or 1.0
    edges = np.linspace(0, end, _PARTS + 1)
    for run in runs:
        arrivals = [row.arrival for row in run.rows]
        reused, _ = np.histogram(arrivals, edges, weights=[row.reused for row in run.rows])
        prompt, _ = np.histogram(arrivals, edges, weights=[row.prompt for row in run.rows])
        share = np.divide(reused, prompt, out=np.zeros(_PARTS), where=prompt > 0)
        lines.plot(edges[1:] / 3600, share, label=run.policy)
    lines.set_xlabel("hours")
    lines.set_ylabel("share of the prompt tokens reused")
    lines.set_ylim(0, 1)
    lines.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))  # beside the lines
    figure.tight_layout()
    figure.savefig(file, metadata={"Software": None} if file.suffix == ".png" else None)
    pyplot.close(figure)
