"""A policy that has seen traffic before: what it learned on one is kept for another.

Here: letting the adaptive policy learn, through what the daemon would keep over a restart. Not
here: the policy.
"""

from __future__ import annotations

from attrs import evolve

from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.state import dump, load
from slotd.replay.drive import replay
from slotd.replay.policies import POLICIES, Policy
from slotd.sim.options import SimOptions
from slotd.workload.traffic import Traffic, pick


def without(traffic: Traffic, other: Traffic) -> Traffic:
    """Return the conversations of `traffic` that are not in `other`, a thinning of it."""
    taken = frozenset(other.conversations)
    return pick(traffic, (request.conversation not in taken for request in traffic.requests))


def adaptive_after(earlier: Traffic, options: SimOptions) -> Policy:
    """Return the adaptive policy as it is after a run of `earlier` and a restart."""
    decider = AdaptiveDecider()
    replay(earlier, evolve(POLICIES["adaptive"], make=lambda future: decider), options)
    kept = dump(decider.model)
    return evolve(
        POLICIES["adaptive"],
        name="adaptive, second day",
        make=lambda future: AdaptiveDecider(load(kept)),
    )
