"""Numbers on the command line that must be numbers.

Here: the parameter type. Not here: any command.
"""

from __future__ import annotations

import math

import click


class FiniteRange(click.FloatRange):
    """A number in a range; `nan` is in none, and what is infinite in no open end either."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; refuse what is none, not finite, or out of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
