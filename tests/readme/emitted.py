"""The events the code can emit, read off its source.

An event is made by `Event(name, level, fields)` or by a method `tell(name, level, **fields)`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from attrs import define, field

from tests.paths import PROJECT


@define
class Emitted:
    """What the calls that make one event say of it."""

    levels: set[str] = field(factory=set)
    sure: set[str] = field(factory=set)
    """Fields named in the calls themselves."""

    added: set[str] = field(factory=set)
    """Fields the functions that hold the calls add one by one: `fields["name"] = ...`."""

    possible: set[str] = field(factory=set)
    """Fields named anywhere in the functions that hold the calls."""


def emitted() -> dict[str, Emitted]:
    found: dict[str, Emitted] = {}
    for path in sorted((PROJECT / "slotd").rglob("*.py")):
        for function, call in _calls(path):
            name, level, *more = call.args
            if not isinstance(name, ast.Constant) or not isinstance(level, ast.Constant):
                continue  # `tell` itself, which passes its own arguments on
            event = found.setdefault(str(name.value), Emitted())
            event.levels.add(str(level.value))
            event.sure |= {keyword.arg for keyword in call.keywords if keyword.arg}
            event.sure |= {key for given in more for key in _keys(given)}
            event.added |= {key for node in ast.walk(function) for key in _added(node)}
            event.possible |= event.sure | event.added
            event.possible |= {key for node in ast.walk(function) for key in _keys(node)}
    return found


def _calls(path: Path) -> Iterator[tuple[ast.AST, ast.Call]]:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and len(node.args) >= 2:
                    called = node.func
                    name = called.attr if isinstance(called, ast.Attribute) else ""
                    name = called.id if isinstance(called, ast.Name) else name
                    if name in ("Event", "tell"):
                        yield function, node


def _keys(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Dict):
        return set()
    return {
        key.value
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _added(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Assign):
        return set()
    return {
        target.slice.value
        for target in node.targets
        if isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and isinstance(target.slice.value, str)
    }
