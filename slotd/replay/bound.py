"""What a traffic lets anybody save: with room for everything, and with so many places.

Here: the two figures. Not here: the greedy policy that knows the future (`clairvoyant`).

**Room for everything** (`most_shared`): every request goes on from the longest start that its
prompt shares with any earlier text. Nothing can reuse more; it says nothing about room.

**So many places** (`most_saved` of `intervals`): the most that holding histories can save within
conversations, for given times. For every request there is an interval, with the most tokens that
any earlier history of its conversation lets it resume: from the last moment one of those was
finished or resumed from, to the request. A place (a slot, or the main session) that serves the
request holds something of the conversation at least for that long, and one thing at a time, so at
any moment as many intervals can be chosen as there are places. The choice that saves most is a
minimum cost flow along time and is found exactly, by one longest path for each place.

It is a bound, and a generous one: running requests take no room, every place is granted the main
session's periodic checkpoints beside the one a slot keeps, and an interval may begin with a history
that nobody held until then. What it leaves out is reuse between conversations (a system prompt that
every session begins with); only the first figure bounds that too.
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
    """For every request that can resume from an earlier one, what it needs, with the run's times.

    A history that ended while the request waited is there for no time at all.
    """
    rows = {row.request: row for row in run.rows}
    tokens: dict[int, int] = {}
    start: dict[int, float] = {}
    for number, later in enumerate(uses(traffic, every_checkpoint=True, most=None)):
        before = rows.get(number)
        if before is None:
            continue
        touched = before.end
        for use in sorted(later, key=lambda use: use.arrival):
            after = rows.get(use.request)
            saved = use.tokens(before.prompt + before.generated - 1)
            if after is None or after.arrival + after.wait < before.end or not saved:
                continue
            tokens[use.request] = max(saved, tokens.get(use.request, 0))
            start[use.request] = max(touched, start.get(use.request, touched))
            touched = max(touched, after.arrival)
    return [
        Interval(min(start[number], rows[number].arrival), rows[number].arrival, most)
        for number, most in tokens.items()
    ]


def most_shared(traffic: Traffic, run: Run) -> int:
    """Return the tokens that prompts share with any text before them, in the run's order."""
    texts = [request.prompt + request.reply for request in traffic.requests]
    total = 0
    for row in run.rows:
        prompt = traffic.requests[row.request].prompt
        begun = row.arrival + row.wait
        total += max(
            (
                min(texts[other.request].shared(prompt), len(prompt) - 1)
                for other in run.rows
                if other.request != row.request and other.arrival < begun
            ),
            default=0,
        )
    return total


def most_saved(found: Sequence[Interval], states: int) -> int:
    """Return the most tokens that `states` places can save by one interval at a time each."""
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
