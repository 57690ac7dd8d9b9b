"""What is believed at one moment, as plain values.

Here: the picture status displays and metrics are made from. Not here: showing it.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from protocol import EMPTY
from slotd.core.capabilities import Capabilities
from slotd.core.counters import Counters
from slotd.core.model import Model
from slotd.core.placing import slot_table
from slotd.core.settings import SidecarSettings
from slotd.core.state import Activity, Slot
from slotd.policy import values
from slotd.policy.survey import RequestState
from slotd.policy.table import slot_ttl_left, slot_value

SlotUse = Literal["idle", "reading", "decoding", "yielded", "reserved", "parking"]


@frozen
class SlotSnapshot:
    """One engine slot. Ages and protection in seconds, lengths in tokens."""

    slot: int
    client_slot: int
    """The client's number of it."""
    state: SlotUse
    """What it does; parking: a request was sent that parks the main session in it, the client's or
    one of slotd's own."""
    tokens: int
    age: float
    """Seconds since the last use; 0 while it decodes."""
    value: float
    ttl_left: float
    """Seconds its history is still protected."""
    valid: bool
    superseded: bool
    images: bool
    cvec: int
    checkpoints: tuple[int, ...]
    request: int | None
    """Number of the request in it, or of the last one it decoded."""
    generated: int


@frozen
class MainSnapshot:
    """The main session, when it holds something to continue from."""

    tokens: int
    age: float
    value: float
    ttl_left: float
    exact: bool
    """It holds just these tokens, and not a few accepted drafts more."""
    cvec: int


@frozen
class RequestSnapshot:
    """A client's request on its way: sent and not ended on the control lines."""

    request: int
    verb: str
    client_slot: int | None
    slot: int | None
    phase: str
    prompt: int | None
    """Its tokens; None when they are not known."""
    read: int
    """Prompt tokens the engine has read or reused so far."""
    seconds: float
    """Since it was sent."""


@frozen
class Snapshot:
    """Everything at one moment."""

    capabilities: Capabilities
    settings: SidecarSettings
    slots: tuple[SlotSnapshot, ...]
    main: MainSnapshot | None
    in_flight: tuple[RequestSnapshot, ...]
    """In the order the engine answers them."""
    untracked: int
    """Requests sent beyond those the model can follow."""
    prompt_rate: float
    """Tokens a second."""
    requests: int
    """Requests seen so far."""
    events: Mapping[str, int]
    """Events told so far, by name."""
    placements: Mapping[str, int]
    """By reason."""
    parks: Mapping[str, int]
    """By outcome."""
    reused_tokens: int
    read_tokens: int


def take_snapshot(
    model: Model, settings: SidecarSettings, counters: Counters, now: float
) -> Snapshot:
    """Return what is believed at `now` (seconds)."""
    return Snapshot(
        capabilities=model.capabilities,
        settings=settings,
        slots=_slots(model, settings, now),
        main=_main(model, settings, now),
        in_flight=tuple(
            RequestSnapshot(
                request.number,
                request.verb,
                request.client_slot,
                request.slot,
                request.phase.value,
                None if request.prompt is None else len(request.prompt),
                request.read,
                now - request.sent,
            )
            for request in model.flight.requests()
            if not request.own
        ),
        untracked=model.flight.untracked,
        prompt_rate=model.rate.tokens_per_second,
        requests=model.requests,
        events=dict(counters.events),
        placements=dict(counters.placements),
        parks=dict(counters.parks),
        reused_tokens=counters.reused_tokens,
        read_tokens=counters.read_tokens,
    )


def _slots(model: Model, settings: SidecarSettings, now: float) -> tuple[SlotSnapshot, ...]:
    # No request is to be placed: the table is only asked what the rules say of each slot.
    table = slot_table(model, settings, RequestState("GEN", None, EMPTY), now)
    return tuple(
        SlotSnapshot(
            slot=slot.number,
            client_slot=model.numbering.client_slot(slot.number),
            state=_use(slot),
            tokens=row.tokens,
            age=row.age,
            value=slot_value(table, row),
            ttl_left=slot_ttl_left(table, row),
            valid=row.valid,
            superseded=row.superseded,
            images=row.images,
            cvec=row.cvec,
            checkpoints=row.checkpoints,
            request=slot.request if slot.owner is None else slot.owner.number,
            generated=slot.generated if slot.activity is Activity.DECODING else 0,
        )
        for slot, row in zip(model.slots, table.slots, strict=True)
    )


def _use(slot: Slot) -> SlotUse:
    if slot.own:
        return "parking"
    if slot.activity is Activity.IDLE:
        return "idle" if slot.claim is None else "parking"
    uses: dict[Activity, SlotUse] = {
        Activity.READING: "reading",
        Activity.DECODING: "decoding",
        Activity.YIELDED: "yielded",
        Activity.RESERVED: "reserved",
    }
    return uses[slot.activity]


def _main(model: Model, settings: SidecarSettings, now: float) -> MainSnapshot | None:
    main = model.main
    if not main.valid:
        return None
    tokens, age = len(main.history), max(0.0, now - main.last_use)
    return MainSnapshot(
        tokens=tokens,
        age=age,
        value=values.value(tokens, age, settings.policy),
        ttl_left=max(0.0, values.ttl(tokens, settings.policy) - age),
        exact=main.exact,
        cvec=main.cvec,
    )
