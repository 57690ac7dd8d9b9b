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

    `arrival` is in seconds from the traffic's begin.  `parent` is the index (in the same traffic)
    of the request this one continues: it is never sent before that one has ended, because its
    prompt holds that one's reply.  `think` is the time between the parent's end and this request,
    in seconds, where it is known: a closed-loop replay waits that long instead of going by
    `arrival`.  `turn` counts from 1 within the conversation.
    """

    arrival: float
    conversation: int
    turn: int
    parent: int | None
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
    """Keep the requests whose flag is set; renumber their parents (None for one left out)."""
    index: dict[int, int] = {}
    kept: list[RequestSpec] = []
    for number, (request, keep) in enumerate(zip(traffic.requests, wanted, strict=True)):
        if keep:
            index[number] = len(kept)
            parent = None if request.parent is None else index.get(request.parent)
            kept.append(evolve(request, parent=parent))
    return evolve(traffic, requests=tuple(kept))


def in_order(requests: Sequence[RequestSpec]) -> tuple[RequestSpec, ...]:
    """Sort requests by arrival (stable) and renumber their parents.

    Raises:
        ValueError: a request would come before the one it continues.
    """
    order = sorted(range(len(requests)), key=lambda number: (requests[number].arrival, number))
    index = {number: place for place, number in enumerate(order)}
    result = []
    for place, number in enumerate(order):
        parent = requests[number].parent
        if parent is not None and index[parent] >= place:
            raise ValueError(
                f"request {number} arrives before request {parent}, which it continues"
            )
        result.append(evolve(requests[number], parent=None if parent is None else index[parent]))
    return tuple(result)
