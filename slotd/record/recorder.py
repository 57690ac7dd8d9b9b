"""From slotd's events to the record's entries.

Here: following every request from its line to its end, over all its legs. Not here: files.

A request that moves between solo and batch, or whose read gives way, comes as several lines; it is
one entry. So a request that was cancelled is held back for `HELD_S` seconds: it may go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define, evolve

from protocol.tokens import TokenIds
from slotd.core.events import Event
from slotd.core.recall import last_turn
from slotd.policy.json_fields import JsonValue
from slotd.record.lines import BLOCK, PLAIN_CVEC, Entry, block_hashes

HELD_S: Final = 60.0
"""Seconds a cancelled request is held back."""
MOST: Final = 256
"""Requests followed at a time; the oldest are let go without an entry."""


@define
class _Followed:
    entry: Entry
    length: int
    """Tokens of its last leg's prompt."""
    generated: int = 0
    """By its last leg."""
    over: float | None = None
    """When it was cancelled, in seconds."""


class RequestRecorder:
    """Follows requests; hands out the entries of those that ended."""

    def __init__(self, salt: bytes, begin: float = 0.0) -> None:
        """Begin with nothing followed; entries count their time from `begin` (seconds)."""
        self._salt = salt
        self._begin = begin
        self._running: dict[int, _Followed] = {}

    def sent(
        self,
        number: int,
        verb: str,
        prompt: TokenIds,
        turn_token: int | None,
        now: float,
        cvec: int = PLAIN_CVEC,
    ) -> None:
        """Note a request's line, under slotd's number of it."""
        blocks = tuple(block_hashes(prompt, self._salt, cvec))
        earlier = self._leg_before(len(prompt), blocks)
        if earlier is not None:
            followed = self._running.pop(earlier)
            followed.entry = evolve(followed.entry, legs=followed.entry.legs + 1, finish="")
            followed.length, followed.generated, followed.over = len(prompt), 0, None
            self._running[number] = followed
            return
        turn = None if turn_token is None else last_turn(prompt, turn_token) or None
        entry = Entry(number, now - self._begin, verb, len(prompt), 0, turn, blocks)
        self._running[number] = _Followed(entry, len(prompt))
        while len(self._running) > MOST:
            del self._running[next(iter(self._running))]

    def told(self, events: Iterable[Event], now: float) -> list[Entry]:
        """Take slotd's events; return the entries of requests that ended."""
        ended: list[Entry] = []
        for event in events:
            number = event.fields.get("request")
            followed = self._running.get(number) if isinstance(number, int) else None
            if followed is None or not isinstance(number, int):
                continue
            if event.name in ("solo_done", "admitted", "slot_done"):
                self._step(number, followed, event, now, ended)
            elif event.name == "error":
                end = now - self._begin - followed.entry.at
                entry = evolve(followed.entry, end=end, finish="error")
                ended.append(entry)
                del self._running[number]
            elif event.name == "place":
                slot, client_slot = event.fields["slot"], event.fields["client_slot"]
                followed.entry = evolve(
                    followed.entry, slot=_whole(slot), client_slot=_whole(client_slot)
                )
        for number, followed in list(self._running.items()):
            if followed.over is not None and now - followed.over > HELD_S:
                ended.append(self._running.pop(number).entry)
        return ended

    def close(self) -> list[Entry]:
        """Return what is held back; the requests that still run are left out."""
        held = [found.entry for found in self._running.values() if found.over is not None]
        self._running.clear()
        return held

    def _step(
        self, number: int, followed: _Followed, event: Event, now: float, ended: list[Entry]
    ) -> None:
        fields, entry = event.fields, followed.entry
        since = now - self._begin - entry.at
        if event.name != "slot_done" and entry.reused is None:
            queue = max(0.0, since - _number(fields["ms"]) / 1000)
            entry = evolve(entry, reused=_whole(fields["reused"]), queue=queue)
        got, decoded = _generated(event)
        if entry.first is None and event.name != "slot_done" and got:
            entry = evolve(entry, first=max(0.0, since - decoded))
        if event.name == "admitted" and fields["goes_on"]:
            followed.entry, followed.generated = entry, got
            return
        if event.name == "slot_done":
            got = max(got, followed.generated)
        finish = _finish(event, got)
        followed.generated = got
        followed.entry = evolve(entry, out=entry.out + got, end=since, finish=finish)
        if finish == "cancel":
            followed.over = now
        else:
            ended.append(self._running.pop(number).entry)

    def _leg_before(self, length: int, blocks: tuple[bytes, ...]) -> int | None:
        """Return the cancelled request whose next leg a prompt is."""
        for number, found in self._running.items():
            if found.over is None or length != found.length + found.generated:
                continue
            full = found.entry.prompt // BLOCK
            if found.entry.blocks[:full] == blocks[:full]:
                return number
        return None


def _generated(event: Event) -> tuple[int, float]:
    """Return the tokens a leg got, and the seconds since the first one of a solo leg."""
    fields = event.fields
    if event.name == "admitted":
        # A read to its end gives the first token, whether or not the request goes on.
        whole = _number(fields["read"]) + _number(fields["reused"]) >= _number(fields["prompt"])
        return int(bool(fields["goes_on"]) or whole), 0.0
    decoded = 0.0
    if event.name == "solo_done":
        decoded = (_number(fields["ms"]) - _number(fields["prompt_ms"])) / 1000
    return _whole(fields["generated"]) or 0, decoded


def _finish(event: Event, got: int) -> str:
    if event.name == "admitted":
        return "length" if got else "cancel"
    return str(event.fields["finish"])


def _whole(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
