"""The tables of `slotd decide`: slots with their tokens, as one JSON object.

Here: reading one and comparing its tokens into the table a decision is made from. Not here: the
command, and the form the log has (see `table_json`).

A table: `{"now", "engine", "settings", "prompt_rate", "request", "main", "slots"}`; token lists
hold ids or `[first, count]` runs of consecutive ids. What may be missing: settings and the prompt
rate (then the defaults, and 0), `main` (null), a slot's state (idle), valid (true), images (false),
cvec (1), checkpoints (none; the main session may have some as well), tokens (none), and the last
use of a slot without tokens. Unknown settings are refused, other unknown fields are not looked at.
Without `batch_slots` the slots are not, either.
"""

from slotd.policy.json_fields import (
    fields_of,
    flag,
    items_of,
    number,
    optional_count,
    refusal,
)
from slotd.policy.runs import MAX_ID, Run, Runs
from slotd.policy.survey import MainState, RequestState, SlotState, survey
from slotd.policy.table import Table
from slotd.policy.table_json import (
    check_slot_count,
    read_cvec,
    read_engine,
    read_lengths,
    read_prompt_rate,
    read_settings,
    read_state,
    read_verb,
)


def table_from_tokens(found: object) -> Table:
    """Read one table with token lists, and compare its tokens.

    Raises TableError naming the first field that is missing or wrong.
    """
    fields = fields_of(found, "")
    now = number(fields, "now", "")
    engine = read_engine(fields.get("engine"))
    main = fields.get("main")
    slots: list[SlotState] = []
    if engine.batch_slots:
        rows = items_of(fields.get("slots"), "slots")
        check_slot_count(engine, len(rows))
        slots = [_read_slot(f"slots[{slot}]", row, now) for slot, row in enumerate(rows)]
    return survey(
        now=now,
        engine=engine,
        settings=read_settings(fields.get("settings")),
        prompt_rate=read_prompt_rate(fields),
        request=_read_request(fields.get("request")),
        main=None if main is None else _read_main(main, now),
        slots=slots,
    )


def _read_request(found: object) -> RequestState:
    fields, where = fields_of(found, "request"), "request."
    return RequestState(
        verb=read_verb(fields),
        client_slot=optional_count(fields, "client_slot", where),
        prompt=read_tokens(fields.get("prompt"), "request.prompt"),
        cvec=read_cvec(fields, where),
        images=flag(fields, "images", where, False),
    )


def _read_main(found: object, now: float) -> MainState:
    fields, where = fields_of(found, "main"), "main."
    tokens = read_tokens(fields.get("tokens"), "main.tokens")
    return MainState(
        tokens=tokens,
        last_use=number(fields, "last_use", where, None if len(tokens) else now),
        images=flag(fields, "images", where, False),
        cvec=read_cvec(fields, where),
        checkpoints=read_lengths(fields, "checkpoints", where),
    )


def _read_slot(where: str, found: object, now: float) -> SlotState:
    fields = fields_of(found, where)
    where += "."
    tokens = read_tokens(fields.get("tokens"), where + "tokens")
    return SlotState(
        state=read_state(fields, where),
        tokens=tokens,
        last_use=number(fields, "last_use", where, None if len(tokens) else now),
        valid=flag(fields, "valid", where, True),
        images=flag(fields, "images", where, False),
        cvec=read_cvec(fields, where),
        checkpoints=read_lengths(fields, "checkpoints", where),
    )


def read_tokens(found: object, field: str) -> Runs:
    """Read a list of ids and `[first, count]` runs; no tokens when it is missing.

    Raises TableError naming the item that is neither, or holds an id beyond 32 bits.
    """
    return Runs([_read_run(item, field, at) for at, item in enumerate(items_of(found, field))])


def _read_run(item: object, field: str, at: int) -> Run:
    if type(item) is int and 0 <= item <= MAX_ID:
        return item, 1
    if type(item) is list and len(item) == 2:
        first, ids = item
        if type(first) is int and type(ids) is int and first >= 0 <= ids <= MAX_ID + 1 - first:
            return first, ids
    wanted = f"a token id up to {MAX_ID}, or [first id, number of consecutive ids]"
    raise refusal(f"{field}[{at}]", item, wanted)
