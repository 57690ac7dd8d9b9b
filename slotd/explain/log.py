"""Finding a decision in a log: its table, what was decided, and what the log says of it later on.

Here: reading `place` events and joining the events of the same request to them. Not here: reading
files (`slotd.logs`) and what the decision means (`explanation`).
"""

import json
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen

from slotd.explain.client_slots import ClientSlots
from slotd.logs.person import printable
from slotd.policy.decide import ExpectedLoss
from slotd.policy.json_fields import (
    Fields,
    TableError,
    as_number,
    count,
    fields_of,
    items_of,
    optional_count,
    refusal,
)
from slotd.policy.table import Table
from slotd.policy.table_json import table_from_json

Record = Mapping[str, object]
"""An event as logged (see `slotd.logs.records`)."""

_ENDS = frozenset({"engine_start", "engine_exit"})
"""Events after which no request of before goes on."""


class NotInLogError(Exception):
    """The log does not hold what was asked for; the message is one line that says what it holds."""


@frozen
class LoggedPark:
    """What became of the main session's conversation, as logged."""

    slot: int | None
    reason: str


@frozen
class LoggedDecision:
    """A decision as logged: the policy that made it may have been any."""

    slot: int | None
    reason: str
    source: int | None
    hint: int
    score: float | None
    park: LoggedPark | None
    losses: tuple[ExpectedLoss, ...] = ()
    """What a policy that learns ranked each slot by; empty for the published one."""


@frozen
class Logged:
    """One decision in a log."""

    request: int
    verb: str
    """The request's, or BYIELD: the slot a read that gives way is kept in was chosen."""
    at: str
    """The time of the event, as logged; empty when the log has none."""
    table: Table
    decision: LoggedDecision
    client_slots: Mapping[int, int]
    """The client's number of each engine slot before the decision, where the log tells it."""
    later: tuple[Record, ...]
    """The request's events after this decision, up to its next one."""


def find(records: Iterable[Record], request: int | None) -> list[Logged]:
    """Return the decisions about request number `request`, or the last one of the log (None).

    A request has several when its read gave way. Numbers begin again with every start of slotd; the
    last request of that number counts.

    Raises NotInLogError when there is none, and when its table cannot be read.
    """
    search = _Search(request)
    for record in records:
        search.take(record)
    if not search.found:
        raise NotInLogError(search.nothing())
    return [_read(found) for found in search.found]


@define
class _Found:
    """A `place` event on its way to be one of `Logged`."""

    place: Record
    client_slots: Mapping[int, int]
    later: list[Record] = field(factory=list)


@define
class _Search:
    """One pass over a log, holding no more of it than what may be the answer."""

    request: int | None
    found: list[_Found] = field(factory=list)
    numbers: ClientSlots = field(factory=ClientSlots)
    ended: bool = False
    """The engine the decisions found were made for has ended."""
    seen: list[int] = field(factory=list)
    """The lowest and the highest request number with a decision."""

    def take(self, record: Record) -> None:
        """Take in the next record."""
        event = record.get("event")
        if event == "place":
            self._place(record)
        elif event in _ENDS:
            if self.found and not self.ended and event == "engine_exit":
                self.found[-1].later.append(record)
            self.ended = True
            self.numbers.end()
        elif event == "engine_info":
            slots = record.get("batch_slots")
            self.numbers.begin(slots if isinstance(slots, int) else 0)
        elif self.found and not self.ended and _number(record) == _number(self.found[-1].place):
            self.found[-1].later.append(record)
        client_slot, slot = record.get("client_slot"), record.get("slot")
        if isinstance(client_slot, int) and isinstance(slot, int):
            self.numbers.pair(client_slot, slot)

    def _place(self, record: Record) -> None:
        number = _number(record)
        if number is None:
            return
        self.seen = [min([*self.seen, number]), max([*self.seen, number])]
        if self.request not in (None, number):
            return
        again = self.found and not self.ended and record.get("verb") == "BYIELD"
        if self.request is None or not again:
            self.found.clear()
        self.found.append(_Found(record, self.numbers.known()))
        self.ended = False

    def nothing(self) -> str:
        """Say why nothing was found."""
        if not self.seen:
            return "no decision in this log: it has no place event (is it a log of slotd?)"
        first, last = self.seen
        held = f"only request {first} has" if first == last else f"from {first} to {last} some have"
        return f"no decision about request {self.request} in this log: {held} one"


def _number(record: Record) -> int | None:
    number = record.get("request")
    return number if type(number) is int else None


def _read(found: _Found) -> Logged:
    place = found.place
    number = _number(place)
    assert number is not None
    try:
        table = table_from_json(_table_of(place))
        decision = _decision(place, len(table.slots))
    except TableError as error:
        raise NotInLogError(f"request {number}: its place event cannot be read: {error}") from None
    return Logged(
        request=number,
        verb=printable(str(place.get("verb") or table.request.verb)),
        at=printable(str(place.get("ts") or "")),
        table=table,
        decision=decision,
        client_slots=found.client_slots,
        later=tuple(found.later),
    )


def _table_of(place: Record) -> object:
    """Return the table, which may be there as JSON text.

    journalctl leaves out a field of more than 4,096 bytes unless it is asked for all of it.
    """
    table = place.get("table")
    if table in (None, ""):
        raise TableError("table", "missing: export the journal with `journalctl -o json --all`")
    if not isinstance(table, str):
        return table
    try:
        parsed: object = json.loads(table)
    except (ValueError, RecursionError):
        raise TableError("table", "is no JSON") from None
    return parsed


def _decision(place: Fields, slots: int) -> LoggedDecision:
    score = place.get("score")
    return LoggedDecision(
        slot=_slot(place, "slot", slots),
        reason=_reason(place, "reason"),
        source=_slot(place, "source", slots),
        hint=count(place, "hint", "", 0),
        score=None if score in (None, "") else as_number(score, "score", "a number"),
        park=_park(place.get("park"), slots),
        losses=_losses(place, slots),
    )


def _losses(place: Fields, slots: int) -> tuple[ExpectedLoss, ...]:
    losses, chances = (items_of(place.get(name), name) for name in ("losses", "chances"))
    if losses and not len(losses) == len(chances) == slots:
        raise TableError("losses", f"{len(losses)} given for {slots} slots: give one for each")
    return tuple(
        ExpectedLoss(
            as_number(loss, f"losses[{slot}]", "a number"),
            as_number(chance, f"chances[{slot}]", "a number"),
        )
        for slot, (loss, chance) in enumerate(zip(losses, chances, strict=False))
    )


def _park(found: object, slots: int) -> LoggedPark | None:
    if found in (None, ""):
        return None
    fields = fields_of(found, "park")
    return LoggedPark(_slot(fields, "slot", slots), _reason(fields, "reason"))


def _slot(fields: Fields, name: str, slots: int) -> int | None:
    slot = optional_count(fields, name, "")
    if slot is not None and slot >= slots:
        raise refusal(name, slot, "a slot of the table")
    return slot


def _reason(fields: Fields, name: str) -> str:
    found = fields.get(name)
    if type(found) is not str:
        raise refusal(name, found, "the name of a rule")
    return printable(found)
