"""The exact bound: the most that keeping whole histories could have saved, for given times.

Here: the bound. Not here: the greedy policy that knows the future (`clairvoyant`).

Every pair of a history and the next request that can resume from it is an interval - from the end
of the one request to the begin of the other - with the tokens it saves. A state (a slot, or the
main session) holds one history at a time, so at any moment as many intervals can be chosen as there
are states. The choice that saves most is a minimum cost flow along time and is found exactly, by
one longest path for each state. It bounds reuse within a conversation by whole histories and the
one checkpoint a slot keeps, for these times: running requests take no room. The main session keeps
more checkpoints than one, and conversations share beginnings: neither is counted, so where that
matters a policy can come out above it. (Of one conversation's histories only the best is looked at:
an older one saves less and would have to be held longer.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from attrs import frozen

from slotd.replay.clairvoyant import uses
from slotd.replay.drive import Run
from slotd.workload.traffic import Traffic


@frozen
class Interval:
    """A history held from `start` to `end` (seconds), which saves `tokens` at its end."""

    start: float
    end: float
    tokens: int


def intervals(traffic: Traffic, run: Run) -> list[Interval]:
    """For every request, the best earlier history it could resume from, with the run's times."""
    rows = {row.request: row for row in run.rows}
    best: dict[int, Interval] = {}
    for number, later in enumerate(uses(traffic)):
        before = rows.get(number)
        if before is None:
            continue
        for use in later:
            after = rows.get(use.request)
            tokens = use.tokens(before.prompt + before.generated - 1)
            if after is None or after.arrival < before.end or not tokens:
                continue
            known = best.get(use.request)
            if known is None or (tokens, before.end) > (known.tokens, known.start):
                best[use.request] = Interval(before.end, after.arrival, tokens)
    return list(best.values())


def most_saved(found: Sequence[Interval], states: int) -> int:
    """Return the most tokens that `states` states can save: the exact optimum."""
    times = sorted({time for one in found for time in (one.start, one.end)})
    count = len(times)
    if not count:
        return 0
    spans = [
        (bisect_left(times, one.start), bisect_left(times, one.end), one.tokens) for one in found
    ]
    saved = sum(one.tokens for one in found if one.start == one.end)
    spans = [span for span in spans if span[0] < span[1]]
    used = [False] * len(spans)
    starting: list[list[int]] = [[] for _ in times]
    ending: list[list[int]] = [[] for _ in times]
    for number, (start, end, _) in enumerate(spans):
        starting[start].append(number)
        ending[end].append(number)
    idle = [0] * count
    for _ in range(states):
        gain = _push(spans, used, starting, ending, idle)
        if gain <= 0:
            break
        saved += gain
    return saved


def _push(
    spans: list[tuple[int, int, int]],
    used: list[bool],
    starting: list[list[int]],
    ending: list[list[int]],
    idle: list[int],
) -> int:
    """Send one more state along time by the path that gains most; return the gain.

    Going forward an unused interval gains its tokens and waiting gains nothing; going back an
    interval that is used gives its tokens up, and waiting that is used costs nothing.
    """
    count = len(idle)
    best = [float("-inf")] * count
    came: list[tuple[int, int] | None] = [None] * count
    best[0] = 0
    queue, queued = [0], [False] * count
    for place in queue:
        queued[place] = False
        steps = [(place + 1, 0.0, -1)] if place + 1 < count else []
        steps += [
            (spans[number][1], float(spans[number][2]), number)
            for number in starting[place]
            if not used[number]
        ]
        steps += [
            (spans[number][0], -float(spans[number][2]), number)
            for number in ending[place]
            if used[number]
        ]
        if place and idle[place]:
            steps.append((place - 1, 0.0, -2))
        for there, gain, by in steps:
            if best[place] + gain > best[there] + 1e-9:
                best[there], came[there] = best[place] + gain, (place, by)
                if not queued[there]:
                    queued[there] = True
                    queue.append(there)
    place = count - 1
    while place:
        step = came[place]
        assert step is not None
        earlier, by = step
        if by == -1:
            idle[place] += 1
        elif by == -2:
            idle[earlier] -= 1
        else:
            used[by] = not used[by]
        place = earlier
    return int(best[count - 1])
