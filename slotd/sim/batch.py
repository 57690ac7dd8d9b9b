"""The simulated engine's batch: one window gives every active slot one token.

Lives here: the state that all of the engine's work shares, and the batch window. Must not live
here: requests on the control lines.

Every unit of work is a `Step`: engine time, then output. The engine's clock is the sum of its
steps; nothing here knows any other.
"""

from bisect import insort
from collections.abc import Callable

from attrs import frozen

from slotd.sim.caches import Caches, Decode, Slot
from slotd.sim.inbox import Inbox
from slotd.sim.options import END_TOKEN, SimOptions
from slotd.sim.requests import LedgerRow
from slotd.sim.token_model import TokenModel


@frozen
class Step:
    """One unit of work: it takes `seconds` of engine time, then the engine prints `output`."""

    seconds: float
    output: bytes


class Work:
    """What all of one engine's work shares: caches, input, the clock, the decoding slots."""

    def __init__(
        self, options: SimOptions, model: TokenModel, book: Callable[[LedgerRow], None]
    ) -> None:
        """Begin with empty caches; ``book`` gets a row for every request that ended."""
        self.options = options
        self.caches = Caches(options, model.blank())
        self.inbox = Inbox(options.frames, options.stop)
        self.book = book
        self.now = 0.0
        """Seconds of work done since the start."""
        self.reading = False
        """A request is on the control lines."""
        self.requests = 0
        """Requests accepted so far; likewise the next two."""
        self.parks = 0
        self.admissions = 0
        self._active: list[tuple[int, Slot, Decode]] = []

    def step(self, seconds: float, *lines: bytes) -> Step:
        """Give a unit of work of so many seconds that prints these lines."""
        self.now += seconds
        return Step(seconds, b"".join(line + b"\n" for line in lines))

    @property
    def decoding(self) -> bool:
        """Whether any slot is active."""
        return bool(self._active)

    def admit(self, slot: int, token: int, max_new: int, started: float) -> None:
        """Let the prompt just read go on in ``slot`` from ``started``, after its first token."""
        faults = self.options.faults
        fails = self.admissions in faults.decodes
        decode = Decode(token, 1, max_new, started, False, faults.decode_windows if fails else None)
        self.caches.admit(slot, decode)
        insort(self._active, (slot, self.caches.slots[slot], decode), key=lambda each: each[0])

    def stop_slot(self, slot: int) -> None:
        """`BSTOP`: end the slot's request at its next window; nothing where none decodes."""
        if 0 <= slot < len(self.caches.slots):
            decode = self.caches.slots[slot].decode
            if decode is not None:
                decode.stop = True

    def window(self) -> Step:
        """One token for every active slot.

        This is the hot path of long replays, hence plain loops and no helper per token.
        """
        seconds = self.options.timing.window_seconds(len(self._active))
        self.now += seconds
        if self.options.pad_rows:
            self.caches.lose_pad_rows([row for row, _, _ in self._active])
        lines = []
        ended = False
        for row, slot, decode in self._active:
            if decode.windows_to_error is not None:
                decode.windows_to_error -= 1
                if decode.windows_to_error < 1:
                    lines.append(self._end(row, slot, decode, "error"))
                    ended = True
                    continue
            session = slot.session
            session.tail.append(decode.last)
            session.state, token = session.state.next(decode.last)
            decode.last = token
            decode.generated += 1
            lines.append(b"BT %d %d\n" % (row, token))
            if token == END_TOKEN or decode.stop or decode.generated >= decode.max_new:
                finish = "stop" if token == END_TOKEN else "cancel" if decode.stop else "length"
                lines.append(self._end(row, slot, decode, finish))
                ended = True
        if ended:
            self._active = [each for each in self._active if each[1].decode is not None]
        return Step(seconds, b"".join(lines))

    def _end(self, row: int, slot: Slot, decode: Decode, finish: str) -> bytes:
        """Free the slot and return its BDONE line."""
        slot.decode = None
        slot.cached = self.options.slot_cache and not slot.images and finish != "error"
        ms = (self.now - decode.started) * 1000
        more = self.options.batch_done_fields
        line = f"BDONE {row} {decode.generated} {finish} {ms:.1f}" + (f" {more}" if more else "")
        return line.encode() + b"\n"
