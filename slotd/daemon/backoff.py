"""How long an engine that keeps dying is left alone.

Here: the rule. Not here: clocks and waiting.
"""

LONGEST_S = 60.0
"""Seconds; also how long an engine must have served for its death to count as the first."""


class Backoff:
    """Doubles from `first_s` (seconds) with every death in a row."""

    def __init__(self, first_s: float) -> None:
        """Begin with no death."""
        self._first_s = first_s
        self._deaths = 0

    def died(self, served_s: float) -> None:
        """Count the death of an engine that has served for so many seconds (0: it never did)."""
        self._deaths = 1 if served_s >= LONGEST_S else self._deaths + 1

    def ended(self) -> None:
        """Take note that it was asked to end, and did."""
        self._deaths = 0

    @property
    def delay_s(self) -> float:
        """Seconds from its end to its next start."""
        if not self._deaths:
            return 0.0
        return float(min(LONGEST_S, self._first_s * 2 ** min(self._deaths - 1, 32)))
