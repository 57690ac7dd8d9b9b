"""The wire with requests of slotd's own on it: which lines are its own, and what may wait for them.

Lives here: telling slotd's lines from the client's by what either wrote and by what the engine
answers in turn, and the order the client's may leave in meanwhile. Must not live here: anything the
sidecar itself believes of it.
"""

import re
from enum import Enum

from attrs import define

from tests.model_equivalence.wire import (
    ADMISSIONS,
    GENERATES,
    Wire,
    complete_lines,
    fields_of,
    is_frame,
    is_request,
    number_of,
)

_OWN = re.compile(rb"BGEN (\d+) 2 (?:cvec=\d+ )?([\d,]+)\n")
_CONTROL = frozenset((b"RESUME", b"CACHE_SOURCE", b"PP", b"T", b"DONE", b"BADM", b"ERR"))
_UNHURRIED = (b"STOP", b"BYIELD", b"BSTOP")
"""Verbs of lines that may leave once the request that waited has begun."""


class Stage(Enum):
    """How far slotd's own request is, by what the engine has said of it."""

    READS = "reads"
    READ = "read"
    """Its first token is out."""
    DECODES = "decodes"
    OVER = "over"


@define
class Own:
    """One request of slotd's own, and the client's request that waits for it."""

    slot: int
    stage: Stage = Stage.READS
    stop_is_due: bool = False
    """The engine has said that it goes on in its slot, where slotd stops it at once."""
    batch: bool = False
    """What waits is an admission."""
    gone: bool = False
    """It has left for the engine."""
    begun: bool = False
    """The engine has said something of it."""


class OwnWire(Wire):
    """Watches everything that passes beside requests of slotd's own.

    Which numbers mean which slots is the sidecar's word here (see `agree`): a request that waits
    has been decided about before it passes.
    """

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self._own: Own | None = None
        self._before = list(self.engine_slot)
        self.own_requests = 0

    def agree(self, engine_slot: list[int]) -> None:
        """Take over the sidecar's numbering; lines of the same chunk may still go by the old."""
        self._before, self.engine_slot = self.engine_slot, engine_slot

    def leave(self) -> None:
        super().leave()
        if self._own is not None:
            self._own.begun = self._own.begun or not self._own.gone

    @property
    def own_slot(self) -> int | None:
        """The engine slot that slotd's own request is in, or going to."""
        own = self._own
        return None if own is None or own.stage is Stage.OVER else own.slot

    @property
    def undone(self) -> bool:
        """Something of a park is under way: the client's lines may wait."""
        own = self._own
        return own is not None and not (own.stage is Stage.OVER and own.begun)

    # -- client to engine ------------------------------------------------------------------------

    def passed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        if self.drains:
            return super().passed(data)
        self._passed += data
        done = []
        while self._passed:
            line = bytes(self._passed[: self._passed.find(b"\n") + 1])
            if self._is_own_line(line):
                item = raw = line
                del self._passed[: len(line)]
            else:
                at = self._overtaking(line) if self.undone else 0
                assert at < len(self._written), bytes(self._passed)
                item = self._written[at]
                raw = self._next_passed(item)
                if not raw:
                    break
                del self._written[at]
                self._check_turn(item)
                self._check_passed(item, raw)
            done.append((item, raw))
        return done

    def nothing_waits(self) -> None:
        """As ever, but for what waits for a park, and a frame that waits for its request."""
        if not self.undone and not (self._written and is_frame(self._written[0])):
            super().nothing_waits()

    def _is_own_line(self, line: bytes) -> bool:
        own = self._own
        if own is not None and own.stop_is_due and line == b"BSTOP %d\n" % own.slot:
            own.stop_is_due = False
            return True
        found = _OWN.fullmatch(line)
        waiting = next((item for item in self._written if not is_frame(item)), b"")
        fields = fields_of(waiting)
        if found is None or not fields or found[2] in fields:
            return False
        # It comes before a request, with nothing between, and never beside another of its kind.
        assert fields[0] in GENERATES
        assert is_request(waiting, fields[0])
        assert self._own is None or self._own.stage is Stage.OVER
        self._own = Own(int(found[1]), batch=fields[0] in ADMISSIONS)
        self.own_requests += 1
        return True

    def _overtaking(self, line: bytes) -> int:
        """Return the place of the item that a line is which passes while others wait."""
        first = fields_of(self._written[0]) if self._written else []
        if not line.startswith(b"BSTOP ") or first[:1] == [b"BSTOP"]:
            return 0
        slot, names = number_of(fields_of(line)[1]), set[int | None]()
        for at, item in enumerate(self._written):
            fields = [] if is_frame(item) else fields_of(item)
            number = number_of(fields[1]) if len(fields) > 1 else None
            if fields[:1] == [b"BSTOP"] and number not in names and self._means(number, slot):
                return at
            if fields[:1] and fields[0] in ADMISSIONS:
                names.add(number)
        return 0

    def _means(self, number: int | None, slot: int | None) -> bool:
        if number is None or not 0 <= number < len(self.engine_slot):
            return number == slot
        return slot in (self.engine_slot[number], self._before[number])

    def _check_turn(self, item: bytes) -> None:
        """Check that an item that passes had no reason to wait any longer."""
        own = self._own
        if own is None or not self.undone:
            return
        if not own.gone:
            verb = b"" if is_frame(item) else fields_of(item)[0]
            if verb == b"BSTOP" and item.endswith(b"\n"):
                return
            ready = own.stage is Stage.OVER or (own.batch and own.stage is not Stage.READS)
            assert ready, (item, own)
            own.gone = verb in GENERATES
        elif not own.begun:
            assert fields_of(item)[:1] == [b"BSTOP"], (item, own)
        else:
            assert own.stage is Stage.OVER or fields_of(item)[0] in _UNHURRIED, (item, own)
        assert item.endswith(b"\n") or own.stage is Stage.OVER, (item, own)

    def _check_slot_line(self, item: bytes, raw: bytes, verb: bytes) -> None:
        number, slot = number_of(fields_of(item)[1]), number_of(fields_of(raw)[1])
        assert self._means(number, slot), (item, raw)
        assert fields_of(item)[2:] == fields_of(raw)[2:]

    def _choose(self, number: int, slot: int) -> None:
        assert self._means(number, slot), (number, slot, self.engine_slot)

    # -- engine to client ------------------------------------------------------------------------

    def for_client(self, said: list[bytes]) -> list[bytes]:
        return [line for line in said if not self._is_about_own(line)]

    def _is_about_own(self, line: bytes) -> bool:
        """Follow the engine's answers; tell whether a line is one to slotd's own request."""
        own, (verb, *fields) = self._own, fields_of(line) or [b""]
        if own is None:
            return False
        mine = verb.startswith(b"B") and bool(fields) and fields[0] == b"%d" % own.slot
        match own.stage:
            case Stage.READS | Stage.READ if verb in _CONTROL or (mine and verb == b"BCHECKS"):
                if verb == b"T":
                    own.stage = Stage.READ
                elif verb == b"ERR" or (verb == b"BADM" and fields[1] == b"0"):
                    own.stage = Stage.OVER
                elif verb == b"BADM":
                    own.stage, own.stop_is_due = Stage.DECODES, True
                return True
            case Stage.DECODES if mine and verb in (b"BT", b"BDONE", b"BCHECKS"):
                if verb == b"BDONE":
                    own.stage = Stage.OVER
                return True
        own.begun = own.begun or verb in _CONTROL
        return False

    def heard(self, data: bytes, said: list[bytes]) -> None:
        for got, line in zip(complete_lines(self._heard, data), said, strict=True):
            now, self.engine_slot = self.engine_slot, self._before
            before = self.in_client_numbers(line)
            self.engine_slot = now
            assert got in (before, self.in_client_numbers(line))
        assert not self._heard
        if self.drains and self._own is not None:
            self._own.stop_is_due = False
