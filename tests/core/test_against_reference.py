"""The model beside the reference engine: it expects what the engine does, at every level."""

import pytest

from slotd.core.sidecar import SidecarSettings
from slotd.policy.settings import PolicySettings
from tests.core.reference import Bench

LEVELS: dict[str, tuple[int, list[str], dict[str, str]]] = {
    "no batch": (0, [], {}),
    "one group": (4, ["--batch", "4"], {}),
    "no slot cache": (4, ["--batch", "4", "--no-slot-cache"], {}),
    "pad rows": (6, ["--batch", "6", "--batch-groups", "3"], {}),
    "active rows": (
        6,
        ["--batch", "6", "--batch-groups", "3"],
        {"STRATA_PIPELINE_ACTIVE_ROWS": "1"},
    ),
    "checkpoints": (
        6,
        ["--batch", "6", "--batch-groups", "2"],
        {
            "STRATA_PIPELINE_ACTIVE_ROWS": "1",
            "STRATA_SLOT_CHECKPOINTS": "3",
            "STRATA_BRANCH_CHECKPOINT": "64",
        },
    ),
}
PACE = ["--chunk", "64", "--ckpt-every", "256", "--read-tok-s", "200000", "--step-ms", "0.2"]


@pytest.mark.parametrize("policy_name", ["retention", "off"])
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_the_engine_does_contradicts_the_model(level: str, policy_name: str) -> None:
    slots, arguments, environment = LEVELS[level]
    # Everything is worth a park, and protections end within the test.
    policy = PolicySettings(park_min_value=0, ttl_max_s=100)
    settings = SidecarSettings(policy=policy, policy_name=policy_name)
    for seed in (1, 2):
        with Bench(arguments + PACE, environment, settings, slots, seed) as bench:
            for _ in range(60):
                bench.turn()
            bench.settle()
        assert bench.finished >= 60
        troubles = [event for event in bench.events if event.name in ("drift", "error")]
        assert troubles == []
