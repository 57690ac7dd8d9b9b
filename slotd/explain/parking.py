"""The account of the park: why the main session's conversation goes where it goes, or nowhere.

Here: the words for the rules of `slotd.policy.park`, and what they return. Not here: the placement
(`placing`), and what came of a park (`outcome`).
"""

from slotd.explain import words
from slotd.explain.account import Account, Note, ranked
from slotd.explain.placing import given_up
from slotd.policy import park as rules
from slotd.policy.pad_rows import goes_low
from slotd.policy.park import Park
from slotd.policy.place import Placement, park_rank
from slotd.policy.table import (
    MainRow,
    SlotRow,
    Table,
    expired,
    holds_history,
    slot_ttl_left,
    slot_value,
)


def summary(table: Table, park: Park | None) -> str:
    """Say in one sentence what becomes of the main session's conversation."""
    main = rules.something_to_park(table)
    if park is None or main is None:
        return f"nothing to park: {_nothing(table)}"
    value = words.value(rules.main_value(table, main))
    match park.reason:
        case "main_low_value":
            least = f"{table.settings.park_min_value:g}"
            return f"no park: worth {value}, less than park_min_value {least}"
        case "kept":
            held = words.slots(row.slot for row in rules.keepers(table, main))
            return f"no park: it is already kept in {held}"
        case "no_slot":
            return "no park: no slot may be overwritten for it"
        case "older":
            return f"over its own older copy in slot {park.slot}"
        case "sibling":
            return f"over an older version of it in slot {park.slot}"
    assert park.slot is not None
    held = words.standing(table, table.slots[park.slot])
    return f"into slot {park.slot}, {held}, the one missed least"


def _nothing(table: Table) -> str:
    main = table.main
    match rules.nothing_to_park(table):
        case "no_slot_park":
            return "the engine reads no park= (no slot_park=1), or parking is off"
        case "empty":
            return "the main session holds nothing, or another request uses it"
        case "pictures":
            return "the main session holds pictures"
    assert main is not None
    return f"the prompt continues the main session: shares {_own_part(main)}"


def _own_part(main: MainRow) -> str:
    """Return what the prompt must share of the main session's to be the same conversation."""
    if main.last_turn == main.tokens:
        return f"all {words.tokens(main.tokens)} it holds"
    return f"the {words.tokens(main.last_turn)} up to its last turn"


def accounts(table: Table, park: Park | None, placement: Placement) -> tuple[Account, ...]:
    """Return the accounts of the rules in their order, the last one of the rule that decided."""
    main = rules.something_to_park(table)
    if park is None or main is None:
        return ()
    told = [_main_low_value(table, main)]
    if not told[-1].decided:
        told.append(_kept(table, main))
    if not told[-1].decided:
        told += _destination(table, main, placement)
    return tuple(told)


def _main_low_value(table: Table, main: MainRow) -> Account:
    worth, least = rules.main_value(table, main), table.settings.park_min_value
    too_low = worth < least
    value, _ = words.two_values(worth, least)
    verdict = "less than" if too_low else "not less than"
    return Account(
        "main_low_value",
        too_low,
        (
            f"The main session holds {words.tokens(main.tokens)} of another conversation: the "
            f"prompt shares {main.shared:,} of them, not {_own_part(main)}.",
            f"Last used {words.seconds(main.age)} ago it is worth {value}, {verdict} "
            f"park_min_value {least:g}.",
        ),
    )


def _kept(table: Table, main: MainRow) -> Account:
    keepers = rules.keepers(table, main)
    least = words.percentage(table.settings.park_kept_share)
    if keepers:
        held = words.slots(row.slot for row in keepers)
        said = f"A valid history that begins with {least} of it is already in {held}."
    else:
        said = f"No slot, busy or idle, holds a valid history that begins with {least} of it."
    return Account(
        "kept",
        bool(keepers),
        (said,),
        others=tuple(
            Note(row.slot, f"{row.state}, holds {words.share(row.shared_main, main.tokens)} of it")
            for row in table.slots
            if row.shared_main > 0 and holds_history(table, row)
        ),
    )


def _destination(table: Table, main: MainRow, placement: Placement) -> list[Account]:
    free = rules.destinations(table, placement)
    told: list[Account] = []
    for rule in (_older, _sibling):
        told.append(rule(table, free))
        if told[-1].decided:
            return told
    told.append(_reclaim(table, main, free, placement))
    if told[-1].decided:
        return told
    told.append(Account("no_slot", True, ("No slot is left that a park may overwrite.",)))
    return told


def _older(table: Table, free: list[SlotRow]) -> Account:
    copies = rules.older_copies(table, free)
    if copies:
        said = "A history that is the start of the main session's is its own older copy; taken is "
        said += "the longest."
    else:
        said = "No idle history is the start of the main session's."
    return Account(
        "older",
        bool(copies),
        (said,),
        ranked(
            copies,
            lambda row: rules.older_rank(table, row),
            lambda row: f"{words.tokens(row.tokens)}, all of them the main session's first",
        ),
    )


def _sibling(table: Table, free: list[SlotRow]) -> Account:
    least = words.percentage(table.settings.sibling_share)
    if table.settings.sibling_share == 0:
        return Account("sibling", False, ("Turned off: sibling_share is 0.",))
    versions = rules.sibling_versions(table, free)
    if versions:
        said = f"A history that shares {least} or more of its length, but not all of it, with the "
        said += "main session's is an older version of it; taken is the one that shares most."
    else:
        said = f"No idle history shares {least} of its length with the main session's."
    return Account(
        "sibling",
        bool(versions),
        (said,),
        ranked(versions, lambda row: rules.sibling_rank(table, row), lambda row: _shares_main(row)),
        tuple(
            Note(row.slot, _shares_main(row))
            for row in free
            if row.shared_main > 0 and row not in versions and holds_history(table, row)
        ),
    )


def _shares_main(row: SlotRow) -> str:
    shared = words.share(row.shared_main, row.tokens)
    return f"shares {row.shared_main:,} of its {row.tokens:,} tokens, {shared}"


def _reclaim(table: Table, main: MainRow, free: list[SlotRow], placement: Placement) -> Account:
    rows = rules.reclaimable(table, main, free)
    if rows:
        said = "The slot missed least, by the order place reclaims in"
        said += ", but high in its group first. " if goes_low(table) else ". "
    else:
        said = "No slot is left that is blank, or expired and may be overwritten. "
    ratio = table.settings.park_value_ratio
    if ratio > 0:
        said += f"A history worth keeping counts only where the main session's is worth {ratio:g} "
        said += "times as much; a protected one never."
    else:
        said += "park_value_ratio is 0: a history worth keeping never counts, nor a protected one."
    return Account(
        "reclaim",
        bool(rows),
        (said,),
        ranked(rows, lambda row: park_rank(table, row), lambda row: given_up(table, row)),
        tuple(
            Note(row.slot, _why_not_reclaimable(table, main, row, placement))
            for row in table.slots
            if row.idle and row not in rows
        ),
    )


def _why_not_reclaimable(table: Table, main: MainRow, row: SlotRow, placement: Placement) -> str:
    if row.slot == placement.slot:
        return "the admission's slot"
    if row.slot == placement.source:
        return "the request is restored from it"
    if row not in rules.destinations(table, placement):
        return "a request of slotd's own cannot run there: its window or another would pad a slot"
    if not expired(table, row):
        return f"protected for {words.seconds(slot_ttl_left(table, row))} more"
    value = slot_value(table, row)
    times = _times(table, main, value)
    return f"worth keeping, {words.value(value)}: the main session's is worth {times} that"


def _times(table: Table, main: MainRow, value: float) -> str:
    if value == 0:
        return "any number of times"
    times, _ = words.two_values(
        rules.main_value(table, main) / value, table.settings.park_value_ratio
    )
    return f"{times} times"
