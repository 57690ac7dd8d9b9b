"""The order the suite's files are begun in, the signals its processes begin with, untimed examples.

Lives here: which files take longest; they come first, so that none of them runs on alone at the end
while the other workers have nothing left. Must not live here: any fixture.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Hypothesis times no example: how busy the machine is is none of a test's business. SLOTD_EXAMPLES
# makes it try more or fewer of them, where a test does not say how many.
settings.register_profile(
    "untimed", deadline=None, max_examples=int(os.environ.get("SLOTD_EXAMPLES", "100"))
)
settings.load_profile("untimed")

LONGEST_FIRST = [
    "systemd",
    "faults",
    "reference",
    "soak",
    "model_equivalence",
    "emulated_park",
    "end_to_end",
    "fuzz",
    "host",
    "core",
]
"""Folders of tests."""
HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Keep pytest-xdist, where it is there, from beginning with the files of the most tests.

    A shell starts what runs in the background with INT and QUIT ignored, nohup with HUP, and so
    would be what the tests start and send them to.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the folders above first; the others stay in their order."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(HERE).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)
