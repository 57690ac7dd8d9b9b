"""The slot table: everything one decision is made from, as lengths and flags.

Here: the facts of a table and the words of POLICY.md about one slot of it (invalid, blank, expired,
protected, worth keeping, load, order, cost). Not here: tokens (compared once, in `survey`) and the
rules that choose a slot (`match`, `place`, `park`).
"""

from typing import Literal

from attrs import frozen

from slotd.policy import values
from slotd.policy.settings import PolicySettings
from slotd.policy.story import Stories

SlotOccupancy = Literal["idle", "busy", "yielded"]
"""What a slot is doing: nothing, reading or decoding, or keeping a read that gave way."""

RequestVerb = Literal["GEN", "GENI", "BGEN", "BGENI"]
"""How the request came: solo (GEN, GENI) or for a batch slot (BGEN, BGENI)."""


@frozen
class EngineShape:
    """What the engine said it can do, and how slotd uses it, as far as decisions depend on it."""

    batch_slots: int = 0
    """Number of batch slots; 0 when the engine has none."""
    batch_groups: int = 1
    """Number of pipelined groups the slots are divided into; 1 when it did not say."""
    slot_cache: bool = False
    """A finished slot keeps its conversation."""
    slot_padding_safe: bool = False
    """An idle slot keeps its state while a slot above it in its group runs."""
    slot_park: bool = False
    """The engine reads `park=`."""
    turn_token: int | None = None
    """The token a turn begins with, when the engine said it."""
    park_admits: bool = False
    """A park is an admission of slotd's own, which runs in its slot for a window or two."""
    low_rows: bool = False
    """Requests go low in their group and parks high, where rows are padded: see `pad_rows`."""

    @property
    def group_size(self) -> int:
        """Slots in a group; all of them when there is one group."""
        return max(1, self.batch_slots // max(1, self.batch_groups))

    @property
    def pads_rows(self) -> bool:
        """Starting a slot costs the idle slots below it in its group their state."""
        return self.batch_groups > 1 and not self.slot_padding_safe


@frozen
class RequestRow:
    """The request to be placed."""

    verb: RequestVerb
    client_slot: int | None
    """The slot number the client wrote, in its own numbering; None for a solo request."""
    prompt: int
    """Length of the prompt in tokens."""
    cvec: int = 1
    images: bool = False

    @property
    def solo(self) -> bool:
        """The request runs on the main session and takes no slot."""
        return self.verb in ("GEN", "GENI")


@frozen
class MainRow:
    """What the main session holds."""

    tokens: int
    age: float
    """Seconds since its last use, never negative."""
    images: bool
    cvec: int
    shared: int
    """Tokens its history and the prompt begin with in common."""
    last_turn: int
    """Tokens before its last turn token; all of them when it holds none or none is known."""
    branches: tuple[int, ...] = ()
    """Lengths at which a slot's history leaves its own and it has a checkpoint."""


@frozen
class SlotRow:
    """What one slot holds and does."""

    slot: int
    """The engine's number of it, which is its place in the table."""
    state: SlotOccupancy
    tokens: int
    """Length of its history; 0 when it holds none."""
    age: float
    """Seconds since its last use, never negative."""
    valid: bool
    images: bool
    cvec: int
    shared: int
    """Tokens its history and the prompt begin with in common."""
    shared_main: int
    """Tokens its history and the main session's begin with in common."""
    superseded: bool
    """Another slot's valid history begins with all of this one (see `survey.superseded`)."""
    checkpoints: tuple[int, ...] = ()
    """Lengths of the checkpoints the engine reported for it."""

    @property
    def idle(self) -> bool:
        """No request reads into it or decodes in it, and no yielded read is kept in it."""
        return self.state == "idle"


@frozen
class Table:
    """All one decision is made from. `slots[n]` is slot n; empty when the engine has no batch."""

    engine: EngineShape
    settings: PolicySettings
    prompt_rate: float
    """The observed prompt rate in tokens a second; 0 when none was observed."""
    request: RequestRow
    main: MainRow | None
    slots: tuple[SlotRow, ...]
    stories: Stories | None = None
    """What else is known of the conversations; None: nothing, and it is not in any log."""


def invalid(table: Table, row: SlotRow) -> bool:
    """Tell whether the state may have been lost: by the engine, to pictures, without slot_cache."""
    return not row.valid or row.images or not table.engine.slot_cache


def holds_history(table: Table, row: SlotRow) -> bool:
    """Tell whether the slot holds a valid history, one that is not empty; superseded ones count."""
    return row.tokens > 0 and not invalid(table, row)


def blank(table: Table, row: SlotRow) -> bool:
    """Tell whether nothing is lost with the slot: empty, invalid, or superseded by another."""
    return row.superseded or not holds_history(table, row)


def expired(table: Table, row: SlotRow) -> bool:
    """Tell whether the history's protection has ended; a blank slot counts as expired."""
    return blank(table, row) or row.age >= values.ttl(row.tokens, table.settings)


def protected(table: Table, row: SlotRow) -> bool:
    """Tell whether the slot holds a history that is still protected: not blank and not expired."""
    return not expired(table, row)


def slot_ttl_left(table: Table, row: SlotRow) -> float:
    """Return the seconds of protection the slot's history has left; 0 when blank or expired."""
    if blank(table, row):
        return 0.0
    return max(0.0, values.ttl(row.tokens, table.settings) - row.age)


def slot_value(table: Table, row: SlotRow) -> float:
    """Return what overwriting the slot loses, the value of its history; 0 when it is blank."""
    if blank(table, row):
        return 0.0
    return values.value(row.tokens, row.age, table.settings)


def slot_retention(table: Table, row: SlotRow) -> float:
    """Return the retention of the slot's history; 0 when it is blank or expired."""
    if blank(table, row):
        return 0.0
    return values.retention(row.tokens, row.age, table.settings)


def slot_score(table: Table, row: SlotRow) -> float:
    """Return the overwrite score of the slot's history; 1 when it is blank."""
    if blank(table, row):
        return 1.0
    return values.overwrite_score(row.tokens, row.age, table.settings)


def worth_keeping(table: Table, row: SlotRow) -> bool:
    """Tell whether the slot is given up last: not blank, and worth at least expired_keep_score."""
    if blank(table, row):
        return False
    return slot_value(table, row) >= table.settings.expired_keep_score


def group(table: Table, row: SlotRow) -> int:
    """Return the pipelined group of the slot; group g holds the slots from g * group size on."""
    return row.slot // table.engine.group_size


def load(table: Table, row: SlotRow) -> int:
    """Return how many slots of the slot's group are busy or keep a yielded read; one group: 0."""
    if table.engine.batch_groups <= 1:
        return 0
    mine = group(table, row)
    return sum(1 for other in table.slots if not other.idle and group(table, other) == mine)


def order(table: Table, row: SlotRow) -> tuple[int, int]:
    """Return the slot's place in the spreading order 0, s, 2s, ..., 1, s+1, ... as a sort key."""
    size = table.engine.group_size
    if table.engine.batch_groups <= 1:
        return (0, row.slot)
    return (row.slot % size, row.slot // size)


def padded(table: Table, row: SlotRow) -> list[SlotRow]:
    """Return the slots that lose their state where a request starts in this one.

    On an engine that pads rows (more than one group, no slot_padding_safe): those below the slot in
    its group in which nothing runs. Otherwise none.
    """
    if not table.engine.pads_rows:
        return []
    first = group(table, row) * table.engine.group_size
    return [other for other in table.slots[first : row.slot] if other.state != "busy"]


def cost(table: Table, row: SlotRow) -> float:
    """Return what starting a request in the slot costs other histories, beside its own.

    The retention of the protected idle histories among those that are padded.
    """
    return sum(slot_retention(table, other) for other in padded(table, row) if other.idle)
