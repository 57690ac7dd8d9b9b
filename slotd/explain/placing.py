"""The account of place(): what each rule made of the table, up to the one that chose the slot.

Here: the words for the rules of `slotd.policy.place`. Every slot, number and comparison told is the
one those functions return. Not here: the park (`parking`).
"""

from slotd.explain import words
from slotd.explain.account import Account, Note, ranked
from slotd.policy import place as rules
from slotd.policy.match import match, obstacle
from slotd.policy.pad_rows import goes_low
from slotd.policy.place import Placement
from slotd.policy.table import (
    SlotRow,
    Table,
    blank,
    cost,
    expired,
    load,
    protected,
    slot_ttl_left,
    slot_value,
    worth_keeping,
)


def summary(table: Table, placement: Placement) -> str:
    """Say in one sentence what the slot was chosen for."""
    if placement.reason == "solo":
        return "a solo request runs on the main session and takes no slot"
    if placement.slot is None:
        return "no slot is idle: the line passes as the client wrote it"
    row = table.slots[placement.slot]
    match placement.reason:
        case "continue":
            held = f"the prompt continues its {words.tokens(row.tokens)}"
            longest = match(table, row) == placement.hint
            return held if longest else f"{held}, a match about as long as the longest"
        case "spread":
            origin = words.slots([] if placement.source is None else [placement.source])
            return f"blank, in a less loaded group; the engine copies the history of {origin} there"
        case "sibling":
            shared = words.share(row.shared, row.tokens)
            return f"an older version of the same conversation: shares {shared} of its length"
        case "reclaim":
            return f"{words.standing(table, row)}, the one missed least"
    return f"the least loss, {words.value(rules.loss(table, row))}, taken at once"


def resumes(placement: Placement) -> str:
    """Say what the engine can resume; the engine decides what it reuses."""
    if placement.hint == 0:
        return "nothing: no history or checkpoint begins the prompt"
    holder = "the main session" if placement.source is None else f"slot {placement.source}"
    return f"{words.tokens(placement.hint)} from {holder}"


def going_on(table: Table, placement: Placement) -> tuple[Account, ...]:
    """Return the account of a read that gave way and is asked for again: nothing is chosen."""
    assert placement.slot is not None
    kept = words.tokens(table.slots[placement.slot].tokens)
    said = f"The part read before it gave way, {kept}, is kept in slot {placement.slot}: it goes on"
    return (Account("goes on", True, (f"{said} there.",)),)


def accounts(table: Table, placement: Placement) -> tuple[Account, ...]:
    """Return the accounts of the rules in their order, the last one of the rule that decided."""
    if placement.reason == "solo":
        return ()
    told = []
    for rule in (_continue_or_spread, _sibling, _reclaim, _least_loss):
        told.append(rule(table))
        if told[-1].decided:
            break
    return tuple(told)


# -- continue / spread -----------------------------------------------------------------------------


def _continue_or_spread(table: Table) -> Account:
    sources = rules.near_sources(table)
    if not sources:
        return Account(
            "continue / spread",
            False,
            ("No idle slot's whole history is the start of the prompt.",),
            others=_shares_without_a_match(table),
        )
    best = max(match(table, row) for row in sources)
    longest = words.slots(row.slot for row in sources if match(table, row) == best)
    margin = rules.near_margin(table, best)
    near = (
        f"The longest match is {words.tokens(best)}, {longest}. Near sources are at most "
        f"{margin:,.0f} tokens below it: the most of {rules.NEAR_SHARE * best:,.0f} "
        f"({rules.NEAR_SHARE:.0%} of it), {rules.NEAR_SECONDS * table.prompt_rate:,.0f} "
        f"({rules.NEAR_SECONDS:g} s of the prompt rate) and {rules.NEAR_TOKENS:,}."
    )
    order = (
        "Candidates are the near sources and the blank idle slots whose load is below every near "
        "source's; taken is the lowest load, then a source before a blank, the longest match, the "
        "spreading order."
    )
    spreads = rules.spread_slots(table, sources)
    near_slots = {row.slot for row in sources}

    def shows(row: SlotRow) -> str:
        if row.slot in near_slots:
            return f"near source, match {match(table, row):,}, load {load(table, row)}"
        return f"{words.standing(table, row)}, load {load(table, row)}"

    return Account(
        "continue / spread",
        True,
        (near, order),
        ranked(sources + spreads, lambda row: rules.continue_rank(table, row, sources), shows),
        _not_candidates(table, sources, spreads, best),
    )


def _shares_without_a_match(table: Table) -> tuple[Note, ...]:
    """Tell why slots that begin as the prompt does are no match."""
    return tuple(Note(row.slot, _why_no_match(table, row)) for row in table.slots if row.shared > 0)


def _why_no_match(table: Table, row: SlotRow) -> str:
    match obstacle(table, row):
        case "not_idle":
            return f"{row.state}: only idle slots are candidates"
        case "no_history":
            return f"{words.standing(table, row)}: holds no history to continue"
        case "other_cvec":
            return f"its cvec is {row.cvec}, the request's {table.request.cvec}"
        case "pictures":
            return "the request holds pictures"
    if row.shared < row.tokens:
        return f"shares {row.shared:,} of its {row.tokens:,} tokens, not all of them"
    return f"holds the whole prompt, {words.tokens(row.tokens)}: nothing would be left to read"


def _not_candidates(
    table: Table, sources: list[SlotRow], spreads: list[SlotRow], best: int
) -> tuple[Note, ...]:
    least_load = min(load(table, row) for row in sources)
    seen = {row.slot for row in (*sources, *spreads)}
    notes = []
    for row in table.slots:
        if row.slot in seen or not row.idle:
            continue
        if match(table, row):
            below = best - match(table, row)
            notes.append(Note(row.slot, f"match {match(table, row):,}: {below:,} below, not near"))
        elif blank(table, row):
            why = f"blank, load {load(table, row)}: not below every near source's, {least_load}"
            notes.append(Note(row.slot, why))
        else:
            notes.append(Note(row.slot, "holds another conversation"))
    return tuple(notes)


# -- sibling ---------------------------------------------------------------------------------------


def _sibling(table: Table) -> Account:
    least = words.percentage(table.settings.sibling_share)
    if table.settings.sibling_share == 0:
        return Account("sibling", False, ("Turned off: sibling_share is 0.",))
    versions = rules.sibling_versions(table)
    if versions:
        said = (
            f"An idle history that shares {least} or more of its length with the prompt, but not "
            "all of it, is an older version of the same conversation. Taken is the one that shares "
            "most, protected or not."
        )
    else:
        said = f"No idle history shares {least} of its length with the prompt."
    return Account(
        "sibling",
        bool(versions),
        (said,),
        ranked(
            versions,
            lambda row: rules.sibling_rank(table, row),
            lambda row: (
                f"shares {row.shared:,} of its {row.tokens:,} tokens, "
                f"{words.share(row.shared, row.tokens)}"
            ),
        ),
        tuple(
            Note(row.slot, _why_no_version(table, row))
            for row in table.slots
            if row.shared > 0 and row not in versions
        ),
    )


def _why_no_version(table: Table, row: SlotRow) -> str:
    if obstacle(table, row) is not None or row.shared == row.tokens:
        return _why_no_match(table, row)
    return (
        f"shares {row.shared:,} of its {row.tokens:,} tokens, {words.share(row.shared, row.tokens)}"
    )


# -- reclaim ---------------------------------------------------------------------------------------


def _reclaim(table: Table) -> Account:
    rows = rules.reclaimable(table)
    if rows:
        said = (
            "Among idle slots that are blank or expired and whose choice costs no protected "
            "history, taken is first what is not worth keeping (value below expired_keep_score "
            f"{table.settings.expired_keep_score:g}), then the lowest load, {_low(table)}"
            "the lowest value, blank before not, the spreading order."
        )
    else:
        said = "No idle slot is blank or expired without costing a protected history."
    return Account(
        "reclaim",
        bool(rows),
        (said,),
        ranked(rows, lambda row: rules.request_rank(table, row), lambda row: given_up(table, row)),
        tuple(
            Note(row.slot, _why_not_reclaimable(table, row))
            for row in table.slots
            if row.idle and row not in rows
        ),
    )


def _low(table: Table) -> str:
    return "low in its group, " if goes_low(table) else ""


def given_up(table: Table, row: SlotRow) -> str:
    """Say what the reclaim order looks at."""
    keeping = " >= keep score" if worth_keeping(table, row) else ""
    value = "" if blank(table, row) else f", value {words.value(slot_value(table, row))}{keeping}"
    return f"{words.standing(table, row)}{value}, load {load(table, row)}"


def _why_not_reclaimable(table: Table, row: SlotRow) -> str:
    if not expired(table, row):
        return f"protected for {words.seconds(slot_ttl_left(table, row))} more"
    below = words.value(cost(table, row))
    return f"{words.standing(table, row)}, but costs the protected histories below it {below}"


# -- least loss ------------------------------------------------------------------------------------


def _least_loss(table: Table) -> Account:
    about_equal = rules.least_losses(table)
    if not about_equal:
        return Account("none_idle", True, ("No slot is idle.",))
    lowest = min(rules.loss(table, row) for row in about_equal)
    said = (
        f"At once, without waiting. Loss is value + cost; the lowest is {words.value(lowest)}. "
        f"Among losses within {rules.LOSS_MARGIN - 1:.0%} of it, taken is the lowest load, then "
        "the lowest loss, the spreading order."
    )
    return Account(
        "least_loss",
        True,
        (said,),
        ranked(
            about_equal, lambda row: rules.loss_rank(table, row), lambda row: _loses(table, row)
        ),
        tuple(
            Note(row.slot, f"{_loses(table, row)}: not within {rules.LOSS_MARGIN - 1:.0%}")
            for row in table.slots
            if row.idle and row not in about_equal
        ),
    )


def _loses(table: Table, row: SlotRow) -> str:
    value, others = slot_value(table, row), cost(table, row)
    loss = f"loss {words.value(rules.loss(table, row))}"
    if others:
        loss += f" ({words.value(value)} its own, {words.value(others)} of those below it)"
    left = f", protected for {words.seconds(slot_ttl_left(table, row))}"
    return f"{loss}, load {load(table, row)}{left if protected(table, row) else ''}"
