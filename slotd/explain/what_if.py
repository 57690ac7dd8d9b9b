"""The same table decided with other settings: what would have been chosen, and what changed.

Here: reading settings a person gives, deciding again, and the differences. Not here: the accounts
of the rules (`placing`, `parking`).
"""

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from slotd.explain import words
from slotd.policy.settings import DEFAULTS, PolicySettings, SettingError, parse_number
from slotd.policy.table import SlotRow, Table, slot_ttl_left, slot_value


@frozen
class SlotChange:
    """A slot the settings make something else of."""

    slot: int
    was: str
    now: str


def settings_given(texts: Iterable[str]) -> dict[str, float]:
    """Read settings written as NAME=VALUE, by their short names; the last of one name counts.

    Raises SettingError with one line.
    """
    given = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise SettingError(f"{text!r} sets nothing: write it as NAME=VALUE")
        if name not in DEFAULTS:
            raise SettingError(f"unknown setting {name!r}: give one of {', '.join(DEFAULTS)}")
        given[name] = parse_number(name, number)
    return given


def with_settings(table: Table, given: Mapping[str, float]) -> Table:
    """Return the table with other settings; it holds lengths and ages, so it can be decided."""
    return evolve(table, settings=evolve(table.settings, **given))


def changed_settings(was: PolicySettings, given: Mapping[str, float]) -> dict[str, float]:
    """Return those of the given settings that are not what the log has."""
    return {name: number for name, number in given.items() if getattr(was, name) != number}


def changed_slots(was: Table, now: Table) -> tuple[SlotChange, ...]:
    """Return the idle slots that other settings make something else of, with both in words."""
    changes = (
        SlotChange(row.slot, _stands(was, row), _stands(now, row)) for row in was.slots if row.idle
    )
    return tuple(change for change in changes if change.was != change.now)


def _stands(table: Table, row: SlotRow) -> str:
    said = f"{words.standing(table, row)}, value {words.value(slot_value(table, row))}"
    left = slot_ttl_left(table, row)
    return f"{said}, {words.seconds(left)} left" if left else said
