"""The targets by name."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fuzz.deciding import decide
from tests.fuzz.reading import Features, read
from tests.fuzz.sidecar import play

CORPUS = Path(__file__).parent / "corpus"
"""Inputs worth trying again, by target: found cases and what reaches far."""

TARGETS: Mapping[str, Callable[[bytes], Features]] = {
    "reader": read,
    "core": play,
    "decide": decide,
}
"""Each takes any bytes, raises AssertionError on a fault, and tells what the bytes made happen."""


def corpus(target: str) -> list[Path]:
    """The files of one target's corpus, in a fixed order."""
    return sorted((CORPUS / target).iterdir())
