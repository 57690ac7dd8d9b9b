"""Counts over everything that was told.

Here: sums for status and metrics. Not here: keeping or formatting events.
"""

from collections import Counter

from slotd.core.events import Event


class Counters:
    """What has happened so far, by event, by reason and in tokens."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.events: Counter[str] = Counter()
        """By event name."""
        self.placements: Counter[str] = Counter()
        """By the reason of a placement."""
        self.parks: Counter[str] = Counter()
        """By outcome: parked, failed, and the reasons of those skipped."""
        self.reused_tokens = 0
        self.read_tokens = 0

    def count(self, event: Event) -> None:
        """Take one event in."""
        self.events[event.name] += 1
        fields = event.fields
        if event.name == "place":
            self.placements[str(fields["reason"])] += 1
        elif event.name == "park_skip":
            self.parks[str(fields["reason"])] += 1
        elif event.name == "parked":
            self.parks["parked" if fields["tokens"] else "failed"] += 1
        elif event.name in ("admitted", "solo_done"):
            reused, read = fields["reused"], fields["read"]
            if isinstance(reused, int) and isinstance(read, int):
                self.reused_tokens += reused
                self.read_tokens += read
