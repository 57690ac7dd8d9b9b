"""What is done instead of a step of the core that has failed.

Here: the other way through each step, with the same arguments: reading nothing into a line,
deciding nothing, waiting for nothing. Not here: catching the failure (`sidecar`), and forgetting
what is not known any more (`failing`).
"""

from protocol import (
    BatchYield,
    ClientLine,
    ClientOpaque,
    EngineLine,
    EngineOpaque,
    Generate,
    RawItem,
    raw_of,
)
from slotd.core.client_lines import sent_unknown_request
from slotd.core.model import Model
from slotd.core.own_park import OwnPark
from slotd.core.placing import Plan, Reservation
from slotd.core.settings import SidecarSettings
from slotd.policy.decide import Decider
from slotd.policy.story import Story


def engine_opaque(item: RawItem) -> EngineLine:
    """Take an engine's item for one that says nothing known."""
    return EngineOpaque(raw_of(item))


def client_opaque(item: RawItem) -> ClientLine:
    """Take a client's item for one that says nothing known."""
    return ClientOpaque(raw_of(item))


def no_plan(
    model: Model,
    settings: SidecarSettings,
    decider: Decider,
    line: Generate,
    number: int,
    now: float,
) -> Plan:
    """Decide nothing about a request."""
    return Plan()


def no_reservation(
    model: Model, settings: SidecarSettings, decider: Decider, line: BatchYield, now: float
) -> Reservation | None:
    """Reserve no slot for a read that is asked to give way."""
    return None


def no_park(model: Model, slot: int, number: int, now: float) -> OwnPark | None:
    """Take a request of slotd's own back that has not left."""
    for request in model.flight.requests():
        if request.own:
            model.flight.drop(request)
            model.release(request)
    return None


def not_own(model: Model, park: OwnPark, line: EngineLine) -> bool:
    """Take a line for one the client is to see."""
    return False


def sent_blindly(
    model: Model,
    line: Generate,
    number: int,
    slot: int | None,
    park: int | None,
    now: float,
    story: Story | None = None,
) -> None:
    """Queue a request of which only the slot is known."""
    sent_unknown_request(model, line.verb, number, line.slot, slot, now)


def no_orders(*_: object) -> list[bytes]:
    """Ask nothing of the engine."""
    return []


def nothing(*_: object) -> None:
    """Do nothing instead."""
