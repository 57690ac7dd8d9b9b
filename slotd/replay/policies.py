"""Every policy a replay can run, by name.

Here: what each name stands for. Not here: the policies themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from slotd.core.settings import OFF, SidecarSettings
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.decide import Decider, RetentionDecider
from slotd.policy.settings import PolicySettings
from slotd.replay.baselines import LeastRecentlyUsed, LlamaCpp
from slotd.replay.clairvoyant import Clairvoyant, Future
from slotd.sim.serve_slots import GroupsAlone, LongestStart, SlotStrategy


@frozen
class Policy:
    """Who decides in a replay: slotd by a decider, or the serve process by its strategy."""

    name: str
    doc: str
    settings: SidecarSettings = field(factory=SidecarSettings)
    make: Callable[[Future | None], Decider] = lambda future: RetentionDecider()
    strategy: SlotStrategy | None = None
    knows_future: bool = False

    def decider(self, future: Future | None) -> Decider:
        """Make a fresh decider."""
        return self.make(future)

    def with_settings(self, settings: PolicySettings) -> Policy:
        """Return the policy with other numbers."""
        return evolve(self, settings=evolve(self.settings, policy=settings))


def _clairvoyant(future: Future | None) -> Decider:
    if future is None:
        raise ValueError("the clairvoyant policy needs the future")
    return Clairvoyant(future)


_SERVE = SidecarSettings(policy_name=OFF)

POLICIES: Final[Mapping[str, Policy]] = {
    policy.name: policy
    for policy in (
        Policy(
            "serve",
            "the serve process's own table: longest held start, else empty, else least recent",
            _SERVE,
            strategy=LongestStart(),
        ),
        Policy(
            "serve-groups",
            "the serve process with pipelined groups: the groups alone, filling holes",
            _SERVE,
            strategy=GroupsAlone(),
        ),
        Policy("lru", "least recently used, with parks", make=lambda future: LeastRecentlyUsed()),
        Policy(
            "llama.cpp",
            "the slot sharing over 0.1 of the prompt, else least recently used; with parks",
            make=lambda future: LlamaCpp(),
        ),
        Policy(
            "value",
            "the published policy without protection",
            SidecarSettings(policy=PolicySettings(ttl_max_s=0)),
        ),
        Policy("retention", "the published policy, the default"),
        Policy("adaptive", "learns who comes back", make=lambda future: AdaptiveDecider()),
        Policy(
            "clairvoyant",
            "knows the future, greedily",
            make=_clairvoyant,
            knows_future=True,
        ),
    )
}
"""In the order they are shown."""
