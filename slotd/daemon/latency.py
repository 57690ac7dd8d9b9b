"""How long slotd holds what passes through it: a histogram, cheap enough for every chunk.

Here: counting. Not here: measuring (`slotd.daemon.relay`) and showing.
"""

from bisect import bisect_left

BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
"""Upper bounds of the buckets in seconds; what is above the last is in a bucket of its own."""


class Latency:
    """Seconds from when a chunk was read to when all that came of it was written.

    Waiting for a side that does not take its bytes is in it.
    """

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one chunk."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self._sum_s += seconds

    @property
    def count(self) -> int:
        """Chunks counted."""
        return sum(self._counts)

    @property
    def sum_s(self) -> float:
        """Seconds of all of them together."""
        return self._sum_s

    def buckets(self) -> dict[str, int]:
        """Return how many chunks took at most so many seconds, by bound; `+Inf` for all of them."""
        so_far, cumulative = 0, {}
        for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], self._counts, strict=True):
            so_far += count
            cumulative[bound] = so_far
        return cumulative
