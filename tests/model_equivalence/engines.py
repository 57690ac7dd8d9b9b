"""The engines and the sidecars the equivalence is tried on.

Lives here: every capability level ENGINE.md names, as options of the simulated engine; the ways of
deciding; an arbitrary decider, because the model must be right whatever the policy does. Must not
live here: what a client does.
"""

from random import Random

from attrs import evolve, frozen

from slotd.core.settings import SidecarSettings
from slotd.policy.decide import Decider, Decision, RetentionDecider
from slotd.policy.match import hint
from slotd.policy.park import Park
from slotd.policy.place import Placement
from slotd.policy.settings import PolicySettings
from slotd.policy.table import Table
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.timing import Timing

CONTEXT = 400

# Small chunks and many checkpoints: a short prompt is read in many steps, and leaves much behind.
SMALL = SimOptions(context=CONTEXT, chunk=7, checkpoint_every=16)

LEVELS: dict[str, SimOptions] = {
    "no batch": evolve(SMALL, batch_slots=0, active_rows=False),
    "no batch, branches": evolve(SMALL, batch_slots=0, active_rows=False, branch_margin=3),
    "batch": evolve(SMALL, batch_slots=3, batch_groups=1, active_rows=False),
    "batch, checkpoints": evolve(
        SMALL, batch_slots=4, batch_groups=1, active_rows=False, slot_checkpoints=3
    ),
    "no slot cache": evolve(
        SMALL, batch_slots=3, batch_groups=1, active_rows=False, slot_cache=False
    ),
    "no slot cache, parks": evolve(SMALL, slot_cache=False, slot_checkpoints=2),
    "pad rows": evolve(SMALL, active_rows=False),
    "pad rows, groups of three": evolve(
        SMALL, batch_groups=2, active_rows=False, slot_checkpoints=2
    ),
    "padding safe": evolve(SMALL, park=False),
    "parks": evolve(SMALL, batch_slots=4, batch_groups=2),
    "parks, no turn token": evolve(SMALL, announce_turn_token=False),
    "parks, two slots": evolve(SMALL, batch_slots=2, batch_groups=2),
    "parks, checkpoints": evolve(SMALL, slot_checkpoints=3, branch_margin=3),
    "parks, checkpoints, two slots": evolve(
        SMALL, batch_slots=2, batch_groups=2, slot_checkpoints=2, branch_margin=2
    ),
    "no stop": evolve(SMALL, stop=False),
}

NO_TIME = Timing.instant()

# At these lengths protection lasts fractions of seconds: with the longer ones it lasts a while.
POLICIES = {
    "defaults": PolicySettings(),
    "everything is worth a park": PolicySettings(park_min_value=0, ttl_max_s=10_000),
    "nothing is protected": PolicySettings(park_min_value=0, ttl_max_s=0, expired_keep_score=0),
    "no siblings": PolicySettings(park_min_value=0, sibling_share=0, ttl_max_s=1000),
    "all are siblings": PolicySettings(park_min_value=0, sibling_share=0.2, park_kept_share=1),
}

SETTINGS: dict[str, SidecarSettings] = {
    name: SidecarSettings(policy=policy) for name, policy in POLICIES.items()
}
SETTINGS["the client's keys"] = evolve(
    SETTINGS["everything is worth a park"], keep_client_keys=True
)
SETTINGS["no keys"] = evolve(SETTINGS["everything is worth a park"], slot_key=False, park="off")
SETTINGS["low rows"] = evolve(SETTINGS["everything is worth a park"], pad_rows="low")
SETTINGS["adaptive"] = SidecarSettings(
    policy=POLICIES["everything is worth a park"], policy_name="adaptive"
)
SETTINGS["off"] = SidecarSettings(policy_name="off")

WITHOUT_PARKS = (
    "batch",
    "batch, checkpoints",
    "pad rows",
    "pad rows, groups of three",
    "padding safe",
)
_OWN = evolve(SETTINGS["everything is worth a park"], park="emulated")

OWN_PARKS: dict[str, SidecarSettings] = {
    "own parks": evolve(_OWN, turn_token=TURN_TOKEN),
    "own parks, no turn token": _OWN,
    "own parks, nothing is protected": evolve(
        _OWN, policy=POLICIES["nothing is protected"], turn_token=TURN_TOKEN
    ),
    "own parks, low rows": evolve(
        _OWN, policy=POLICIES["nothing is protected"], turn_token=TURN_TOKEN, pad_rows="low"
    ),
    "own parks, adaptive": evolve(_OWN, policy_name="adaptive", turn_token=TURN_TOKEN),
}
"""Parks by requests of slotd's own, which other lines than the client's belong to."""

ALL_SETTINGS = SETTINGS | OWN_PARKS


@frozen
class ArbitraryDecider:
    """Any idle slot, and any park: what no policy should do, and the model must follow."""

    random: Random
    name: str = "retention"
    """It stands for the policy of that name, so that other settings leave it in force."""

    def decide(self, table: Table) -> Decision:
        idle = [row.slot for row in table.slots if row.idle]
        self.random.shuffle(idle)
        told = hint(table)
        slot = idle.pop() if idle and table.request.client_slot is not None else None
        placement = Placement(slot, "reclaim", told.source, told.tokens, None)
        chosen: Park | None = None
        if table.main is not None and table.engine.slot_park and self.random.random() < 0.7:
            chosen = Park(idle.pop() if idle else None, "reclaim")
        return Decision(placement, chosen)


def decider(seed: int | None) -> Decider:
    """Give the policy's decider, or an arbitrary one of that seed."""
    return RetentionDecider() if seed is None else ArbitraryDecider(Random(seed))
