"""What goes into the modelled serve process and what comes out of it.

Lives here: requests, the legs they ran in, the events a client of the serve process sees, and what
the serve process knows of a request that runs. Must not live here: any decision
(`slotd.sim.serve_rules`) or the state machine (`slotd.sim.serve`).
"""

import numpy as np
from attrs import Factory, define, field, frozen

from protocol.engine import Done
from protocol.tokens import TokenIds, format_ids


class EngineEndedError(Exception):
    """A request came after the engine's output had ended."""


@frozen
class ServeSettings:
    """How the serve process behaves where the engine leaves it a choice.

    `long_read`: the tokens left to read from which a read may give way. `stale_lines`: send every
    `STOP`, `BSTOP` and `BYIELD` that could have crossed with the end of what it was for, right
    after that end (what a slower serve process does by chance). `every_token`: tell of every
    token; otherwise only of a request's first one, which is quicker (`Ended` has them all).
    """

    long_read: int = 4096
    stale_lines: bool = False
    every_token: bool = True


@frozen(eq=False)
class Request:
    """One request of an HTTP client.

    `prompt` has shape (tokens,). `keys` are written on every line of the request as they are.
    `pictures` names the file of a request with pictures. `cvec` is written when it is not 1.
    """

    id: str
    prompt: TokenIds
    max_new: int
    keys: tuple[tuple[str, str], ...] = ()
    cvec: int = 1
    pictures: str | None = None


@frozen
class Leg:
    """One stretch of a request on the control lines (and in the slot it went on in).

    `verb` and `slot` as sent (`slot` is the serve process's number, None for a solo leg); `prompt`
    is the length of what was sent, `resumed` what the engine reused of it, `source` the slot it
    said it resumed from (None: it did not say; -1: no slot), `read` the tokens read by this leg.
    All in tokens.
    """

    verb: str
    slot: int | None
    prompt: int
    resumed: int
    source: int | None
    read: int


@frozen
class TokenArrived:
    """The request got its next token (see `ServeSettings.every_token`)."""

    request: str
    token: int


@frozen
class Ended:
    """The request is over.

    `finish` is "stop", "length", "cancel" (the engine ended it unasked) or "error" (refused, or
    the engine died). `tokens` is everything it got, over all its legs.
    """

    request: str
    finish: str
    tokens: tuple[int, ...]
    legs: tuple[Leg, ...]
    error: str = ""


ServeEvent = TokenArrived | Ended


@define
class Counts:
    """What the serve process has done so far, in times."""

    promoted: int = 0
    returned: int = 0
    yielded: int = 0
    cancelled: int = 0


@define(eq=False)
class Run:
    """A request on its way through the engine.

    `slot` is the slot it decodes in or that keeps the part of its read; `part` the length of that
    part (0: it did not give way). `returning`: a `BSTOP` was sent to take it back to the solo path.
    """

    request: Request
    generated: list[int] = Factory(list)
    legs: list[Leg] = Factory(list)
    slot: int | None = None
    part: int = 0
    returning: bool = False
    cancelled: bool = False
    leg_start: int = 0
    _text: bytes = field(default=b"", init=False)
    _written: int = field(default=0, init=False)

    @property
    def remaining(self) -> int:
        """Tokens it may still get."""
        return self.request.max_new - len(self.generated)

    @property
    def length(self) -> int:
        """The length of its next line's prompt in tokens: the prompt and what it generated."""
        return len(self.request.prompt) + len(self.generated)

    def tokens(self, count: int) -> TokenIds:
        """Return the first `count` tokens of the prompt and what followed it, shape (count,)."""
        prompt = self.request.prompt
        if count <= len(prompt):
            return prompt[:count]
        more = np.array(self.generated[: count - len(prompt)], dtype=np.int32)
        return np.concatenate([prompt, more])

    def line(self, slot: int | None) -> bytes:
        """Write the `GEN*` line (with a slot: the `BGEN*` line) that begins its next leg."""
        request = self.request
        if not self._text:
            self._text = format_ids(request.prompt)
        fresh = self.generated[self._written :]
        if fresh:
            self._text += b"".join(b",%d" % token for token in fresh)
            self._written = len(self.generated)
        verb = ("GEN" if slot is None else "BGEN") + ("" if request.pictures is None else "I")
        fields = [verb] if slot is None else [verb, str(slot)]
        fields.append(str(self.remaining))
        fields += [f"{name}={value}" for name, value in request.keys]
        if request.cvec != 1:
            fields.append(f"cvec={request.cvec}")
        if request.pictures is not None:
            fields.append(request.pictures)
        return " ".join(fields).encode() + b" " + self._text + b"\n"


@define(eq=False)
class Control:
    """The request on the control lines. Lengths in tokens; `sent` is its line's prompt length."""

    run: Run
    slot: int | None
    sent: int
    begun: bool = False
    resumed: int = 0
    source: int | None = None
    read: int = 0
    got: int = 0
    stopped: bool = False
    reserved: int | None = None
    part: int | None = None
    done: Done | None = None

    @property
    def left(self) -> int:
        """Tokens of the prompt that are not read yet."""
        return self.sent - max(self.resumed, self.read)

    def leg(self) -> Leg:
        """Sum up the leg that is over now."""
        read_all = self.got > 0 or (self.done is not None and self.done.finish != "cancel")
        end = self.sent if read_all else self.part or self.read
        return Leg(
            verb="GEN" if self.slot is None else "BGEN",
            slot=self.slot,
            prompt=self.sent,
            resumed=self.resumed,
            source=self.source,
            read=max(0, end - self.resumed),
        )
