"""What the adaptive policy learned, as a JSON object: so that it outlives a restart.

Here: the object. Not here: the file it is in (the daemon's), and conversations waited for: they are
gone with the engine's slots.
"""

from __future__ import annotations

import json

import numpy as np

from slotd.policy.adaptive.returns import AGES, ReturnModel

VERSION = 1
MARK = b'{"slotd_adaptive":'
"""What every such object begins with."""


def dump(model: ReturnModel) -> str:
    """Write a model as one line of JSON: the place and the counts of every cell that has any."""
    # Copies: another thread may go on counting.
    counts, watched = model.returns.copy(), model.seconds.copy()
    cells = [
        [*map(int, place), round(float(counts[place]), 4), round(float(seconds), 1)]
        for place, seconds in np.ndenumerate(watched)
        if seconds or counts[place]
    ]
    return json.dumps(
        {
            "slotd_adaptive": VERSION,
            "shape": model.returns.shape,
            "ages": AGES,
            "seen": model.seen,
            "cells": cells,
        },
        separators=(",", ":"),
    )


def load(text: str) -> ReturnModel | None:
    """Read a model; None when it is no such object, or of other classes than today's."""
    model = ReturnModel()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("slotd_adaptive") != VERSION:
        return None
    if found.get("shape") != list(model.returns.shape) or found.get("ages") != list(AGES):
        return None
    seen, cells = found.get("seen"), found.get("cells")
    if type(seen) is not int or seen < 0 or not isinstance(cells, list):
        return None
    for cell in cells:
        if not _is_cell(cell, model.returns.shape):
            return None
        place = tuple(cell[:5])
        model.returns[place], model.seconds[place] = cell[5], cell[6]
    model.seen = seen
    return model


def _is_cell(cell: object, shape: tuple[int, ...]) -> bool:
    if not isinstance(cell, list) or len(cell) != len(shape) + 2:
        return False
    *place, returns, seconds = cell
    inside = all(type(at) is int and 0 <= at < size for at, size in zip(place, shape, strict=True))
    counts = all(type(count) in (int, float) and 0 <= count < 1e12 for count in (returns, seconds))
    return inside and counts
