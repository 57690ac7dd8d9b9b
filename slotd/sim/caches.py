"""What the simulated engine holds: the main session, the slots, and their checkpoints.

Lives here: states with their tokens, where a prompt can be resumed from, and every copy between
the main session and the slots. Must not live here: lines, time, or the order of events.

Token arrays are shared between copies and never written to.
"""

from typing import Literal

import numpy as np
from attrs import Factory, define, frozen

from protocol.tokens import EMPTY, TokenIds, common_prefix, last_index
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.token_model import TokenState

How = Literal["none", "main", "main checkpoint", "slot", "slot checkpoint"]
"""What a read is resumed from."""


@define
class Session:
    """The tokens that one state has consumed, and that state."""

    base: TokenIds
    state: TokenState
    tail: list[int] = Factory(list)
    """Tokens consumed one by one since `base` was an array."""

    def __len__(self) -> int:
        """Tokens consumed."""
        return len(self.base) + len(self.tail)

    def tokens(self) -> TokenIds:
        """Give the tokens consumed as one read-only array, shape (tokens,)."""
        if self.tail:
            base = np.concatenate((self.base, np.array(self.tail, dtype=np.int32)))
            base.flags.writeable = False
            self.base, self.tail = base, []
        return self.base

    def copy(self) -> "Session":
        """Give the same state, to go on by itself."""
        return Session(self.tokens(), self.state)

    def cut(self, checkpoint: "Checkpoint") -> "Session":
        """Give the session as it was at one of its checkpoints."""
        return Session(self.tokens()[: checkpoint.length], checkpoint.state)


@frozen
class Checkpoint:
    """A state saved after the first `length` tokens of its session."""

    length: int
    state: TokenState


@define
class Main:
    """The main session: what a solo request runs on and every prompt is read through."""

    session: Session
    usable: bool = False
    """Whether the whole of it can be continued and parked; never with pictures."""

    images: bool = False
    cvec: int = 1
    checkpoints: list[Checkpoint] = Factory(list)


@define
class Decode:
    """A request that goes on in a slot."""

    last: int
    """The token picked last; the next window consumes it."""

    generated: int
    max_new: int
    started: float
    """When it was admitted, in seconds of engine time."""

    stop: bool = False
    windows_to_error: int | None = None
    """Windows left until it fails on purpose."""


@define
class Slot:
    """A batch slot: idle (`decode` None) or decoding."""

    session: Session
    cached: bool = False
    """Whether an idle slot's state can be continued."""

    partial: bool = False
    """Whether it keeps the part of a prompt that gave way."""

    images: bool = False
    cvec: int = 1
    checkpoints: list[Checkpoint] = Factory(list)
    decode: Decode | None = None

    def held(self) -> bool:
        """Whether the slot is idle and a prompt could continue its state."""
        return self.cached and self.decode is None


@frozen
class Source:
    """Where a read is resumed from."""

    how: How
    tokens: int = 0
    """Prompt tokens that are reused."""

    slot: int = -1
    """The slot they come from; -1: the main session, or nothing."""

    checkpoint: Checkpoint | None = None


@frozen
class Held:
    """What one cache really holds; tests compare a model of the engine with it."""

    state: Literal["idle", "busy", "yielded"]
    tokens: TokenIds
    valid: bool
    """Whether the whole of it is a state: it is busy, or a prompt could continue it."""

    images: bool
    cvec: int
    checkpoints: tuple[int, ...]
    """Lengths, ascending. The main session's can be resumed from even where it is not valid."""


@frozen
class Holdings:
    """What the whole engine holds."""

    main: Held
    slots: tuple[Held, ...]


def last_turn(tokens: TokenIds) -> int | None:
    """Where the last turn of a conversation begins: the place of its last turn token, or None."""
    return last_index(tokens, TURN_TOKEN)


class Caches:
    """The main session and the slots of one engine."""

    def __init__(self, options: SimOptions, blank: TokenState) -> None:
        """Begin with nothing held; ``blank`` is the model's state that has consumed nothing."""
        self._options = options
        self._blank = blank
        self.main = Main(self._empty())
        self.slots = [Slot(self._empty()) for _ in range(options.batch_slots)]

    def _empty(self) -> Session:
        return Session(EMPTY, self._blank)

    def idle(self, slot: int) -> bool:
        """Whether there is such a slot and nothing decodes in it."""
        return 0 <= slot < len(self.slots) and self.slots[slot].decode is None

    def clear_slot(self, slot: int) -> None:
        """Leave a slot with nothing."""
        self.slots[slot] = Slot(self._empty())

    # -- where a read starts ---------------------------------------------------------------------

    def find_source(self, prompt: TokenIds, cvec: int, images: bool) -> Source:
        """Find what holds the longest start of the prompt, at most all its tokens but one.

        At equal lengths the main session comes first, a whole state before a checkpoint, and a
        lower slot before a higher one. Only equal `cvec` counts, and pictures never match.
        """
        best = Source("none")
        if images:
            return best
        # The main session's checkpoints outlive a read that was stopped, and, as in the reference
        # engine, one with pictures.
        main = self.main
        if cvec == main.cvec and (main.usable or main.checkpoints):
            shared = _reusable(main.session, prompt)
            if main.usable and 0 < len(main.session) <= shared:
                best = Source("main", len(main.session))
            best = _deepest(best, main.checkpoints, shared, "main checkpoint", -1)
        for number, slot in enumerate(self.slots):
            if not slot.held() or slot.cvec != cvec:
                continue
            shared = _reusable(slot.session, prompt)
            if best.tokens < len(slot.session) <= shared:
                best = Source("slot", len(slot.session), number)
            best = _deepest(best, slot.checkpoints, shared, "slot checkpoint", number)
        return best

    def branch_point(self, prompt: TokenIds) -> int:
        """How far the prompt runs along any conversation held before it leaves it, in tokens."""
        held = [slot.session for slot in self.slots if slot.held()]
        if self.main.usable:
            held.append(self.main.session)
        return max((common_prefix(session.tokens(), prompt) for session in held), default=0)

    def restore(self, source: Source, into: int | None, images: bool, cvec: int) -> None:
        """Make the main session what a read resumes from (until the read ends: not usable).

        A slot's whole state comes without its checkpoints, except the part of a prompt that gave
        way and is now admitted to its own slot ``into``; a checkpoint brings the shallower ones.
        """
        main = self.main
        if source.how == "none":
            main.session, main.checkpoints = self._empty(), []
        elif source.how == "slot":
            slot = self.slots[source.slot]
            main.session = slot.session.copy()
            own_part = slot.partial and into == source.slot
            main.checkpoints = list(slot.checkpoints) if own_part else []
            slot.partial = False
        elif source.checkpoint is not None:
            owner = main if source.slot < 0 else self.slots[source.slot]
            main.session = owner.session.cut(source.checkpoint)
            main.checkpoints = list(owner.checkpoints)
        main.checkpoints = [c for c in main.checkpoints if c.length <= source.tokens]
        main.usable, main.images, main.cvec = False, images, cvec

    # -- parks, yields, admissions ---------------------------------------------------------------

    def continues_main(self, prompt: TokenIds) -> bool:
        """Whether the prompt is the main session's conversation: the same up to its last turn.

        Where INFO has no turn token, any difference makes it another conversation.
        """
        tokens = self.main.session.tokens()
        turn = last_turn(tokens) if self._options.announce_turn_token else None
        edge = len(tokens) if turn is None else turn
        return common_prefix(tokens[:edge], prompt) == edge

    def park_refusal(
        self, slot: int, prompt: TokenIds, source: Source, into: int | None
    ) -> str | None:
        """Why ``park=<slot>`` is not used for this request, or None when it is."""
        if not self.idle(slot):
            return "no idle slot of that number"
        if slot in (source.slot, into):
            return "the request itself needs that slot"
        if not self.main.usable or not len(self.main.session):
            return "the main session holds nothing that could be kept"
        if self.continues_main(prompt):
            return "the prompt continues the main session's conversation"
        return None

    def park(self, slot: int) -> None:
        """Copy the main session and its deepest checkpoints into an idle slot."""
        main = self.main
        self.slots[slot] = Slot(
            main.session.copy(),
            cached=self._options.slot_cache,
            cvec=main.cvec,
            checkpoints=self._deepest_of_main(),
        )

    def keep_part(self, slot: int) -> None:
        """Keep the part of a prompt that was read, with all its checkpoints, in an idle slot."""
        main = self.main
        self.slots[slot] = Slot(
            main.session.copy(),
            cached=True,
            partial=True,
            cvec=main.cvec,
            checkpoints=list(main.checkpoints),
        )

    def admit(self, slot: int, decode: Decode) -> None:
        """Copy the prompt that the main session has read into a slot, where it goes on."""
        main = self.main
        self.slots[slot] = Slot(
            main.session.copy(),
            images=main.images,
            cvec=main.cvec,
            checkpoints=[] if main.images else self._deepest_of_main(len(main.session)),
            decode=decode,
        )

    def _deepest_of_main(self, below: int | None = None) -> list[Checkpoint]:
        kept = [c for c in self.main.checkpoints if below is None or c.length < below]
        return kept[-self._options.slot_checkpoints :]

    def lose_pad_rows(self, rows: list[int]) -> None:
        """Spoil the idle slots below each group's last active one, as a window of spans does."""
        size = self._options.batch_slots // self._options.groups
        highest: dict[int, int] = {}
        for row in rows:
            highest[row // size] = row
        for group, last in highest.items():
            for number in range(group * size, last):
                if self.slots[number].decode is None:
                    self.slots[number].cached = False

    # -- inspection ------------------------------------------------------------------------------

    def holds(self, reading: bool) -> Holdings:
        """Everything held; ``reading``: a request is on the control lines."""
        main = self.main
        return Holdings(
            Held(
                "busy" if reading else "idle",
                main.session.tokens(),
                main.usable,
                main.images,
                main.cvec,
                tuple(c.length for c in main.checkpoints),
            ),
            tuple(_held(slot) for slot in self.slots),
        )


def _held(slot: Slot) -> Held:
    busy = slot.decode is not None
    return Held(
        "busy" if busy else "yielded" if slot.partial and slot.cached else "idle",
        slot.session.tokens(),
        busy or slot.cached,
        slot.images,
        slot.cvec,
        tuple(c.length for c in slot.checkpoints),
    )


def _reusable(session: Session, prompt: TokenIds) -> int:
    """How many tokens of the session start the prompt, at most all of the prompt but one."""
    return min(common_prefix(session.tokens(), prompt), len(prompt) - 1)


def _deepest(
    best: Source, checkpoints: list[Checkpoint], shared: int, how: How, slot: int
) -> Source:
    """Find the deepest checkpoint within ``shared`` tokens, where it is deeper than ``best``."""
    for checkpoint in checkpoints:
        if best.tokens < checkpoint.length <= shared:
            best = Source(how, checkpoint.length, slot, checkpoint)
    return best
