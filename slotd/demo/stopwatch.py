"""Engine time until a first token, from the figures the engine prints.

Lives here: what a request waited for on the control lines. Must not live here: a clock; a clock of
this process would also measure how busy the machine is.

slotd's own requests are not seen here; slotd's log tells of them (`parks`).

A request's time to first token is its own read (`DONE`'s prompt_ms) and all that ran on the control
lines between its arrival and its turn: reads, decoding there, copies into slots. A request that was
decoding there when it arrived is stopped within one step, which is not counted; nothing may arrive
during a read.
"""

from attrs import define, field

from protocol.engine import Admitted, Done, EngineLine
from slotd.sim.timing import Timing


@define(eq=False)
class Wait:
    """One request's way to its first token."""

    since: float | None
    """The control lines' time when it arrived, in ms; None: to be taken when they are free."""

    first_token_ms: float | None = None

    number: int = 0
    """The place of its first line among all requests' lines, from 1: slotd's number of it."""


@define(eq=False)
class Stopwatch:
    """Follows the lines of both directions."""

    _timing: Timing = field(factory=Timing)
    _spent: float = 0.0
    _busy: bool = False
    _prompt: int = 0
    _waiting: list[Wait] = field(factory=list)
    _reading: Wait | None = None
    _lines: int = 0

    def arrived(self) -> Wait:
        """Note that a request has arrived, before its line is sent."""
        wait = Wait(None if self._busy else self._spent)
        if self._busy:
            self._waiting.append(wait)
        return wait

    def sent(self, line: bytes) -> None:
        """Note a line sent to the engine."""
        if line.startswith((b"GEN", b"BGEN")):
            self._busy = True
            self._lines += 1

    def first_token(self, wait: Wait) -> None:
        """Note that the first token of a request has come."""
        self._reading = wait
        wait.number = wait.number or self._lines

    def heard(self, line: EngineLine) -> None:
        """Note a line of the engine."""
        if isinstance(line, Done):
            wait, self._reading = self._reading, None
            if wait is not None and wait.since is not None:
                wait.first_token_ms = self._spent - wait.since + line.prompt_ms
            self._spent += line.prompt_ms + line.decode_ms
            self._prompt = line.prompt
            self._free()
        elif isinstance(line, Admitted) and line.goes_on:
            self._spent += 1000 * self._timing.copy_seconds(self._prompt)

    def _free(self) -> None:
        self._busy = False
        for wait in self._waiting:
            wait.since = self._spent
        self._waiting.clear()
