"""What the engine's states hold and do: the main session and the batch slots.

Here: the facts of one state, and the few changes of it that have a name. Not here: which line of
the protocol causes a change (see `client_lines`, `request_lines`, `slot_lines`).
"""

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
    cvec: int = 1
    images: bool = False
    last_use: float = 0.0
    """Seconds; the end of the last request that left something to continue from."""

    def lose(self) -> None:
        """Hold nothing to continue from."""
        self.valid = False

    def forget(self) -> None:
        """Hold nothing, and nothing known that could explain a later reuse."""
        self.history, self.valid = History(), False


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

    @property
    def taken(self) -> bool:
        """A client's request is in it: its client number must go on meaning it."""
        return self.activity in (Activity.READING, Activity.DECODING, Activity.RESERVED)

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

    def forget(self) -> None:
        """Hold nothing, and nothing known that could explain a later reuse."""
        self.lose()
        self.history, self.unseen, self.pending = History(), 0, None

    def hold(
        self, history: History, *, cvec: int, last_use: float, valid: bool, unseen: int = 0
    ) -> None:
        """Hold a history without pictures; its checkpoints are still to be reported."""
        self.history, self.unseen, self.cvec, self.images = history, unseen, cvec, False
        self.valid = valid and len(history) > 0
        self.last_use, self.checkpoints, self.pending = last_use, (), None

    def decode(self, request: Request) -> None:
        """Begin to decode a request that was admitted; what it holds is known from its prompt."""
        self.activity, self.owner, self.checkpoints, self.unseen = Activity.DECODING, None, (), 0
        self.request, self.generated = request.number, len(request.generated)
        self.cvec, self.images = request.cvec, request.images
        if request.prompt is None or len(request.generated) != 1:
            self.decode_unknown()
            return
        self.history, self.valid = History(request.prompt, request.story), True
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
