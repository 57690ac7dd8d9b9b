"""What came of a decision, as far as the log tells it.

Here: the words for the events of its request after it. Not here: finding them (`log`).
"""

from collections.abc import Callable, Mapping

from attrs import frozen

from slotd.explain import words
from slotd.explain.log import Logged, Record
from slotd.logs.person import printable

_SETTLES = frozenset({"admitted", "solo_done", "yielded"})
"""Events after which nothing more comes of a decision, and a park that has not come never will."""


@frozen
class Happening:
    """One event after the decision, in words."""

    at: str
    event: str
    says: str


def outcome(logged: Logged) -> tuple[Happening, ...]:
    """Return what came of the decision, in the log's order; empty when the log does not tell it."""
    told = []
    settled = parked = False
    for record in logged.later:
        event = str(record.get("event"))
        if event == "engine_exit" and settled:
            continue
        parked = parked or event == "parked"
        sentence = _SENTENCES.get(event)
        says = "" if sentence is None else sentence(record, logged)
        if says:
            told.append(Happening(printable(str(record.get("ts") or "")), event, says))
        if event in _SETTLES and not settled:
            settled = True
            told += _never_parked(logged, parked)
    return tuple(told)


def _never_parked(logged: Logged, parked: bool) -> list[Happening]:
    park = logged.decision.park
    if parked or park is None or park.slot is None:
        return []
    says = f"the engine did not say it parked: slot {park.slot} keeps what it held"
    return [Happening("", "not parked", says)]


def _admitted(record: Record, logged: Logged) -> str:
    read = f"{_reuse(record, logged)}{_in_ms(record)}"
    if record.get("goes_on") is False:
        return f"{read}; it ended there and did not go on in slot {_said(record, 'slot')}"
    return f"in slot {_said(record, 'slot')}: {read}"


def _solo_done(record: Record, logged: Logged) -> str:
    return f"{_reuse(record, logged)}, generated {_said(record, 'generated')} ({_end(record)})"


def _reuse(record: Record, logged: Logged) -> str:
    """Say what was reused, and where that is not what the decision expected."""
    prompt, reused = _count(record, "prompt"), _count(record, "reused")
    said = f"reused {reused:,} of {words.tokens(prompt)} ({words.share(reused, prompt)})"
    said += f", read {_count(record, 'read'):,}"
    if reused != logged.decision.hint:
        said += f"; expected to resume {logged.decision.hint:,}"
    return said


def _slot_done(record: Record, _: Logged) -> str:
    generated = words.tokens(_count(record, "generated"))
    return f"slot {_said(record, 'slot')} is free: {generated} generated ({_end(record)})"


def _park(record: Record, _: Logged) -> str:
    return f"a park into slot {_said(record, 'slot')} asked for ({_said(record, 'how')})"


def _park_skip(record: Record, _: Logged) -> str:
    return _NOT_CARRIED_OUT.get(str(record.get("reason")), "")


def _parked(record: Record, _: Logged) -> str:
    parked = _count(record, "tokens")
    if record.get("how") == "emulated":
        return _parked_by_own_request(record, parked)
    if parked == 0:
        return f"the copy failed: slot {_said(record, 'slot')} holds nothing usable"
    return f"{words.tokens(parked)} are in slot {_said(record, 'slot')}{_in_ms(record)}"


def _parked_by_own_request(record: Record, parked: int) -> str:
    slot = _said(record, "slot")
    if parked == 0:
        why = _WHY_FAILED.get(str(record.get("why")), "it came to nothing")
        return f"slotd's own request for slot {slot} failed{_in_ms(record)}: {why}"
    again = _count(record, "read_again")
    read = f", {words.tokens(again)} read again" if again else ""
    return (
        f"slotd's own request copied {words.tokens(parked)} into slot {slot}{_in_ms(record)}{read}"
    )


def _park_saved(record: Record, _: Logged) -> str:
    saved = words.tokens(_count(record, "tokens"))
    return f"a park had kept its conversation in slot {_said(record, 'slot')}: {saved} saved"


def _park_off(record: Record, _: Logged) -> str:
    failed = _said(record, "failures")
    return f"{failed} such parks have failed in a row: no more of them until the engine ends"


def _cache_source(record: Record, _: Logged) -> str:
    slot, tokens = record.get("slot"), words.tokens(_count(record, "tokens"))
    if isinstance(slot, int) and slot < 0:
        return f"the engine restored {tokens}, from no slot"
    return f"the engine restored {tokens} from slot {_said(record, 'slot')}"


def _yielded(record: Record, _: Logged) -> str:
    kept = words.tokens(_count(record, "tokens"))
    return f"the read gave way: {kept} are kept in slot {_said(record, 'slot')}"


def _drift(record: Record, _: Logged) -> str:
    believed, said = _said(record, "expected"), _said(record, "said")
    return f"{_said(record, 'fact')}: expected {believed}, the engine said {said}{_wrong(record)}"


def _wrong(record: Record) -> str:
    slots = record.get("slots")
    wrong = [words.slots(slots)] if isinstance(slots, list) and slots else []
    wrong += ["the main session"] if record.get("main") is True else []
    return f"; corrected: {' and '.join(wrong)}" if wrong else ""


def _error(record: Record, _: Logged) -> str:
    return f"{_said(record, 'where')}: {_said(record, 'message')}"


def _engine_exit(record: Record, _: Logged) -> str:
    by = next((name for name in ("status", "signal") if record.get(name) is not None), None)
    how = "" if by is None else f" ({by} {_said(record, by)})"
    return f"the engine ended{how}: nothing more came of it"


def _said(record: Record, name: str) -> str:
    found = record.get(name)
    if type(found) is int:
        return f"{found:,}"
    return "?" if found is None else printable(str(found))


def _count(record: Record, name: str) -> int:
    found = record.get(name)
    return found if isinstance(found, int) and found > 0 else 0


def _in_ms(record: Record) -> str:
    milliseconds = record.get("ms")
    if not isinstance(milliseconds, int | float):
        return ""
    return (
        f", in {milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f", in {milliseconds:g} ms"
    )


def _end(record: Record) -> str:
    return f"finish {_said(record, 'finish')}{_in_ms(record)}"


_SENTENCES: Mapping[str, Callable[[Record, Logged], str]] = {
    "park": _park,
    "park_skip": _park_skip,
    "parked": _parked,
    "park_saved": _park_saved,
    "park_off": _park_off,
    "cache_source": _cache_source,
    "yielded": _yielded,
    "admitted": _admitted,
    "solo_done": _solo_done,
    "slot_done": _slot_done,
    "drift": _drift,
    "error": _error,
    "engine_exit": _engine_exit,
}

_NOT_CARRIED_OUT: Mapping[str, str] = {
    "no_room": "not parked: the context has no room for slotd's own request",
    "inexact": "not parked: what the main session holds is not exactly known, and a wrong guess "
    "would cost too much reading",
    "no_checkpoint": "not parked: the copy would come without a checkpoint and overwrite a surer "
    "one of the same conversation",
}
"""Why slotd's own request was not sent though the policy would have parked, by reason."""

_WHY_FAILED: Mapping[str, str] = {
    "refused": "the engine refused it",
    "stopped": "it would have read too much again, and was stopped",
    "ended": "it ended before it was in the slot",
    "copy": "the copy failed, the slot holds nothing usable",
    "lost": "the engine lost it",
}
