"""Keeping what the adaptive policy learned over a restart, in a file.

Here: reading and replacing the file. Not here: what is in it (`slotd.policy.adaptive.state`), and
when it is written.
"""

import os
from pathlib import Path

from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.state import MARK, dump, load
from slotd.record.theirs import refuse_theirs


def read_learned(path: Path) -> AdaptiveDecider:
    """Return the adaptive policy with what the file holds; with nothing where that cannot be had.

    A file that is missing, unreadable or not understood costs the learning and nothing else.
    """
    try:
        refuse_theirs(path, MARK)
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return AdaptiveDecider()
    return AdaptiveDecider(load(text))


def write_learned(path: Path, decider: AdaptiveDecider) -> None:
    """Replace the file by what the policy knows now; a crash leaves the old or the new one whole.

    Raises:
        OSError: the file cannot be written, or is something else's.
    """
    refuse_theirs(path, MARK)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)  # what lies there may be somebody's link to elsewhere
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(dump(decider.model) + "\n")
    fresh.replace(path)
