"""slotd in front of an engine: its command line, and its log read back.

Lives here: how the tests start `slotd run`, and what they look up in its log. Must not live here:
what slotd should have logged (the tests).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SLOTD = (sys.executable, "-m", "slotd")
SLOTD_ENGINE = (sys.executable, "-P", "-m", "slotd.cli.engine")


def behind_slotd(engine: Sequence[str], log: Path, *options: str) -> list[str]:
    """The command line of an engine behind `slotd run`, which logs everything to a file."""
    run = [*SLOTD, "run", "--log-file", str(log), "--log-level", "debug", "--log-format", "json"]
    return [*run, *options, "--", *engine]


def read_log(log: Path) -> list[dict[str, Any]]:
    """The events of a log, in order."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def named(events: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The events of one name."""
    return [event for event in events if event["event"] == name]


def alarms(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events that say that something went wrong or was not as believed."""
    return [event for event in events if event["level"] in ("warning", "error")]
