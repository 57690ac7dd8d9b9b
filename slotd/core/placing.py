"""From the model to a decision about one line.

Here: the slot table as the policy gets it, asking the decider, and telling what was decided. Not
here: the rules (`slotd.policy`), and carrying a decision out (`sidecar`).
"""

from attrs import evolve, frozen

from protocol import BatchYield, Generate, TokenIds
from slotd.core.client_lines import give_up_yield, goes_on
from slotd.core.events import Event
from slotd.core.flight import Request
from slotd.core.model import Model
from slotd.core.own_park import Hindrance, emulates, hindrance
from slotd.core.settings import OFF, SidecarSettings
from slotd.core.state import Activity, Main, Slot
from slotd.policy.decide import Decider, Decision, go_on
from slotd.policy.json_fields import JsonValue
from slotd.policy.park import main_value
from slotd.policy.story import Stories, Story
from slotd.policy.survey import MainState, RequestState, SlotState, survey
from slotd.policy.table import SlotOccupancy, Table
from slotd.policy.table_json import as_logged, table_to_json


@frozen
class Plan:
    """What is to become of one line."""

    decided: bool = False
    """It was decided about; otherwise it goes as the client wrote it, to its own slot."""
    slot: int | None = None
    """The engine slot chosen for an admission."""
    park: int | None = None
    """The engine slot the line asks to park the main session in."""
    own_park: int | None = None
    """The engine slot a request of slotd's own parks the main session in before it."""
    story: Story | None = None
    """The request's place in its conversation, where stories are told at all."""
    events: tuple[Event, ...] = ()


@frozen
class Reservation:
    """The slot a read that was asked to give way keeps its part in."""

    request: Request
    slot: int
    events: tuple[Event, ...] = ()


def decides(model: Model, settings: SidecarSettings) -> bool:
    """Tell whether requests are placed at all: the engine has said what it is, and has slots."""
    return settings.policy_name != OFF and model.capabilities.ready and len(model.slots) > 0


def plan_request(
    model: Model,
    settings: SidecarSettings,
    decider: Decider,
    line: Generate,
    number: int,
    now: float,
) -> Plan:
    """Decide where a request goes and where the main session is parked before it.

    Nothing is decided for a request the model cannot follow, for a slot number that is none, and
    for one whose slot is busy: the engine's answer to those is the client's to see.
    """
    if not decides(model, settings) or model.flight.full:
        return Plan()
    kept = goes_on(model, line)
    if line.slot is not None and kept is None:
        own = model.slot(model.numbering.engine_slot(line.slot))
        if own is None or own.taken:
            return Plan()
        give_up_yield(model, line.slot)
    request = RequestState(line.verb, line.slot, line.ids, line.cvec, line.images)
    story = tell_story(model, number, line.ids, now)
    table = with_stories(model, slot_table(model, settings, request, now), story)
    decision = _checked(model, decider.decide(table)) if kept is None else go_on(table, kept)
    if settings.keep_client_keys and line.key(b"park") is not None:
        decision = evolve(decision, park=None)
    parking = _parking(number, table, decision)
    why = _hindrance(model, table, decision)
    if why is not None:
        parking = (_park_told(number, table, None, why),)
        table = evolve(table, engine=evolve(table.engine, slot_park=False))
        decision = evolve(decision, park=None)
    told = (_placed(number, line.verb, table, decision), *parking)
    if line.slot is not None and decision.placement.slot is None:
        return Plan(story=story, events=told)
    slot = decision.placement.slot
    where = None if decision.park is None else decision.park.slot
    if table.engine.park_admits:
        return Plan(True, slot, own_park=where, story=story, events=told)
    return Plan(True, slot, where, story=story, events=told)


def plan_yield(
    model: Model, settings: SidecarSettings, decider: Decider, line: BatchYield, now: float
) -> Reservation | None:
    """Decide where a solo read that is asked to give way keeps its part.

    None when there is nothing to reserve: no read is going on, it is an admission (its part stays
    in its own slot), or no slot is free for it.
    """
    request = model.flight.reading()
    own = model.slot(model.numbering.engine_slot(line.slot))
    if own is None or own.taken or (request is not None and request.batch):
        return None
    give_up_yield(model, line.slot)
    if request is None or request.images:
        return None
    if request.prompt is None or model.flight.full or not decides(model, settings):
        return Reservation(request, own.number) if own.idle else None
    state = RequestState("BGEN", line.slot, request.prompt, request.cvec)
    table = with_stories(model, slot_table(model, settings, state, now), request.story)
    decision = evolve(_checked(model, decider.decide(table)), park=None)
    told = _placed(request.number, "BYIELD", table, decision)
    if decision.placement.slot is None:
        return None
    return Reservation(request, decision.placement.slot, (told,))


def slot_table(model: Model, settings: SidecarSettings, request: RequestState, now: float) -> Table:
    """Return the table of this moment, as a log holds it.

    The main session is in it only when no request uses it or is about to.
    """
    main = model.main
    in_use = any(other.on_main for other in model.flight.requests())
    by_key = model.capabilities.slot_park and settings.park != "off"
    by_own_request = emulates(model, settings)
    table = survey(
        now=now,
        engine=model.capabilities.shape(
            park=by_key or by_own_request,
            park_admits=by_own_request,
            low_rows=settings.pad_rows == "low",
        ),
        settings=settings.policy,
        prompt_rate=model.rate.tokens_per_second,
        request=request,
        main=None
        if in_use or not main.valid
        else MainState(
            main.history.tokens(), main.last_use, main.images, main.cvec, tuple(main.stops)
        ),
        slots=[_slot_state(slot, now) for slot in model.slots],
    )
    return as_logged(table)


def tell_story(model: Model, number: int, prompt: TokenIds, now: float) -> Story | None:
    """File the histories that are complete, and find what the prompt continues."""
    recall = model.recall
    if recall is None:
        return None
    main = model.main
    states: list[Main | Slot] = [slot for slot in model.slots if slot.idle and slot.valid]
    if main.valid and not any(other.on_main for other in model.flight.requests()):
        # First: a slot that goes on with what it holds too is the more recent one.
        states.insert(0, main)
    for state in states:
        if state.history.story is not None and not state.images:
            recall.file(state.history.tokens(), state.history.story, state.last_use)
    return recall.story(number, prompt, model.capabilities.turn_token, now)


def with_stories(model: Model, table: Table, story: Story | None) -> Table:
    """Add the stories of the request and of what the engine holds to its table."""
    if story is None:
        return table
    main = None if table.main is None else model.main.history.story
    return evolve(
        table, stories=Stories(story, main, tuple(slot.history.story for slot in model.slots))
    )


def occupancy(slot: Slot) -> SlotOccupancy:
    """Return what the policy calls the slot's activity; one claimed for a park is busy."""
    if slot.activity is Activity.YIELDED:
        return "yielded"
    return "idle" if slot.idle else "busy"


def _slot_state(slot: Slot, now: float) -> SlotState:
    last_use = now if slot.activity is Activity.DECODING else slot.last_use
    return SlotState(
        state=occupancy(slot),
        tokens=slot.history.tokens(),
        last_use=last_use if slot.kept_from is None else slot.kept_from,
        valid=slot.valid,
        images=slot.images,
        cvec=slot.cvec,
        checkpoints=slot.checkpoints,
    )


def _checked(model: Model, decision: Decision) -> Decision:
    """Return the decision; raise ValueError when it names a slot that is not idle, or one twice."""
    chosen = [decision.placement.slot, None if decision.park is None else decision.park.slot]
    named = [number for number in chosen if number is not None]
    slots = [model.slot(number) for number in named]
    if len(set(named)) < len(named) or any(slot is None or not slot.idle for slot in slots):
        raise ValueError("the policy named a slot it cannot have")
    return decision


def _placed(number: int, verb: str, table: Table, decision: Decision) -> Event:
    placement = decision.placement
    fields: dict[str, JsonValue] = {
        "request": number,
        "verb": verb,
        "client_slot": table.request.client_slot,
        "slot": placement.slot,
        "reason": placement.reason,
        "source": placement.source,
        "hint": placement.hint,
        "score": placement.score,
        "park": None
        if decision.park is None
        else {"slot": decision.park.slot, "reason": decision.park.reason},
        "table": table_to_json(table),
    }
    if decision.losses:
        fields["losses"] = [round(loss.loss, 3) for loss in decision.losses]
        fields["chances"] = [round(loss.chance, 3) for loss in decision.losses]
    return Event("place", "info", fields)


def _hindrance(model: Model, table: Table, decision: Decision) -> Hindrance | None:
    """Return why a request of slotd's own cannot carry out the park that was decided, if so."""
    chosen = decision.park
    if not table.engine.park_admits or chosen is None or chosen.slot is None:
        return None
    return hindrance(model, table, chosen)


def _parking(number: int, table: Table, decision: Decision) -> tuple[Event, ...]:
    """Tell where the main session is parked, or why it is not; nothing where nothing is lost."""
    chosen = decision.park
    return () if chosen is None else (_park_told(number, table, chosen.slot, chosen.reason),)


def _park_told(number: int, table: Table, slot: int | None, reason: str) -> Event:
    main = table.main
    assert main is not None, "a decision about a park is one about the main session"
    fields: dict[str, JsonValue] = {
        "request": number,
        "reason": reason,
        "main_tokens": main.tokens,
        "main_age": main.age,
        "main_value": round(main_value(table, main), 6),
    }
    if slot is None:
        return Event("park_skip", "info", fields)
    how = "emulated" if table.engine.park_admits else "native"
    return Event("park", "info", {**fields, "slot": slot, "how": how})
