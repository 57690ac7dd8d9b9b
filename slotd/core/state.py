"""What the engine's states hold and do: the main session and the batch slots.

Here: the facts of one state, and the few changes of it that have a name. Not here: which line of
the protocol causes a change (see `client_lines`, `request_lines`, `slot_lines`).
"""

from collections.abc import Sequence
from enum import Enum

from attrs import Factory, define

from slotd.core.flight import Request
from slotd.core.history import History


class Activity(Enum):
    """What an engine slot does."""

    IDLE = "idle"
    READING = "reading"
    """An admission to it was sent and has not ended; the slot holds what it held."""
    DECODING = "decoding"
    YIELDED = "yielded"
    """It keeps the part of a read that gave way, for the client number that means it."""
    RESERVED = "reserved"
    """A solo read was asked to give way into it; the slot holds what it held."""


@define(eq=False)
class Main:
    """The main session.

    While nothing can be continued from (`valid` is false) its history is what it last ran over: the
    engine may still have checkpoints of that.
    """

    history: History = Factory(History)
    valid: bool = False
    exact: bool = True
    """It holds its history and not a few accepted drafts more."""
    unknown: bool = False
    """It may hold anything: no later reuse of it contradicts what is believed."""
    cvec: int = 1
    images: bool = False
    last_use: float = 0.0
    """Seconds; the end of the last request that left something to continue from."""
    pending: int | None = None
    """The last token generated, which its state has not consumed. None: not known."""
    asked: int = 0
    """Tokens of the history that were the last request's prompt; the rest is its reply."""
    boundary: int | None = None
    """The deepest checkpoint it has, at a turn; 0: it has none, None: not known."""
    stops: Sequence[int] = ()
    """Lengths at which its read stopped: where a branch begins there, it has a checkpoint."""

    def lose(self) -> None:
        """Hold nothing to continue from."""
        self.valid = False

    def forget(self) -> None:
        """Hold nothing that is known."""
        self.history, self.valid, self.unknown = History(), False, True
        self.pending, self.boundary = None, None


@define(eq=False)
class Slot:
    """One engine slot.

    An invalid slot's history is what it held last: the engine may know better and give it back.
    """

    number: int
    activity: Activity = Activity.IDLE
    history: History = Factory(History)
    valid: bool = False
    unseen: int = 0
    """Tokens it holds beyond its history that no line has shown (a park of accepted drafts)."""
    unknown: bool = False
    """It may hold anything: no later reuse of it contradicts what is believed."""
    cvec: int = 1
    images: bool = False
    checkpoints: tuple[int, ...] = ()
    """Reported checkpoint lengths, none of which was overwritten since."""
    last_use: float = 0.0
    """Seconds."""
    owner: Request | None = None
    """The request reading into it or reserving it."""
    claim: Request | None = None
    """The request that was sent with a park into it."""
    request: int | None = None
    """Number of the request it decodes, or decoded last."""
    pending: int | None = None
    """While decoding: the last token, which its state has not consumed. None: not known."""
    generated: int = 0
    """While decoding: tokens its request has been given."""
    kept_from: float | None = None
    """While slotd's own request decodes in it: the last use of the conversation it keeps."""
    parked: bool = False
    """What it holds was parked there, and nothing has run in it since."""

    @property
    def occupied(self) -> bool:
        """A request is in it, or on its way to it."""
        return self.activity in (Activity.READING, Activity.DECODING, Activity.RESERVED)

    @property
    def own(self) -> bool:
        """The request in it is slotd's own."""
        return self.kept_from is not None or (self.owner is not None and self.owner.own)

    @property
    def taken(self) -> bool:
        """A client's request is in it: its client number must go on meaning it."""
        return self.occupied and not self.own

    @property
    def idle(self) -> bool:
        """Nothing is in it or on its way to it."""
        return self.activity is Activity.IDLE and self.claim is None

    def lose(self) -> None:
        """Hold nothing that can be relied on; a read kept in it is gone with it."""
        self.valid = False
        self.checkpoints = ()
        if self.activity is Activity.YIELDED:
            self.activity = Activity.IDLE

    def clear(self) -> None:
        """Hold nothing, as the engine said."""
        self.lose()
        self.history, self.unseen, self.pending, self.unknown = History(), 0, None, False
        self.parked, self.kept_from = False, None

    def forget(self) -> None:
        """Hold nothing that is known."""
        self.clear()
        self.unknown = True

    def hold(
        self, history: History, *, cvec: int, last_use: float, valid: bool, unseen: int = 0
    ) -> None:
        """Hold a history without pictures; its checkpoints are still to be reported."""
        self.history, self.unseen, self.cvec, self.images = history, unseen, cvec, False
        self.valid, self.unknown = valid and len(history) > 0, False
        self.last_use, self.checkpoints, self.pending = last_use, (), None
        self.parked = False

    def decode(self, request: Request) -> None:
        """Begin to decode a request that was admitted; what it holds is known from its prompt."""
        self.activity, self.owner, self.checkpoints, self.unseen = Activity.DECODING, None, (), 0
        self.request = None if request.own else request.number
        self.generated = len(request.generated)
        self.parked, self.kept_from = request.own, request.kept_from
        self.cvec, self.images = request.cvec, request.images
        if request.prompt is None or len(request.generated) != 1:
            self.decode_unknown()
            return
        self.history, self.valid = History(request.prompt, request.story), True
        self.unknown = False
        self.pending = request.generated[0]

    def decode_unknown(self) -> None:
        """Decode something of which only the tokens to come will be known."""
        self.forget()
        self.activity, self.owner = Activity.DECODING, None

    def release(self, request: Request) -> None:
        """Go back to idle when the request read into it, reserved it or claimed it for a park."""
        if self.owner is request:
            self.owner = None
            if self.activity in (Activity.READING, Activity.RESERVED):
                self.activity = Activity.IDLE
        if self.claim is request:
            self.claim = None
