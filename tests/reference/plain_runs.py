"""Token lists as runs `(first, count)` of consecutive ids, never spread out.

Here live the few things the plain policy asks of token lists. Nothing of the project may be
imported here, as in `plain_policy`.
"""

from typing import Any

Runs = list[tuple[int, int]]


def runs_of(tokens: list[Any]) -> Runs:
    """Read a JSON token list: ids, or `[first, count]` for a run of consecutive ids."""
    runs = []
    for item in tokens:
        first, count = (item, 1) if isinstance(item, int) else item
        if count > 0:
            runs.append((first, count))
    return runs


def length(runs: Runs) -> int:
    """Count the tokens."""
    tokens = 0
    for _, count in runs:
        tokens += count
    return tokens


def common_prefix(a: Runs, b: Runs) -> int:
    """Count the tokens the two begin with in common, a run at a time."""
    if not a or not b or a[0][0] != b[0][0]:
        return 0
    shared = 0
    at_a = at_b = 0  # the run each is in
    past_a = past_b = 0  # the tokens of that run already behind
    while at_a < len(a) and at_b < len(b):
        first_a, count_a = a[at_a]
        first_b, count_b = b[at_b]
        if first_a + past_a != first_b + past_b:
            break
        step = min(count_a - past_a, count_b - past_b)
        shared += step
        past_a += step
        past_b += step
        if past_a == count_a:
            at_a, past_a = at_a + 1, 0
        if past_b == count_b:
            at_b, past_b = at_b + 1, 0
    return shared


def up_to_last(token: int | None, runs: Runs) -> int:
    """Count the tokens before the last `token`; all of them when it is unknown or not there."""
    if token is not None:
        before = length(runs)
        for first, count in reversed(runs):
            before -= count
            if first <= token < first + count:
                return before + token - first
    return length(runs)
