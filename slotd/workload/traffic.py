"""The common form of all traffic: requests with their arrival, conversation, prompt and reply.

Public traces, slotd's own records and generated working days are all turned into a `Traffic`, and
the replay knows nothing else.  No file is read here.

A reply's tokens are part of the traffic (`RequestSpec.reply`): an engine can only continue a
conversation whose next prompt begins with exactly what it generated, so where a next turn is known
the reply is cut out of that turn's prompt, and otherwise it is a text of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from slotd.workload.prompt import TURN_TOKEN, Prompt


@frozen
class RequestSpec:
    """One request of a traffic.

    `arrival` is in seconds from the traffic's begin.  `after` is the index (in the same traffic) of
    the request that led to this one: mostly the one it continues, whose reply its prompt holds, so
    that it is never sent before that one has ended.  `think` is the time between that end and this
    request, in seconds, where it is known: a closed-loop replay waits that long instead of going by
    `arrival`.  `turn` counts from 1 within the conversation.
    """

    arrival: float
    conversation: int
    turn: int
    after: int | None
    prompt: Prompt
    reply: Prompt
    kind: str = "chat"
    think: float | None = None

    @property
    def prompt_length(self) -> int:
        """Tokens of the prompt."""
        return len(self.prompt)

    @property
    def output_length(self) -> int:
        """Tokens of the reply, the last one included."""
        return len(self.reply)


@frozen
class Traffic:
    """Requests in the order of their arrival, and the turn token their prompts are written with."""

    name: str
    requests: tuple[RequestSpec, ...]
    turn_token: int = TURN_TOKEN

    @property
    def conversations(self) -> tuple[int, ...]:
        """The conversation ids, in order of first arrival."""
        return tuple(dict.fromkeys(request.conversation for request in self.requests))

    @property
    def seconds(self) -> float:
        """From the first to the last arrival."""
        if not self.requests:
            return 0.0
        return self.requests[-1].arrival - self.requests[0].arrival


def thin(traffic: Traffic, share: float, seed: int) -> Traffic:
    """Keep a random share of the conversations (0 < share <= 1), by `seed`.

    Conversations stay whole: taking single requests away would cut every chain of turns.  The
    number kept is the share of all of them, rounded, and at least one.

    Raises:
        ValueError: the share is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of the conversations is above 0 and at most 1, not {share}")
    everyone = traffic.conversations
    if share == 1 or not everyone:
        return traffic
    count = max(1, round(share * len(everyone)))
    kept = frozenset(random.Random(seed).sample(everyone, count))
    return pick(traffic, (request.conversation in kept for request in traffic.requests))


def between(traffic: Traffic, start: float, end: float) -> Traffic:
    """Keep the requests that arrive in [start, end) seconds, as if there were no others."""
    return pick(traffic, (start <= request.arrival < end for request in traffic.requests))


def pick(traffic: Traffic, wanted: Iterable[bool]) -> Traffic:
    """Keep the requests whose flag is set; renumber what they came after (None if left out)."""
    index: dict[int, int] = {}
    kept: list[RequestSpec] = []
    for number, (request, keep) in enumerate(zip(traffic.requests, wanted, strict=True)):
        if keep:
            index[number] = len(kept)
            after = None if request.after is None else index.get(request.after)
            kept.append(evolve(request, after=after))
    return evolve(traffic, requests=tuple(kept))


def in_order(requests: Sequence[RequestSpec]) -> tuple[RequestSpec, ...]:
    """Sort requests by arrival (stable) and renumber what they came after.

    Raises:
        ValueError: a request would come before the one that led to it.
    """
    order = sorted(range(len(requests)), key=lambda number: (requests[number].arrival, number))
    index = {number: place for place, number in enumerate(order)}
    result = []
    for place, number in enumerate(order):
        after = requests[number].after
        if after is not None and index[after] >= place:
            raise ValueError(f"request {number} arrives before {after}, which led to it")
        result.append(evolve(requests[number], after=None if after is None else index[after]))
    return tuple(result)
