"""The status as one JSON object: what `slotd status`, `slotd top` and metrics are made from.

Here: its form. Not here: what is believed (`slotd.core.snapshot`), and showing it.

    slotd      version, pid, uptime_s, mode ("run" or "host"), socket (host only)
    engine     state ("loading", "serving", "waiting" to be started again, "stopped"), pid, starts,
               ready_s (seconds since its READY), capabilities
    client     attached, pid, since_s
    slots      one object a slot: the fields of `SlotSnapshot`
    main       the fields of `MainSnapshot`, or null
    in_flight  the requests on their way: the fields of `RequestSnapshot`
    settings   by the names of the event `settings`
    counters   requests, events (by name), placements (by reason), parks (by outcome),
               reused_tokens, read_tokens
    latency    buckets (chunks held at most so many seconds, cumulative), count, sum_s
    events     the last ones, as the log has them, without slot tables
"""

from functools import cache
from typing import Literal

import attrs

from slotd.core.snapshot import Snapshot
from slotd.daemon.latency import Latency
from slotd.daemon.memory import EventMemory
from slotd.daemon.reload import settings_event
from slotd.policy.json_fields import JsonValue

EngineState = Literal["loading", "serving", "waiting", "stopped"]


@attrs.frozen
class Standing:
    """What only the shell knows. Times in seconds."""

    pid: int
    uptime_s: float
    mode: Literal["run", "host"]
    socket: str | None
    engine_state: EngineState
    engine_pid: int | None
    starts: int
    ready_s: float | None
    client_attached: bool
    client_pid: int | None
    client_since_s: float | None


def status_object(
    standing: Standing, snapshot: Snapshot, latency: Latency, events: EventMemory
) -> dict[str, JsonValue]:
    """Return everything at one moment."""
    return {
        "slotd": {
            "version": _version(),
            "pid": standing.pid,
            "uptime_s": round(standing.uptime_s, 3),
            "mode": standing.mode,
            "socket": standing.socket,
        },
        "engine": {
            "state": standing.engine_state,
            "pid": standing.engine_pid,
            "starts": standing.starts,
            "ready_s": None if standing.ready_s is None else round(standing.ready_s, 3),
            "capabilities": _fields(snapshot.capabilities),
        },
        "client": {
            "attached": standing.client_attached,
            "pid": standing.client_pid,
            "since_s": standing.client_since_s,
        },
        "slots": [_fields(slot) for slot in snapshot.slots],
        "main": None if snapshot.main is None else _fields(snapshot.main),
        "in_flight": [_fields(request) for request in snapshot.in_flight],
        "settings": dict(settings_event(snapshot.settings).fields),
        "counters": {
            "requests": snapshot.requests,
            "events": dict(snapshot.events),
            "placements": dict(snapshot.placements),
            "parks": dict(snapshot.parks),
            "reused_tokens": snapshot.reused_tokens,
            "read_tokens": snapshot.read_tokens,
        },
        "latency": {
            "buckets": dict(latency.buckets()),
            "count": latency.count,
            "sum_s": round(latency.sum_s, 6),
        },
        "events": events.records(),
    }


@cache
def _version() -> str:
    from importlib.metadata import version  # slow to import, and only needed here

    return version("slotd")


def _fields(value: attrs.AttrsInstance) -> dict[str, JsonValue]:
    fields = attrs.asdict(value)
    return {name: _short(inner) for name, inner in fields.items()}


def _short(value: "JsonValue | tuple[JsonValue, ...]") -> JsonValue:
    if isinstance(value, float):
        return round(value, 6)
    return list(value) if isinstance(value, tuple) else value
