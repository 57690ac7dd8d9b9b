"""From what a person names to a traffic: a trace file, a record, or a generated day.

Here: telling them apart. Not here: their formats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from slotd.record.reader import read_record
from slotd.workload.agents import agent_day
from slotd.workload.traces import TraceError, read_trace, trace_format
from slotd.workload.traffic import Traffic

AGENTS: Final = "agents"
"""A name for the generated working day, `agents` or `agents:SEED`."""

MOST_SEED: Final = 10**18 - 1
"""The largest seed of a generated day."""


def load_traffic(name: str) -> Traffic:
    """Load the traffic a person named.

    Raises:
        TraceError: there is no such file, or it cannot be read; the message is one line.
    """
    if name == AGENTS or name.startswith(AGENTS + ":"):
        seed = name.partition(":")[2] or "1"
        if not seed.isdecimal() or len(seed) > len(str(MOST_SEED)):
            raise TraceError(
                f"{name[:40]}: a generated day's seed is a whole number from 0 to {MOST_SEED},"
                " as in agents:7"
            )
        return agent_day(seed=int(seed))
    path = Path(name)
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{name}: cannot be read ({error})") from error
    return read_record(path) if trace_format(first) == "record" else read_trace(path)
