"""No pattern uses what some supported versions of Python match wrongly."""

import re

from tests.paths import PROJECT

POSSESSIVE_GROUP = re.compile(r"\)(?:[+*?]|\{\d*,?\d*\})\+|\(\?>")
"""Before 3.11.5, a group like that may leave its match in the middle of one round."""


def test_no_group_is_possessive() -> None:
    found = [
        path.relative_to(PROJECT)
        for folder in ("protocol", "slotd")
        for path in (PROJECT / folder).rglob("*.py")
        if POSSESSIVE_GROUP.search(path.read_text())
    ]
    assert found == []


def test_one_would_be_found() -> None:
    for pattern in (r"(?:ab?c)++", r"(a|b)*+", r"(?:a){2,3}+", r"(?>a|b)"):
        assert POSSESSIVE_GROUP.search(pattern)
    assert not POSSESSIVE_GROUP.search(r"\s*+(\S++)")
