"""Client lines that wait while a request of slotd's own is on the control lines.

Here: the request a park is for, what the client writes after it, and when each of them goes on. Not
here: slotd's own request (`own_park`), and what becomes of a line when it goes on (`sidecar`).

The request waits until nothing that slotd may still send could touch it. What follows it waits in
order: a `STOP`, `BYIELD` or the `BSTOP` of its slot until the engine has begun it, since an engine
drops what it sees before; anything else until slotd's own request has left its slot, too. A `BSTOP`
of another slot never waits. A last line that the end of the client's stream cut off waits until
everything else has left, since nothing may come behind it.
"""

from collections import deque

from attrs import Factory, define, frozen

from protocol import BatchStop, BatchYield, ClientLine, Generate, Stop
from slotd.core.flight import Phase, Request
from slotd.core.model import Model
from slotd.core.own_park import OwnPark, Stage

MOST_LINES = 16
"""Lines that may wait behind the request; a serve process has a `STOP` and a `BYIELD`."""
MOST_BYTES = 4 << 20
"""What they may amount to: two of the longest prompts."""


@frozen
class Waiting:
    """One item the client wrote: a line, or a piece of one that is too long to be read."""

    raw: bytes
    line: ClientLine | None
    """None: the rest of a line whose first piece stood for all of it."""
    goes_on: bool = False
    """It is a piece of a line that goes on."""

    @property
    def whole(self) -> bool:
        """Something else may come behind it."""
        return self.raw.endswith(b"\n")


@define(eq=False)
class Detour:
    """One park by a request of slotd's own, and the client's lines it holds up."""

    park: OwnPark
    raw: bytes
    """The client's request, as it will leave for the engine."""
    client_slot: int | None
    """The client's number of the slot it is admitted to; None for a solo request."""
    request: Request | None
    """It as the model follows it; None where it does not."""
    gone: bool = False
    """It has left for the engine."""
    closed: bool = True
    """What the client writes waits; once it is false, everything passes as ever."""
    behind: deque[Waiting] = Factory(deque)
    size: int = 0
    """Bytes that wait behind it."""

    def hold(self, item: Waiting) -> bool:
        """Let an item the client has just written wait; False: it does not.

        It need not, or it would be one too many: then nothing waits any more.
        """
        if not self.closed or self._passes(item):
            return False
        if len(self.behind) == MOST_LINES or self.size + len(item.raw) > MOST_BYTES:
            return self.open(item)
        self.size += len(item.raw)
        self.behind.append(item)
        return True

    def open(self, item: Waiting) -> bool:
        """Let nothing wait any more; False: this item does not either."""
        self.closed = False
        return False

    def _passes(self, item: Waiting) -> bool:
        """Tell whether an item is none of those that wait."""
        line = item.line
        return item.whole and isinstance(line, BatchStop) and not self._about_waiting(line.slot)

    def _about_waiting(self, client_slot: int) -> bool:
        """Tell whether a request that waits, or has not begun, is for this slot number."""
        if client_slot == self.client_slot:
            return True
        lines = (item.line for item in self.behind)
        return any(isinstance(line, Generate) and line.slot == client_slot for line in lines)

    def take_over(self, other: "Detour") -> None:
        """Let everything wait that still waits at another park."""
        self.behind.extend(other.behind)
        self.size += sum(len(item.raw) for item in other.behind)
        other.behind.clear()

    def give_up(self, model: Model) -> None:
        """Drop everything that waits: the client has gone. Slotd's own request comes to its end."""
        self.behind.clear()
        self.closed = False
        if not self.gone and self.request is not None:
            model.flight.drop(self.request)
            model.release(self.request)
        self.gone = True

    def request_may_go(self) -> bool:
        """Tell whether the request may leave.

        An admission may as soon as slotd's own request has generated a token: there is nothing to
        stop any more, and the engine takes it up right after the copy. A solo request waits until
        no slot decodes beside it, and a last line without its end until slotd has nothing to say
        any more. Any goes on at once where the park has failed.
        """
        stage, own = self.park.stage, self.park.request
        if stage is Stage.OVER or not self.raw.endswith(b"\n"):
            return stage is Stage.OVER
        return self.client_slot is not None and (stage is Stage.COPIED or own.read_over)

    def let_request_go(self, model: Model) -> list[bytes]:
        """Return the request, if it has not left; it has now.

        It does not leave where the engine has said something that the client took for its answer:
        an `ERR` that came while no request was on the control lines.
        """
        leaves = [] if self.gone or self._answered(model) else [self.raw]
        self.gone = True
        return leaves

    def next_may_go(self, model: Model) -> bool:
        """Tell whether the first of those behind the request may go on."""
        if not self.behind or not self.gone or not self._begun(model):
            return False
        first = self.behind[0]
        return self.over or (first.whole and isinstance(first.line, Stop | BatchYield | BatchStop))

    def _begun(self, model: Model) -> bool:
        """Tell whether the engine has begun the request: its lines have shown it, or its end."""
        request = self.request
        if request is None:
            return self.over
        return request.phase is not Phase.QUEUED or self._answered(model)

    def _answered(self, model: Model) -> bool:
        """Tell whether the engine's lines have ended the request."""
        return self.request is not None and self.request not in model.flight

    def last_words(self, model: Model) -> bytes:
        """Return the `ERR` of slotd's own request, when the engine has said nothing since.

        Should it end now, it was meant for everybody.
        """
        return b"" if self._begun(model) else self.park.last_words

    @property
    def holds(self) -> bool:
        """Something the client has written has not left for the engine."""
        return not self.gone or len(self.behind) > 0

    @property
    def over(self) -> bool:
        """Slotd's own request has ended."""
        return self.park.stage is Stage.OVER

    def finished(self, model: Model) -> bool:
        """Tell whether nothing is left to be seen to."""
        if not self.over:
            return False
        return not self.closed or (self.gone and not self.behind and self._begun(model))
