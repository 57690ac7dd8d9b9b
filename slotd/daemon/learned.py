"""Keeping what the adaptive policy learned over a restart, in a file.

Here: reading and replacing the file. Not here: what is in it (`slotd.policy.adaptive.state`), and
when it is written.
"""

import errno
import os
from pathlib import Path

from slotd.policy.adaptive.returns import ReturnModel
from slotd.policy.adaptive.state import MARK, dump, load
from slotd.record.theirs import refuse_theirs


def read_learned(path: Path) -> ReturnModel | None:
    """Return what the file holds; None where there is no file yet, or an empty one.

    Raises:
        OSError: it cannot be read, is something else's, or is not understood.
    """
    refuse_theirs(path, MARK)
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return None
    model = load(text)
    if model is None and text:
        raise OSError(errno.EINVAL, "what it holds is not understood")
    return model


def write_learned(path: Path, model: ReturnModel) -> None:
    """Replace the file by what the policy knows now; a crash leaves the old or the new one whole.

    Raises:
        OSError: the file cannot be written, or it or the one it is written to first is something
            else's.
    """
    refuse_theirs(path, MARK)
    fresh = path.with_name(path.name + ".new")
    if not fresh.is_symlink():
        refuse_theirs(fresh, MARK)
    fresh.unlink(missing_ok=True)  # one a crash left, or somebody's link to elsewhere
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(dump(model) + "\n")
        file.flush()
        # A machine that loses power may keep the new name and lose what it holds.
        os.fsync(descriptor)
    fresh.replace(path)
