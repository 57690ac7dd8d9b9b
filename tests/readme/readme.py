"""Reading the README: its marked blocks and tables.

A mark is a line of its own, `<!-- KIND: NAME -->`, right before a fenced block or a table.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from tests.paths import PROJECT

README = PROJECT / "README.md"
_MARK = re.compile(r"<!-- (\w+): ([\w.]+) -->")
_FENCE = "```"


@frozen
class Block:
    """What stands below a mark."""

    kind: str
    name: str
    language: str
    """That of a fenced block; a table has none."""

    text: str


@frozen
class LoggedEvent:
    """A row of the table of events."""

    levels: frozenset[str]
    fields: frozenset[str]
    optional: frozenset[str]


def blocks() -> Iterator[Block]:
    lines = README.read_text().split("\n")
    for number, line in enumerate(lines):
        mark = _MARK.fullmatch(line)
        if mark is None:
            assert not line.startswith("<!--"), f"line {number + 1} is a mark of no known form"
            continue
        below = lines[number + 1]
        rest = lines[number + 2 :]
        if below.startswith(_FENCE):
            text = rest[: rest.index(_FENCE)]
            yield Block(mark[1], mark[2], below.removeprefix(_FENCE), "\n".join(text) + "\n")
        else:
            assert below.startswith("|"), f"line {number + 1} marks neither a block nor a table"
            yield Block(mark[1], mark[2], "", "\n".join([below, *rest[: rest.index("")]]))


def named(kind: str, name: str) -> list[Block]:
    found = [block for block in blocks() if (block.kind, block.name) == (kind, name)]
    assert found, f"the README has no block marked {kind}: {name}"
    return found


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table's rows, its heading left out."""
    (table,) = named("table", name)
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.text.split("\n")
    ]
    assert {len(row) for row in cells} == {len(cells[0])}
    return cells[2:]


def ticked(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def events() -> dict[str, LoggedEvent]:
    """Return the events the README describes; optional fields stand in parentheses."""
    described = {}
    for name, levels, _, fields in rows("events"):
        optional = {field for part in re.findall(r"\(([^)]*)\)", fields) for field in ticked(part)}
        described[ticked(name)[0]] = LoggedEvent(
            frozenset(levels.split(", ")), frozenset(ticked(fields)) - optional, frozenset(optional)
        )
    return described
