"""From what the slots hold to the table a decision is made from.

Here: the only place where the policy compares tokens, and the words of POLICY.md that need them
(superseded, the last turn). Not here: anything that can be said of lengths alone (see `table`).
"""

from collections.abc import Sequence

from attrs import frozen

from protocol.tokens import TokenIds, common_prefix, last_index
from slotd.policy.runs import Runs
from slotd.policy.settings import PolicySettings
from slotd.policy.table import (
    EngineShape,
    MainRow,
    RequestRow,
    RequestVerb,
    SlotOccupancy,
    SlotRow,
    Table,
)

Tokens = TokenIds | Runs
"""A token list: int32 ids of shape (tokens,), or runs of consecutive ids."""


@frozen(eq=False)  # arrays have no truth of being equal
class RequestState:
    """A request that is to be placed, with its prompt."""

    verb: RequestVerb
    client_slot: int | None
    prompt: Tokens
    cvec: int = 1
    images: bool = False


@frozen(eq=False)
class MainState:
    """What the main session holds, when it can be continued from; `last_use` in seconds."""

    tokens: Tokens
    last_use: float
    images: bool = False
    cvec: int = 1
    checkpoints: tuple[int, ...] = ()
    """Lengths it may have checkpoints at, as far as they are known."""


@frozen(eq=False)
class SlotState:
    """What one slot holds and does; `last_use` in seconds on the clock of `now`."""

    state: SlotOccupancy
    tokens: Tokens
    last_use: float
    valid: bool = True
    images: bool = False
    cvec: int = 1
    checkpoints: tuple[int, ...] = ()


@frozen(eq=False)
class _Shared:
    """How much of each slot's history begins the prompt and the main session's, in tokens."""

    prompt: tuple[int, ...]
    main: tuple[int, ...]


def survey(
    *,
    now: float,
    engine: EngineShape,
    settings: PolicySettings,
    prompt_rate: float,
    request: RequestState,
    main: MainState | None,
    slots: Sequence[SlotState],
) -> Table:
    """Compare every history with the prompt, the main session's and the others; return the table.

    `slots[n]` is engine slot n; `now` and the last uses are seconds on one clock, `prompt_rate` is
    tokens a second. A last use after `now` counts as age 0.
    """
    shared = _Shared(
        tuple(shared_start(slot.tokens, request.prompt) for slot in slots),
        tuple(0 if main is None else shared_start(slot.tokens, main.tokens) for slot in slots),
    )
    replaced = superseded(engine, slots, shared)
    rows = tuple(
        SlotRow(
            slot=number,
            state=slot.state,
            tokens=len(slot.tokens),
            age=max(0.0, now - slot.last_use),
            valid=slot.valid,
            images=slot.images,
            cvec=slot.cvec,
            shared=shared.prompt[number],
            shared_main=shared.main[number],
            superseded=number in replaced,
            checkpoints=slot.checkpoints,
        )
        for number, slot in enumerate(slots)
    )
    row = RequestRow(
        request.verb, request.client_slot, len(request.prompt), request.cvec, request.images
    )
    main_row = _main_row(now, engine, request, main, rows)
    return Table(engine, settings, prompt_rate, row, main_row, rows)


def _main_row(
    now: float,
    engine: EngineShape,
    request: RequestState,
    main: MainState | None,
    rows: Sequence[SlotRow],
) -> MainRow | None:
    if main is None:
        return None
    leaving = {row.shared_main for row in rows if row.shared_main < row.tokens}
    return MainRow(
        tokens=len(main.tokens),
        age=max(0.0, now - main.last_use),
        images=main.images,
        cvec=main.cvec,
        shared=shared_start(main.tokens, request.prompt),
        last_turn=last_turn(main.tokens, engine.turn_token),
        branches=tuple(sorted(leaving.intersection(main.checkpoints))),
    )


def superseded(engine: EngineShape, slots: Sequence[SlotState], shared: _Shared) -> frozenset[int]:
    """Return the slots whose valid history another slot's valid history begins with.

    Busy slots and those that keep a yielded read supersede as well, whatever their cvec. Of equal
    histories all but the most recently used are superseded; of equally recent ones, all but the
    lowest slot number. The main session supersedes nothing.
    """
    held = [
        (len(slot.tokens), slot.last_use, -number)
        for number, slot in enumerate(slots)
        if engine.slot_cache and slot.valid and not slot.images and len(slot.tokens)
    ]
    held.sort()
    # Only a history later in this order can supersede one: a longer, else a more recent one.
    ranked = [-number for _, _, number in held]
    return frozenset(
        short
        for at, short in enumerate(ranked)
        if any(_begins(slots, shared, short, long) for long in ranked[at + 1 :])
    )


def _begins(slots: Sequence[SlotState], shared: _Shared, short: int, long: int) -> bool:
    """Tell whether slot `long`'s history, not the shorter one, begins with all of slot `short`'s.

    Two histories that leave a third list at different places leave each other at the earlier one:
    most pairs are told apart by what they share with the prompt, without comparing them.
    """
    length = len(slots[short].tokens)
    known = 0
    for lengths in (shared.prompt, shared.main):
        if lengths[short] != lengths[long]:
            return min(lengths[short], lengths[long]) >= length
        known = max(known, lengths[short])
    if known >= length:
        return True
    return shared_start(slots[short].tokens, slots[long].tokens) == length


def shared_start(a: Tokens, b: Tokens) -> int:
    """Return how many tokens both lists begin with in common."""
    if isinstance(a, Runs) and isinstance(b, Runs):
        return a.common_prefix(b)
    return common_prefix(_ids(a), _ids(b))


def last_turn(tokens: Tokens, turn_token: int | None) -> int:
    """Return the tokens before the last `turn_token`: where the latest reply's turn begins.

    All of them when there is none in the list, or the engine did not say which token it is.
    """
    if turn_token is None:
        return len(tokens)
    if isinstance(tokens, Runs):
        at = tokens.last_index(turn_token)
    else:
        at = last_index(tokens, turn_token)
    return len(tokens) if at is None else at


def _ids(tokens: Tokens) -> TokenIds:
    return tokens.ids() if isinstance(tokens, Runs) else tokens
