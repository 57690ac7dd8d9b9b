"""What the sidecar may do to the lines between a client and an engine, and nothing else.

Lives here: both directions, item by item, with a numbering of the test's own that follows from the
lines alone. Must not live here: what a line means to client or engine.
"""

import re
from collections import deque

GENERATES = frozenset((b"GEN", b"GENI", b"BGEN", b"BGENI"))
ADMISSIONS = frozenset((b"BGEN", b"BGENI"))
SLOT_LINES = frozenset(
    (b"BT", b"BDONE", b"BADM", b"YIELDED", b"PARKED", b"CACHE_SOURCE", b"BCHECKS")
)
_IDS = re.compile(rb"[0-9]+(,[0-9]+)*")
_NUMBER = re.compile(rb"-?[0-9]{1,18}")


def fields_of(line: bytes) -> list[bytes]:
    return line.split()


def number_of(field: bytes) -> int | None:
    return int(field) if _NUMBER.fullmatch(field) else None


class Wire:
    """Watches everything that passes, and knows what must come out."""

    def __init__(self, slots: int) -> None:
        self.engine_slot = list(range(slots))
        """By client number: the engine slot it means."""
        self.off = False
        """No line is decided about, and none ever was."""
        self.keeps_keys = False
        """The client's own `park=` and `slot=` stay."""
        self.ends = False
        """The client writes nothing more: its last line may have no end."""
        self.hung_up = False
        """The client has closed its pipe: nothing reaches the engine any more."""
        self.drains = False
        """The client has gone and what it had asked for is stopped, by lines of slotd's own."""
        self._written: deque[bytes] = deque()
        self._passed = bytearray()
        self._said = bytearray()
        self._heard = bytearray()

    # -- client to engine ------------------------------------------------------------------------

    def wrote(self, item: bytes) -> None:
        """Take note of a line or a frame the client writes."""
        self._written.append(item)

    def passed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Take what the sidecar writes to the engine; return each item with what the client wrote.

        Raises AssertionError for anything that is not the next item as it must be.
        """
        if self.drains:
            return [(raw, raw) for raw in complete_lines(self._passed, data)]
        self._passed += data
        done = []
        while self._written and (raw := self._next_passed(self._written[0])):
            item = self._written.popleft()
            self._check_passed(item, raw)
            done.append((item, raw))
        assert self._written or not self._passed, bytes(self._passed)
        return done

    def leave(self) -> None:
        """Take note that the client has gone, with what it has written and slotd has not sent."""
        self._written.clear()
        self._passed.clear()
        self.drains = True

    def nothing_waits(self) -> None:
        """Raise AssertionError when the sidecar, which has had everything, keeps an item back."""
        assert not self._written or not self._written[0].endswith(b"\n"), self._written

    def _next_passed(self, item: bytes) -> bytes:
        """Take what an item has become off what has passed; nothing: it has not all passed."""
        end = len(item) if is_frame(item) else self._passed.find(b"\n") + 1
        if self.ends and not is_frame(item) and not item.endswith(b"\n"):
            end = len(self._passed)
        if end > len(self._passed):
            return b""
        raw = bytes(self._passed[:end])
        del self._passed[:end]
        return raw

    def _check_passed(self, item: bytes, raw: bytes) -> None:
        fields = fields_of(item)
        verb = fields[0] if fields and not is_frame(item) else b""
        if self.off:
            assert raw == item
        elif verb in GENERATES and len(fields) > 1:
            self._check_request(item, raw, verb)
        elif verb in (b"BSTOP", b"BYIELD") and len(fields) > 1 and item.startswith(verb + b" "):
            self._check_slot_line(item, raw, verb)
        else:
            assert raw == item

    def _check_slot_line(self, item: bytes, raw: bytes, verb: bytes) -> None:
        number, slot = number_of(fields_of(item)[1]), number_of(fields_of(raw)[1])
        if number is None or not 0 <= number < len(self.engine_slot):
            assert raw == item
            return
        assert _with_slot(item, slot) == raw
        assert slot is not None
        if verb == b"BYIELD":
            self._choose(number, slot)
        assert self.engine_slot[number] == slot

    def _check_request(self, item: bytes, raw: bytes, verb: bytes) -> None:
        number = number_of(fields_of(item)[1]) if verb in ADMISSIONS else None
        if number is not None and 0 <= number < len(self.engine_slot):
            slot = number_of(fields_of(raw)[1])
            assert slot is not None
            self._choose(number, slot)
            item = _with_slot(item, slot)
        if not is_request(item, verb):
            # No request: whatever it is, its slot is all that changes.
            assert raw == item
            return
        bare, added = _without_slot_keys(raw)
        without, own = _without_slot_keys(item)
        assert bare == without, (item, raw)
        if self.keeps_keys:
            assert added | {name: self._mapped(value) for name, value in own.items()} == added
            return
        if b"slot" in added:
            assert added[b"slot"] == fields_of(raw)[1]
        if b"park" in added:
            assert 0 <= int(added[b"park"]) < len(self.engine_slot)
            assert added[b"park"] != fields_of(raw)[1] or verb not in ADMISSIONS

    def _mapped(self, value: bytes) -> bytes:
        number = number_of(value)
        if number is None or not 0 <= number < len(self.engine_slot):
            return value
        return b"%d" % self.engine_slot[number]

    def _choose(self, number: int, slot: int) -> None:
        """Follow a choice: the number that meant the slot gets the one this number meant."""
        assert 0 <= slot < len(self.engine_slot)
        other = self.engine_slot.index(slot)
        self.engine_slot[other], self.engine_slot[number] = self.engine_slot[number], slot

    # -- engine to client ------------------------------------------------------------------------

    def said(self, data: bytes) -> list[bytes]:
        """Take what the engine writes; return its complete lines."""
        return complete_lines(self._said, data)

    def for_client(self, said: list[bytes]) -> list[bytes]:
        """Return those of the engine's lines that the client is to get."""
        return said

    def heard(self, data: bytes, said: list[bytes]) -> None:
        """Take what the sidecar then writes to the client: just those lines, in its numbers."""
        assert complete_lines(self._heard, data) == [self.in_client_numbers(line) for line in said]
        assert not self._heard

    def in_client_numbers(self, line: bytes) -> bytes:
        fields = fields_of(line)
        if len(fields) < 2 or fields[0] not in SLOT_LINES:
            return line
        slot = number_of(fields[1])
        if slot is None or slot not in self.engine_slot:
            return line
        return _with_slot(line, self.engine_slot.index(slot))


def is_request(line: bytes, verb: bytes) -> bool:
    """Tell whether a line's fields are all there: numbers, keys, with pictures a file, ids."""
    fields = fields_of(line)[1:]
    numbers = 2 if verb in ADMISSIONS else 1
    rest = fields[numbers:]
    while rest and b"=" in rest[0]:
        rest = rest[1:]
    rest = rest[1:] if verb.endswith(b"I") else rest
    known = all(number_of(field) is not None for field in fields[:numbers])
    return known and bool(rest) and _IDS.fullmatch(rest[0]) is not None


def is_frame(item: bytes) -> bool:
    """Tell whether an item of the client's is a frame, which is more than a line."""
    return item.startswith(b"GENG") and b"\n" in item[:-1]


def complete_lines(held: bytearray, data: bytes) -> list[bytes]:
    """Add bytes to those held; take the complete lines off them."""
    held += data
    *whole, rest = bytes(held).split(b"\n")
    held[:] = rest
    return [line + b"\n" for line in whole]


def _with_slot(line: bytes, slot: int | None) -> bytes:
    assert slot is not None
    return re.sub(rb"^(\s*\S+\s+)\S+", lambda found: found[1] + b"%d" % slot, line, count=1)


def _without_slot_keys(line: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the line without the keys slotd may write or take out, and those keys."""
    parts = re.findall(rb"\s*\S+|\s+$", line)
    kept, keys = [], dict[bytes, bytes]()
    verb = fields_of(line)[0]
    at = 3 if verb in ADMISSIONS else 2
    kept += parts[:at]
    for index, part in enumerate(parts[at:], at):
        name, equals, value = part.strip().partition(b"=")
        if not equals:
            kept += parts[index:]
            break
        if name in (b"slot", b"park"):
            keys[name] = value
        else:
            kept.append(part)
    return b"".join(kept), keys
