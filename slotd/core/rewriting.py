"""Lines as slotd passes them on: slot numbers of the other numbering, and the keys of a decision.

Here: bytes from a line, a numbering and a decision. Not here: deciding, and what the model makes of
the line.
"""

import re

from attrs import frozen

from protocol import (
    Admitted,
    BatchDone,
    BatchStop,
    BatchToken,
    BatchYield,
    CacheSource,
    Checks,
    ClientOpaque,
    EngineLine,
    Generate,
    Parked,
    TokenRun,
    Yielded,
    replace_field,
)
from protocol.fields import integer
from slotd.core.numbering import Numbering

_ADMISSION_SLOT = re.compile(rb"BGENI? \s*(-?[0-9]{1,18})(?!\S)")


@frozen
class Sent:
    """A request as it leaves for the engine, in engine slot numbers."""

    raw: bytes
    slot: int | None
    """The slot it is admitted to; None for a solo request."""
    park: int | None
    """The slot its line asks to park in."""


def to_client(numbering: Numbering, line: EngineLine) -> bytes:
    """Return an engine's line with the client's number of the slot it names."""
    if numbering.identity:
        return line.raw
    match line:
        case (
            BatchToken(slot=slot)
            | BatchDone(slot=slot)
            | Admitted(slot=slot)
            | Yielded(slot=slot)
            | Parked(slot=slot)
            | CacheSource(slot=slot)
            | Checks(slot=slot)
        ):
            number = numbering.client_slot(slot)
            return line.raw if number == slot else replace_field(line.raw, 1, b"%d" % number)
        case _:
            return line.raw


def run_to_client(numbering: Numbering, run: TokenRun) -> bytes:
    """Return a run of tokens with the client's numbers of their slots."""
    return run.raw if numbering.identity else run.renumbered(numbering.client_slot)


def slot_line(numbering: Numbering, line: BatchStop | BatchYield) -> bytes:
    """Return a client's BSTOP or BYIELD with the engine's number of the slot it names."""
    number = numbering.engine_slot(line.slot)
    return line.raw if number == line.slot else replace_field(line.raw, 1, b"%d" % number)


def opaque_line(numbering: Numbering, line: ClientOpaque) -> tuple[bytes, int | None]:
    """Return a line that was not understood, and its slot if it is an admission that names one.

    The engine may understand it: then its slot number must be the engine's.
    """
    found = _ADMISSION_SLOT.match(line.raw)
    client_slot = None if found is None else integer(found[1])
    if client_slot is None:
        return line.raw, None
    number = numbering.engine_slot(client_slot)
    raw = line.raw if number == client_slot else replace_field(line.raw, 1, b"%d" % number)
    return raw, number


def decided_line(
    numbering: Numbering, line: Generate, park: int | None, *, slot_key: bool, keep: bool
) -> Sent:
    """Return a request with what was decided: the slot its number means now, and the park.

    `slot_key`: write the slot as a key too. `keep`: a `park=` or `slot=` the client wrote stays,
    mapped; otherwise it gives way to what was decided, or goes.
    """
    slot = None if line.slot is None else numbering.engine_slot(line.slot)
    keys: dict[bytes, bytes | None] = {
        b"slot": b"%d" % slot if slot is not None and slot_key else None,
        b"park": None if park is None else b"%d" % park,
    }
    if keep:
        kept = _client_keys(numbering, line)
        keys.update(kept)
        park = _number(kept[b"park"]) if b"park" in kept else park
    return Sent(_written(line, slot, keys), slot, park)


def undecided_line(numbering: Numbering, line: Generate, *, keep: bool) -> Sent:
    """Return a request nothing was decided for: its own slot, mapped, and no park of slotd's.

    `keep`: a `park=` or `slot=` the client wrote stays, mapped; otherwise its `slot=` says what the
    line's slot is, and its `park=`, a number slotd has not checked, goes.
    """
    slot = None if line.slot is None else numbering.engine_slot(line.slot)
    keys: dict[bytes, bytes | None]
    if keep:
        keys = _client_keys(numbering, line)
        return Sent(_written(line, slot, keys), slot, _number(keys.get(b"park")))
    keys = {b"park": None}
    if line.key(b"slot") is not None:
        keys[b"slot"] = None if slot is None else b"%d" % slot
    return Sent(_written(line, slot, keys), slot, None)


def _client_keys(numbering: Numbering, line: Generate) -> dict[bytes, bytes | None]:
    """Return the slot keys the client wrote, with the engine's numbers where they are numbers."""
    keys: dict[bytes, bytes | None] = {}
    for name in (b"slot", b"park"):
        value = line.key(name)
        if value is not None:
            number = integer(value)
            keys[name] = value
            if number is not None and (mapped := numbering.engine_slot(number)) != number:
                keys[name] = b"%d" % mapped
    return keys


def _number(value: bytes | None) -> int | None:
    return None if value is None else integer(value)


def _written(line: Generate, slot: int | None, keys: dict[bytes, bytes | None]) -> bytes:
    changed = {name: value for name, value in keys.items() if value != line.key(name)}
    if not changed and slot == line.slot:
        return line.raw
    return line.rewritten(None if slot == line.slot else slot, changed)
