"""What slotd's own requests took, which no client sees: read off slotd's log.

Lives here: the engine time of such a park before a request. Must not live here: the log's clock,
which would also measure how busy the machine is.
"""

import json
from pathlib import Path

from slotd.sim.timing import Timing


def parks_ms(log: Path) -> dict[int, float]:
    """Return the engine time of the park that each of slotd's requests waited for, in ms.

    By slotd's number of the request: nothing is read again; there are the fixed time of a request,
    the copy, and one window of the slot alone.
    """
    timing = Timing()
    took: dict[int, float] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "parked" and event.get("how") == "emulated":
            seconds = timing.request_s + timing.copy_seconds(event["tokens"])
            took[event["request"]] = 1000 * (seconds + timing.window_seconds(1))
    return took
