"""The engine's capability levels that every client test runs at.

Lives here: the options and environment that make the reference engine one of them. The reading
and decoding speeds are slow enough for requests to meet, and no test's outcome hangs on them.
"""

import os
from collections.abc import Mapping

from attrs import Factory, frozen

from tests.clients.reference import engine_command

PACE = ("--step-ms", "0.3", "--read-tok-s", "150000", "--chunk", "128", "--ckpt-every", "700")
GROUPS = ("--batch", "6", "--batch-groups", "3")
ACTIVE_ROWS = {"STRATA_PIPELINE_ACTIVE_ROWS": "1"}
CHECKPOINTS = {"STRATA_SLOT_CHECKPOINTS": "2", "STRATA_BRANCH_CHECKPOINT": "1024"}


@frozen
class Level:
    """One capability level of the engine, and which moves the serve process can make on it."""

    name: str
    options: tuple[str, ...]
    variables: Mapping[str, str] = Factory(dict)
    slots: int = 0
    promotes: bool = False
    returns: bool = False

    @property
    def yields(self) -> bool:
        """Whether a long read can give way."""
        return self.slots > 0

    def engine(self, *more: str) -> list[str]:
        """The engine's command line, with further options."""
        return engine_command(*PACE, *self.options, *more)

    @property
    def environment(self) -> dict[str, str]:
        """The engine's environment: this one's without any of its switches, and the level's."""
        return clean_environment() | dict(self.variables)


def clean_environment() -> dict[str, str]:
    """This environment without the engine's and slotd's switches."""
    switches = ("STRATA_", "SLOTD_")
    return {name: value for name, value in os.environ.items() if not name.startswith(switches)}


LEVELS = [
    Level("solo", ()),
    Level("batch", ("--batch", "4"), slots=4, promotes=True, returns=True),
    Level("pad-rows", GROUPS, slots=6, promotes=True, returns=True),
    Level("active-rows", GROUPS, ACTIVE_ROWS, slots=6, promotes=True, returns=True),
    Level("checkpoints", GROUPS, ACTIVE_ROWS | CHECKPOINTS, slots=6, promotes=True, returns=True),
    Level("no-slot-cache", (*GROUPS, "--no-slot-cache"), ACTIVE_ROWS, slots=6, promotes=True),
    Level("no-stop", ("--batch", "4", "--no-stop"), slots=4, returns=True),
    Level("solo-no-stop", ("--no-stop",)),
]
