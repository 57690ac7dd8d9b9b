"""A policy that has seen traffic before: what it learned on one is kept for another.

Here: letting the adaptive policy learn - by serving a traffic, through what the daemon would keep
over a restart, or from a traffic's own times without any engine. Not here: the policy.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.returns import AGES, ReturnModel, kind_of
from slotd.policy.adaptive.state import dump, load
from slotd.replay.clairvoyant import uses
from slotd.replay.drive import replay
from slotd.replay.policies import POLICIES, Policy
from slotd.sim.options import SimOptions
from slotd.workload.figures import FIGURES
from slotd.workload.traffic import RequestSpec, Traffic, pick

_READ_TOK_S: Final = FIGURES["read_tok_s"].low
_DECODE_TOK_S: Final = 50.0
"""What a request takes where no engine serves it: published reading, decoding beside others."""


def without(traffic: Traffic, other: Traffic) -> Traffic:
    """Return the conversations of `traffic` that are not in `other`, a thinning of it."""
    taken = frozenset(other.conversations)
    return pick(traffic, (request.conversation not in taken for request in traffic.requests))


def adaptive_after(earlier: Traffic, options: SimOptions) -> Policy:
    """Return the adaptive policy as it is after a run of `earlier` and a restart."""
    decider = AdaptiveDecider()
    replay(earlier, evolve(POLICIES["adaptive"], make=lambda future: decider), options)
    return _adaptive("adaptive, second day", decider.model)


def informed(earlier: Traffic) -> Policy:
    """Return the adaptive policy as it is after watching all of a large traffic."""
    return _adaptive("adaptive, informed", taught(earlier))


def _adaptive(name: str, model: ReturnModel) -> Policy:
    kept = dump(model)
    return evolve(POLICIES["adaptive"], name=name, make=lambda future: AdaptiveDecider(load(kept)))


def taught(traffic: Traffic) -> ReturnModel:
    """Return a model that watched a traffic by its arrivals, with nothing of it waiting.

    Every request ends as many seconds after its arrival as reading and decoding it alone take.
    """
    model = ReturnModel()
    requests = traffic.requests
    later = uses(traffic)
    before: dict[int, int] = {}
    for number, found in enumerate(later):
        for use in found:
            before[use.request] = number
    turns: list[int] = []
    for number, request in enumerate(requests):
        held = _held(request)
        earlier = before.get(number)
        turns.append(1 if earlier is None else turns[earlier] + 1)
        gap, added = None, 0
        if earlier is not None:
            gap = max(0.0, request.arrival - _end(requests[earlier]))
            added = max(0, request.prompt_length - _held(requests[earlier]))
        kind = kind_of(turns[number], added, gap, held)
        if later[number]:
            following = later[number][0]
            age = max(0.0, following.arrival - _end(request))
            model.watched(kind, 0.0, age, following.tokens(held) / held)
        else:
            left = requests[-1].arrival - _end(request)
            model.watched(kind, 0.0, min(max(0.0, left), AGES[-1]))
    return model


def _held(request: RequestSpec) -> int:
    return request.prompt_length + request.output_length - 1


def _end(request: RequestSpec) -> float:
    seconds = request.prompt_length / _READ_TOK_S + request.output_length / _DECODE_TOK_S
    return request.arrival + seconds
