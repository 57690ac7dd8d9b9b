"""What is compared in the demo: one column a way to run the same engine for the same people.

Lives here: the columns, and the command, environment and configuration file of each. Must not live
here: running them.

The engine runs `speed` times as fast as a real one, so slotd's clock has to as well: the settings
that are seconds are divided by the same number.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from slotd.policy.settings import DEFAULTS
from slotd.sim.options import TURN_TOKEN

SLOTS, GROUPS = 6, 3
"""Batch slots of the simulated engine, and its pipelined groups."""

ENGINE_SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "STRATA_PIPELINE_ACTIVE_ROWS": "1",
        "STRATA_SLOT_CHECKPOINTS": "2",
        "STRATA_BRANCH_CHECKPOINT": "1024",
    }
)
"""The engine's own environment: idle slots are left alone, and keep two checkpoints each."""

_OURS = ("STRATA_", "SLOTD_")
_SECONDS = ("ttl_max_s", "idle_value_zero_s")


@frozen
class Column:
    """One way to run the engine."""

    name: str
    """Short, for files and JSON."""

    title: str
    about: str
    """What it means, in a line for the reader."""

    phrase: str
    """The title as the end of a sentence."""

    slotd: tuple[str, ...]
    """Options of slotd."""

    engine: tuple[str, ...] = ("--batch-groups", str(GROUPS))
    """Options of the engine, beside the number of its slots."""

    switches: Mapping[str, str] = ENGINE_SWITCHES
    """The engine's environment."""


COLUMNS = (
    Column(
        "without",
        "without slotd",
        "the serve process chooses the slots; slotd only passes its lines on (--policy off)",
        "without slotd",
        ("--policy", "off"),
    ),
    Column("with", "with slotd", "slotd chooses the slots and the parks", "with slotd", ()),
    Column(
        "emulated",
        "engine without park=",
        "slotd before an engine as it is released, its slots in one group: slotd parks by requests "
        "of its own (--park emulated)",
        "with it before an engine without park=",
        ("--park", "emulated", "--set", f"slotd.turn_token={TURN_TOKEN}"),
        engine=(),
        switches=MappingProxyType({}),
    ),
)
"""From left to right; the first one is what the others are compared with."""


def command(column: Column, config: Path, log: Path, speed: float) -> list[str]:
    """Return the command that a serve process would start as its engine."""
    engine = [sys.executable, "-m", "slotd.sim", "--serve", "--speed", f"{speed:g}"]
    engine += ["--batch", str(SLOTS), *column.engine]
    slotd = [sys.executable, "-m", "slotd", "run", "--config", str(config)]
    slotd += [*column.slotd, "--log-file", str(log), "--log-format", "json"]
    return [*slotd, "--", *engine]


def configuration(speed: float) -> str:
    """Return slotd's configuration file, a TOML document; every other setting has its default."""
    seconds = (f"{name} = {DEFAULTS[name] / speed!r}\n" for name in _SECONDS)
    return "[policy]\n" + "".join(seconds)


def environment(column: Column, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of slotd and the engine: `inherited` without other settings of theirs.

    What of it is theirs is the column's.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith(_OURS)}
    return kept | dict(column.switches)
