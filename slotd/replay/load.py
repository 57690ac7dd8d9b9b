"""From what a person names to a traffic: a trace file, a record, or a generated day.

Here: telling them apart, and what of them an engine can serve. Not here: their formats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from slotd.record.reader import read_record, record_files
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day
from slotd.workload.fields import TraceError, unreadable
from slotd.workload.traces import first_line, read_trace, trace_format
from slotd.workload.traffic import Traffic, pick

AGENTS: Final = "agents"
"""A name for the generated working day, `agents` or `agents:SEED`."""

MOST_SEED: Final = 10**18 - 1
"""The largest seed of a generated day."""


def fitting(traffic: Traffic, options: SimOptions) -> Traffic:
    """Leave out the requests that are too long for the engine's context: it would refuse them."""
    return pick(
        traffic,
        (options.fits(one.prompt_length, one.output_length) for one in traffic.requests),
    )


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
        first = first_line(record_files(path)[-1])
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    return read_record(path) if trace_format(first) == "record" else read_trace(path)
