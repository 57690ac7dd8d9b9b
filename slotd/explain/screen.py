"""An explanation as a person reads it in a terminal, within 100 columns.

Here: the order, the columns and the styles. Not here: what is said (`placing`, `parking`,
`outcome`) and the terminal itself (`slotd.cli.explain`).
"""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from slotd.explain import words
from slotd.explain.account import Account
from slotd.explain.explanation import Explanation, Verdict, WhatIf, as_logged
from slotd.explain.learned import why
from slotd.explain.log import LoggedDecision
from slotd.explain.outcome import Happening
from slotd.explain.placing import resumes
from slotd.policy.match import main_match, match
from slotd.policy.park import main_value
from slotd.policy.settings import DEFAULTS, PolicySettings
from slotd.policy.table import EngineShape, SlotRow, Table, load, slot_ttl_left, slot_value

_NONE = "-"
_COLUMNS = (
    *("slot", "client", "state", "tokens", "shared"),
    *("match", "age", "ttl left", "value", "load"),
)


def screen(told: Explanation) -> RenderableType:
    """Return everything there is to show of one decision."""
    parts: list[RenderableType] = [_head(told), _slot_table(told)]
    if not told.agrees or told.logged.decision.losses:
        parts.append(_another_policy(told))
    parts += [*_place(told.verdict), *_park(told.verdict)]
    parts += [_title("What came of it"), *_outcome(told.outcome)]
    if told.what_if is not None:
        parts += _what_if(told.what_if, told)
    return Group(*parts)


# -- the request, the engine, the slots ------------------------------------------------------------


def _head(told: Explanation) -> RenderableType:
    logged, table = told.logged, told.logged.table
    request = table.request
    what = f"{logged.verb} of {words.tokens(request.prompt)}"
    if request.client_slot is not None:
        what += f" for client slot {request.client_slot}"
    what += ", with pictures" if request.images else ""
    what += "" if request.cvec == 1 else f", cvec {request.cvec}"
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    grid.add_row(f"Request {logged.request}", Text(f"{what}   {logged.at}".rstrip()))
    grid.add_row("Engine", Text(_engine(table.engine, table.prompt_rate)))
    grid.add_row("Settings", Text(_settings(table.settings)))
    grid.add_row("Resumes", Text(resumes(told.verdict.decision.placement)))
    return grid


def _engine(engine: EngineShape, prompt_rate: float) -> str:
    said = [f"{engine.batch_slots} slots"]
    if engine.batch_groups > 1:
        said[0] += f" in {engine.batch_groups} groups of {engine.group_size}"
    said += ["slot_cache" if engine.slot_cache else "no slot_cache"]
    if engine.batch_groups > 1:
        said += ["slot_padding_safe" if engine.slot_padding_safe else "pad rows"]
    said += [_how_parked(engine)]
    said += ["no turn_token"] if engine.turn_token is None else []
    rate = f"{prompt_rate:,.0f} tok/s" if prompt_rate else "none yet"
    return f"{', '.join(said)}; prompt rate {rate}"


def _how_parked(engine: EngineShape) -> str:
    if engine.slot_park and engine.park_admits:
        return "parks by requests of slotd's own"
    return "slot_park" if engine.slot_park else "no slot_park"


def _settings(settings: PolicySettings) -> str:
    others = [
        f"{name} {getattr(settings, name):g}"
        for name, default in DEFAULTS.items()
        if getattr(settings, name) != default
    ]
    if not others:
        return "the defaults"
    return ", ".join(others) + ("; the others as by default" if len(others) < len(DEFAULTS) else "")


def _slot_table(told: Explanation) -> RenderableType:
    table = told.logged.table
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in _COLUMNS:
        left_bound = name == "state"
        grid.add_column(name, justify="left" if left_bound else "right", no_wrap=True)
    grid.add_column("")
    chosen = told.logged.decision
    for row in table.slots:
        marks = _marks(chosen, row.slot)
        style = "bold" if marks else ("" if row.idle else "dim")
        client = told.logged.client_slots.get(row.slot)
        cells = [str(row.slot), _NONE if client is None else str(client), *_cells(table, row)]
        says = [*marks, _says(table, row), _expected(chosen, row)]
        grid.add_row(*cells, "; ".join(word for word in says if word), style=style)
    grid.add_row("main", "", *_main_cells(table), style="dim")
    return Padding(grid, (1, 0, 0, 0))


def _cells(table: Table, row: SlotRow) -> Iterator[str]:
    holds = row.tokens > 0
    yield row.state
    yield _number(row.tokens)
    yield _number(row.shared)
    yield _number(match(table, row))
    yield _age(row.age) if holds else _NONE
    left = slot_ttl_left(table, row)
    yield words.seconds(left) if row.idle and left else _NONE
    yield words.value(slot_value(table, row)) if row.idle and holds else _NONE
    yield str(load(table, row))


def _says(table: Table, row: SlotRow) -> str:
    if row.state == "yielded":
        return "keeps a read that gave way"
    checkpoints = f"; {len(row.checkpoints)} checkpoints" if row.checkpoints else ""
    return f"{words.standing(table, row)}{checkpoints}" if row.idle else ""


def _expected(chosen: LoggedDecision, row: SlotRow) -> str:
    """Say what a policy that learns expects of an idle slot's conversation."""
    if not chosen.losses or not row.idle:
        return ""
    loss = chosen.losses[row.slot]
    return f"loss {round(loss.loss):,}, returns {loss.chance:.0%}"


def _marks(chosen: LoggedDecision, slot: int) -> list[str]:
    marks = ["CHOSEN"] if slot == chosen.slot else []
    marks += ["resumed from"] if slot == chosen.source != chosen.slot else []
    return marks + (["PARK"] if chosen.park is not None and slot == chosen.park.slot else [])


def _main_cells(table: Table) -> list[str]:
    main = table.main
    if main is None:
        return [*[_NONE] * 8, "in use, or holds nothing"]
    return [
        "",
        _number(main.tokens),
        _number(main.shared),
        _number(main_match(table)),
        _age(main.age),
        _NONE,
        words.value(main_value(table, main)),
        _NONE,
        "pictures" if main.images else "",
    ]


def _number(number: int) -> str:
    return f"{number:,}" if number else _NONE


def _age(age: float) -> str:
    return words.seconds(age)


# -- the rules -------------------------------------------------------------------------------------


def _another_policy(told: Explanation) -> RenderableType:
    logged, published = told.logged.decision, as_logged(told.verdict.decision)
    same = "the same" if told.agrees else _choice(published)
    if logged.losses:
        said = (
            f"A policy that learns decided: {_choice(logged)}. {why(logged, told.logged.table)} "
            "What giving a slot up is expected to lose (tokens read again) and how likely its "
            "conversation returns is beside each slot. The published rules, told below, give "
            f"{same}."
        )
    else:
        said = (
            f"The log says {_choice(logged)}; with its table and settings these rules give {same}. "
            "Another policy decided, or another version of this one. Below is what these rules say."
        )
    return Padding(Text(said, "bold yellow"), (1, 0, 0, 0))


def _choice(decision: LoggedDecision) -> str:
    slot = "no slot" if decision.slot is None else f"slot {decision.slot}"
    said = f"{slot} ({decision.reason})"
    if decision.park is None:
        return f"{said}, nothing to park"
    if decision.park.slot is None:
        return f"{said}, no park ({decision.park.reason})"
    return f"{said}, park in slot {decision.park.slot} ({decision.park.reason})"


def _place(verdict: Verdict) -> Iterator[RenderableType]:
    placement = verdict.decision.placement
    slot = "no slot" if placement.slot is None else f"slot {placement.slot}"
    yield _title("Place", f"{slot}, {placement.reason}: {verdict.place_says}")
    yield from _accounts(verdict.place_rules)


def _park(verdict: Verdict) -> Iterator[RenderableType]:
    park = verdict.decision.park
    reason = "" if park is None or park.slot is None else f"{park.reason}: "
    yield _title("Park", f"{reason}{verdict.park_says}")
    yield from _accounts(verdict.park_rules)


def _accounts(accounts: Sequence[Account]) -> Iterator[RenderableType]:
    for number, account in enumerate(accounts, start=1):
        name = Text.assemble((f"{number} {account.rule}", "bold" if account.decided else ""))
        name.append(
            ": decided" if account.decided else ": no", "green" if account.decided else "dim"
        )
        yield _indented(name, 2)
        for sentence in account.says:
            yield _indented(Text(sentence), 4)
        if account.candidates or account.others:
            yield _indented(_slots_of(account), 4)


def _slots_of(account: Account) -> RenderableType:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(min_width=30)
    grid.add_column()
    for candidate in account.candidates:
        style = "bold green" if candidate.taken else ""
        why = "taken" if candidate.taken else candidate.why
        mark = ">" if candidate.taken else " "
        grid.add_row(f"{mark} slot {candidate.slot}", candidate.shows, why, style=style)
    for note in account.others:
        grid.add_row(f"- slot {note.slot}", note.why, style="dim")
    return grid


# -- afterwards, and what if -----------------------------------------------------------------------


def _outcome(happenings: Sequence[Happening]) -> Iterator[RenderableType]:
    if not happenings:
        yield _indented(Text("The log does not say."), 2)
        return
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column()
    for happening in happenings:
        _, _, clock = happening.at.partition("T")
        grid.add_row(clock.rstrip("Z"), happening.event, Text(happening.says))
    yield _indented(grid, 2)


def _what_if(what_if: WhatIf, told: Explanation) -> Iterator[RenderableType]:
    settings = told.logged.table.settings
    given = (
        f"{name} = {number:g} (logged: {getattr(settings, name):g})"
        for name, number in what_if.given.items()
    )
    yield Padding(Text(f"WHAT IF  {', '.join(given)}", "bold magenta"), (1, 0, 0, 0))
    was, now = told.verdict.decision, what_if.verdict.decision
    if now == was:
        yield _indented(Text(f"The same: {_choice(as_logged(now))}."), 2)
    else:
        yield _indented(Text(f"Instead of {_choice(as_logged(was))}:"), 2)
        yield _indented(Text(f"{_choice(as_logged(now))}.", "bold"), 2)
    if what_if.slots:
        grid = Grid.grid(padding=(0, 2, 0, 0))
        for change in what_if.slots:
            grid.add_row(f"slot {change.slot}", change.was, "->", change.now)
        yield _indented(grid, 2)
    if now.placement != was.placement:
        yield from _place(what_if.verdict)
    if now.park != was.park:
        yield from _park(what_if.verdict)


def _title(name: str, says: str = "") -> RenderableType:
    return Padding(Text.assemble((name, "bold cyan"), f"  {says}" if says else ""), (1, 0, 0, 0))


def _indented(part: RenderableType, columns: int) -> RenderableType:
    return Padding(part, (0, 0, 0, columns))
