"""A table and a decision as JSON: what the log holds of them, and the table read back from it.

Here: the lengths-only form, which says enough to decide again and holds no token, and the parts of
it that the tables of `slotd decide` share. Not here: token lists (see `token_tables`), files.
"""

from attrs import asdict, evolve

from slotd.policy.decide import Decision
from slotd.policy.json_fields import (
    Fields,
    JsonValue,
    TableError,
    as_number,
    count,
    fields_of,
    flag,
    items_of,
    number,
    optional_count,
    refusal,
)
from slotd.policy.match import match
from slotd.policy.settings import DEFAULTS, PolicySettings, SettingError
from slotd.policy.table import (
    EngineShape,
    MainRow,
    RequestRow,
    RequestVerb,
    SlotOccupancy,
    SlotRow,
    Table,
    blank,
    load,
    protected,
    slot_retention,
    slot_ttl_left,
    slot_value,
)

AGE_DECIMALS = 3
"""Ages and protection are written to the millisecond."""
VALUE_DECIMALS = 6
"""Values, retentions and scores are written with these many decimals."""

_OUT_OF_ORDINARY = frozenset({"park_admits", "low_rows"})

_VERBS: dict[object, RequestVerb] = {"GEN": "GEN", "GENI": "GENI", "BGEN": "BGEN", "BGENI": "BGENI"}
_STATES: dict[object, SlotOccupancy] = {"idle": "idle", "busy": "busy", "yielded": "yielded"}


def as_logged(table: Table) -> Table:
    """Return the table as a log will hold it: ages and the prompt rate as they are written.

    Decide on this one, and `table_from_json` of the log gives the same decision again, exactly.
    """
    main = table.main
    return evolve(
        table,
        prompt_rate=round(table.prompt_rate, AGE_DECIMALS),
        main=None if main is None else evolve(main, age=round(main.age, AGE_DECIMALS)),
        slots=tuple(evolve(row, age=round(row.age, AGE_DECIMALS)) for row in table.slots),
    )


def table_to_json(table: Table) -> dict[str, JsonValue]:
    """Return the table as a JSON object, each slot with what the rules say of it.

    A slot's match, value, retention, ttl_left (seconds), load, blank and protected are written for
    a reader; `table_from_json` computes them again.
    """
    main = table.main
    return {
        "engine": _engine_to_json(table.engine),
        "settings": asdict(table.settings),
        "prompt_rate": round(table.prompt_rate, AGE_DECIMALS),
        "request": asdict(table.request),
        "main": None if main is None else _main_to_json(main),
        "slots": [_slot_to_json(table, row) for row in table.slots],
    }


def _main_to_json(main: MainRow) -> dict[str, JsonValue]:
    return {
        **asdict(main),
        "age": round(main.age, AGE_DECIMALS),
        "branches": list(main.branches),
    }


def _engine_to_json(engine: EngineShape) -> dict[str, JsonValue]:
    """Return what the engine can do; how slotd uses it only where that is out of the ordinary."""
    fields = asdict(engine)
    return {name: value for name, value in fields.items() if value or name not in _OUT_OF_ORDINARY}


def _slot_to_json(table: Table, row: SlotRow) -> dict[str, JsonValue]:
    return {
        "slot": row.slot,
        "state": row.state,
        "tokens": row.tokens,
        "age": round(row.age, AGE_DECIMALS),
        "valid": row.valid,
        "images": row.images,
        "cvec": row.cvec,
        "shared": row.shared,
        "shared_main": row.shared_main,
        "superseded": row.superseded,
        "checkpoints": list(row.checkpoints),
        "match": match(table, row),
        "value": round(slot_value(table, row), VALUE_DECIMALS),
        "retention": round(slot_retention(table, row), VALUE_DECIMALS),
        "ttl_left": round(slot_ttl_left(table, row), AGE_DECIMALS),
        "load": load(table, row),
        "blank": blank(table, row),
        "protected": protected(table, row),
    }


def decision_to_json(decision: Decision) -> dict[str, JsonValue]:
    """Return the decision as a JSON object; its score is not rounded."""
    placement, park = decision.placement, decision.park
    return {
        "slot": placement.slot,
        "reason": placement.reason,
        "source": placement.source,
        "hint": placement.hint,
        "score": placement.score,
        "park": None if park is None else {"slot": park.slot, "reason": park.reason},
    }


def table_from_json(found: object) -> Table:
    """Read a table back from what `table_to_json` wrote; what it computed is ignored.

    Raises TableError naming the first field that is missing or wrong.
    """
    fields = fields_of(found, "")
    engine = read_engine(fields.get("engine"))
    main = fields.get("main")
    slots = tuple(
        _read_slot(number, row) for number, row in enumerate(items_of(fields.get("slots"), "slots"))
    )
    check_slot_count(engine, len(slots))
    return Table(
        engine=engine,
        settings=read_settings(fields.get("settings")),
        prompt_rate=read_prompt_rate(fields),
        request=_read_request(fields.get("request")),
        main=None if main is None else _read_main(main),
        slots=slots,
    )


def _read_request(found: object) -> RequestRow:
    fields, where = fields_of(found, "request"), "request."
    return RequestRow(
        verb=read_verb(fields),
        client_slot=optional_count(fields, "client_slot", where),
        prompt=count(fields, "prompt", where),
        cvec=read_cvec(fields, where),
        images=flag(fields, "images", where, False),
    )


def _read_main(found: object) -> MainRow:
    fields, where = fields_of(found, "main"), "main."
    return MainRow(
        tokens=count(fields, "tokens", where),
        age=max(0.0, number(fields, "age", where)),
        images=flag(fields, "images", where, False),
        cvec=read_cvec(fields, where),
        shared=count(fields, "shared", where),
        last_turn=count(fields, "last_turn", where),
        branches=read_lengths(fields, "branches", where),
    )


def _read_slot(slot: int, found: object) -> SlotRow:
    where = f"slots[{slot}]"
    fields = fields_of(found, where)
    where += "."
    return SlotRow(
        slot=slot,
        state=read_state(fields, where),
        tokens=count(fields, "tokens", where),
        age=max(0.0, number(fields, "age", where)),
        valid=flag(fields, "valid", where, True),
        images=flag(fields, "images", where, False),
        cvec=read_cvec(fields, where),
        shared=count(fields, "shared", where),
        shared_main=count(fields, "shared_main", where),
        superseded=flag(fields, "superseded", where, False),
        checkpoints=read_lengths(fields, "checkpoints", where),
    )


def read_engine(found: object) -> EngineShape:
    """Read what the engine can do; what is missing it cannot. Raises TableError."""
    fields, where = fields_of(found, "engine"), "engine."
    return EngineShape(
        batch_slots=count(fields, "batch_slots", where, 0),
        batch_groups=count(fields, "batch_groups", where, 1),
        slot_cache=flag(fields, "slot_cache", where, False),
        slot_padding_safe=flag(fields, "slot_padding_safe", where, False),
        slot_park=flag(fields, "slot_park", where, False),
        turn_token=optional_count(fields, "turn_token", where),
        park_admits=flag(fields, "park_admits", where, False),
        low_rows=flag(fields, "low_rows", where, False),
    )


def read_settings(found: object) -> PolicySettings:
    """Read settings by their short names; those missing have their defaults.

    Raises TableError for an unknown name and for a value the setting may not have.
    """
    fields = {} if found is None else fields_of(found, "settings")
    unknown = [name for name in fields if name not in DEFAULTS]
    if unknown:
        raise TableError("settings", f"{unknown[0]!r} is none of {', '.join(DEFAULTS)}")
    numbers = {
        name: as_number(value, f"settings.{name}", "a finite number, 0 or more")
        for name, value in fields.items()
        if value is not None
    }
    try:
        return PolicySettings(**numbers)
    except SettingError as error:
        raise TableError("settings", str(error)) from None


def check_slot_count(engine: EngineShape, found: int) -> None:
    """Check that the table has a row for every slot. Raises TableError."""
    if found != engine.batch_slots:
        problem = f"{found} given, engine.batch_slots is {engine.batch_slots}: give one for each"
        raise TableError("slots", problem)


def read_verb(fields: Fields) -> RequestVerb:
    """Read a request's verb. Raises TableError."""
    found = fields.get("verb")
    verb = _VERBS.get(found) if type(found) is str else None
    if verb is None:
        raise refusal("request.verb", found, "GEN, GENI, BGEN or BGENI")
    return verb


def read_state(fields: Fields, where: str) -> SlotOccupancy:
    """Read what a slot is doing; idle when it does not say. Raises TableError."""
    found = fields.get("state")
    if found is None:
        return "idle"
    state = _STATES.get(found) if type(found) is str else None
    if state is None:
        raise refusal(where + "state", found, "idle, busy or yielded")
    return state


def read_cvec(fields: Fields, where: str) -> int:
    """Read a cvec, 1 when it does not say. Raises TableError."""
    found = fields.get("cvec")
    return int(found) if isinstance(found, bool) else count(fields, "cvec", where, 1)


def read_lengths(fields: Fields, name: str, where: str) -> tuple[int, ...]:
    """Read a list of lengths, of checkpoints say; none when it is missing. Raises TableError."""
    lengths = items_of(fields.get(name), where + name)
    checked = tuple(length for length in lengths if type(length) is int and length >= 0)
    if len(checked) != len(lengths):
        raise refusal(where + name, lengths, "a list of lengths in tokens")
    return checked


def read_prompt_rate(fields: Fields) -> float:
    """Read the prompt rate in tokens a second, 0 when it does not say. Raises TableError."""
    found = number(fields, "prompt_rate", "", 0.0)
    if found < 0:
        raise refusal("prompt_rate", found, "tokens a second, 0 or more")
    return found
