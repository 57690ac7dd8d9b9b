"""A status as lines for a person: what `slotd status` prints and `slotd top` shows.

Here: the parts of the page and their columns, made for 80 columns. Not here: terminals and keys.
"""

from collections.abc import Iterator

from rich.text import Text

from slotd.eyes.part import Part
from slotd.eyes.words import bar, counted, duration, quantile, share, tokens
from slotd.logs.person import line_of, printable, slot_colour

SLOT_COLUMNS = (
    ("slot", 4),
    ("client", 6),
    ("state", 8),
    ("tokens", 8),
    ("age", 6),
    ("protected", 9),
    ("value", 5),
    ("", 10),
    ("request", 7),
    ("new", 6),
)
"""Heading and width of each; the one without a heading is the value as a bar."""

_LEFT = frozenset({"state", ""})
_STATE_STYLES = {"decoding": "green", "reading": "yellow", "yielded": "magenta", "idle": "dim"}
_ENGINE_STYLES = {"serving": "green", "loading": "yellow", "waiting": "yellow", "stopped": "red"}
_BAR = 10
_LONG_AGO_S = 365 * 86400.0


def summary(status: Part) -> list[Text]:
    """Return six lines about slotd, its engine, its client and what came of the requests."""
    slotd, engine, client = status.part("slotd"), status.part("engine"), status.part("client")
    counters, latency = status.part("counters"), status.part("latency")
    settings, shape = status.part("settings"), engine.part("capabilities")
    state = engine.text("state")
    reused, read = counters.whole("reused_tokens"), counters.whole("read_tokens")
    events = counters.part("events")
    attached = duration(client.number("since_s")) if client.is_set("attached") else ""
    return [
        _line(
            ("slotd", f"{slotd.text('version')} {slotd.text('mode')}", ""),
            ("pid", slotd.text("pid"), ""),
            ("up", duration(slotd.number("uptime_s")), ""),
            ("policy", settings.text("policy_name", settings.text("policy")), ""),
            ("park", settings.text("park"), ""),
        ),
        _line(
            ("engine", shape.text("engine"), ""),
            ("", state, _ENGINE_STYLES.get(state, "")),
            ("pid", engine.text("pid"), ""),
            ("starts", engine.text("starts"), ""),
            ("slots", f"{shape.whole('batch_slots')} in {shape.whole('batch_groups')}", ""),
            ("client", f"attached {attached}" if attached else "none", "" if attached else "dim"),
        ),
        _line(
            ("requests", tokens(counters.whole("requests")), ""),
            ("reused", f"{tokens(reused)} ({share(reused, reused + read)})", "green"),
            ("read", tokens(read), ""),
            ("errors", str(events.whole("error")), "red" if events.whole("error") else ""),
            ("drifts", str(events.whole("drift")), "yellow" if events.whole("drift") else ""),
        ),
        _line(("placed", counted(counters.part("placements")), "")),
        _line(
            ("parks", counted(counters.part("parks"), most=3), ""),
            ("added latency", f"p50 {_latency(latency, 0.5)}", ""),
            ("", f"p99 {_latency(latency, 0.99)}", ""),
        ),
        _line(("now", _in_flight(status.parts("in_flight")), "")),
    ]


def heading() -> Text:
    """Return the heading of the slots' table."""
    return Text(_row([name for name, _ in SLOT_COLUMNS]), "bold")


def slot_line(slot: Part) -> Text:
    """Return one slot's line."""
    state, held = slot.text("state"), slot.whole("tokens")
    line = Text(end="")
    if held and slot.is_set("superseded"):
        note = "superseded"
    else:
        note = bar(slot.number("value") or 0.0, _BAR) if held else ""
    cells = [
        slot.text("slot"),
        slot.text("client_slot"),
        state,
        tokens(held) if held else "-",
        _age(slot) if held else "-",
        _protection(slot) if held else "-",
        f"{slot.number('value') or 0:.3f}" if held else "-",
        note,
        slot.text("request"),
        tokens(slot.whole("generated")) if slot.whole("generated") else "-",
    ]
    style = _STATE_STYLES.get(state, "")
    line.append(_row(cells), style)
    line.stylize(slot_colour(slot.whole("slot")), 0, SLOT_COLUMNS[0][1])
    return line


def main_line(status: Part) -> Text:
    """Return the main session's line, below the slots."""
    main = status.part("main")
    held = main.whole("tokens")
    cells = ["main", "", "holds" if held else "nothing"]
    if held:
        value = main.number("value") or 0.0
        cells += [tokens(held), _age(main), _protection(main), f"{value:.3f}", bar(value, _BAR)]
    return Text(_row(cells), "" if held else "dim")


def event_lines(status: Part) -> list[Text]:
    """Return the last events, the latest at the end."""
    return [line_of(event.fields) for event in status.parts("events")]


def setting_lines(status: Part) -> Iterator[Text]:
    """Yield the settings in force, one a line."""
    for name, value in _flat(status.part("settings").fields):
        yield Text.assemble((f"  {name:<24}", "dim"), value)


def page(status: Part, events: int = 10) -> Iterator[Text]:
    """Yield everything: the summary, the slots, the settings and the last `events` events."""
    yield from summary(status)
    yield Text()
    yield heading()
    for slot in status.parts("slots"):
        yield slot_line(slot)
    yield main_line(status)
    yield Text()
    yield Text("settings in force", "bold")
    yield from setting_lines(status)
    if events:
        yield Text()
        yield Text("last events", "bold")
        yield from event_lines(status)[-events:]


def _flat(fields: object, before: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(fields, dict):
        return
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", Part({"value": value}).text("value")


def _line(*figures: tuple[str, str, str]) -> Text:
    line = Text(end="")
    for name, value, style in figures:
        if line:
            line.append("  ")
        if name:
            line.append(f"{name} ", "dim")
        line.append(printable(value), style)
    return line


def _row(cells: list[str]) -> str:
    widths = zip(cells, SLOT_COLUMNS, strict=False)
    return " ".join(
        printable(cell).ljust(width) if name in _LEFT else printable(cell).rjust(width)
        for cell, (name, width) in widths
    ).rstrip()


def _age(row: Part) -> str:
    age = row.number("age")
    return "-" if age is None or age > _LONG_AGO_S else duration(age)


def _protection(row: Part) -> str:
    left = row.number("ttl_left") or 0.0
    return duration(left) if left > 0 else "no"


def _latency(latency: Part, at: float) -> str:
    return quantile(latency.part("buckets").numbers(), at)


def _in_flight(requests: list[Part]) -> str:
    """Return what the control lines are busy with, and how many requests wait for them."""
    if not requests:
        return "no request on the control lines"
    first, *others = requests
    read = f"{tokens(first.whole('read'))}/{tokens(first.whole('prompt'))}"
    waiting = f", {len(others)} more" if others else ""
    return (
        f"request {first.text('request')} {first.text('phase')} {read} "
        f"for {duration(first.number('seconds'))}{waiting}"
    )
