"""Short ways to write a slot table in a test.

The engine is the one of the published runs unless a test says otherwise: six slots in three
groups, padding safe. Slots a test does not mention are idle and hold nothing.
"""

from typing import Any

from attrs import evolve

from slotd.policy.settings import PolicySettings
from slotd.policy.table import EngineShape, MainRow, RequestRow, SlotRow, Table

SIX_IN_THREE = EngineShape(
    batch_slots=6, batch_groups=3, slot_cache=True, slot_padding_safe=True, slot_park=True
)
PADDED = evolve(SIX_IN_THREE, slot_padding_safe=False)
FOUR_ALONE = evolve(SIX_IN_THREE, batch_slots=4, batch_groups=1)

PROMPT = 50_000
LONG_AGO = 5_000.0


def row(slot: int, tokens: int = 0, **facts: Any) -> SlotRow:
    """Return slot `slot` with a history of its own, used just now, unless `facts` say otherwise."""
    defaults: dict[str, Any] = {
        "state": "idle",
        "age": 0.0,
        "valid": True,
        "images": False,
        "cvec": 1,
        "shared": 0,
        "shared_main": 0,
        "superseded": False,
    }
    return SlotRow(slot=slot, tokens=tokens, **{**defaults, **facts})


def main_row(tokens: int, **facts: Any) -> MainRow:
    """Return a main session with a conversation of its own, used just now."""
    defaults: dict[str, Any] = {
        "age": 0.0,
        "images": False,
        "cvec": 1,
        "shared": 0,
        "last_turn": tokens,
    }
    return MainRow(tokens=tokens, **{**defaults, **facts})


def table(
    *rows: SlotRow,
    engine: EngineShape = SIX_IN_THREE,
    main: MainRow | None = None,
    prompt_rate: float = 0.0,
    request: RequestRow | None = None,
    **settings: float,
) -> Table:
    """Return a table of `rows`, the other slots empty, for a BGEN of 50,000 tokens."""
    said = {each.slot: each for each in rows}
    return Table(
        engine=engine,
        settings=PolicySettings(**settings),
        prompt_rate=prompt_rate,
        request=bgen() if request is None else request,
        main=main,
        slots=tuple(said.get(slot, row(slot)) for slot in range(engine.batch_slots)),
    )


def bgen(prompt: int = PROMPT, **facts: Any) -> RequestRow:
    """Return a request for a batch slot."""
    return RequestRow("BGEN", 0, prompt, **facts)


def gen(prompt: int = PROMPT, **facts: Any) -> RequestRow:
    """Return a solo request."""
    return RequestRow("GEN", None, prompt, **facts)


def matching(slot: int, tokens: int, **facts: Any) -> SlotRow:
    """Return a slot whose history the prompt continues."""
    return row(slot, tokens, shared=tokens, **facts)


def busy(*slots: int, tokens: int = 1_000) -> tuple[SlotRow, ...]:
    """Return slots that decode."""
    return tuple(row(slot, tokens, state="busy") for slot in slots)
