"""A value of an event as JSON, whatever numbers an engine printed.

Here: the text. Not here: what it becomes part of (`slotd.logs.chain`, `slotd.logs.journal`).
"""

import json
import math


def json_text(value: object) -> str:
    """Return `value` as JSON on one line; JSON has no infinity and no NaN, so those are null."""
    try:
        return _dump(value)
    except ValueError:
        return _dump(_finite(value))


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _finite(value: object) -> object:
    """Replace every number that is not finite by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
