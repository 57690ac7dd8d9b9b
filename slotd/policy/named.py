"""The policies by the names settings choose them with.

Here: from a name to a fresh decider. Not here: the deciders, and "off" (nobody decides then).
"""

from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.decide import Decider, RetentionDecider

ADAPTIVE = "adaptive"


def decider_named(name: str) -> Decider:
    """Return a decider of that name that has learned nothing; POLICY.md's for any other name."""
    return AdaptiveDecider() if name == ADAPTIVE else RetentionDecider()
