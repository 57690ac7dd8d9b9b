"""Files that are not slotd's, where it was told to put one of its own.

Here: telling one from a file slotd has left there, which may be moved or replaced. Not here: doing
that (`files`, `slotd.daemon.learned`).
"""

import errno
import stat
from pathlib import Path
from typing import Final

REFUSAL: Final = "there is something else of that name"


def refuse_theirs(path: Path, mark: bytes) -> None:
    """Return when nothing is at `path`, or a file of slotd's: one that begins with `mark`.

    An empty file is as good as none, and so is one that ends within the mark.

    Raises:
        OSError: something else is there, or it cannot be read what.
    """
    try:
        ours = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return
    if ours:
        with path.open("rb") as file:
            ours = mark.startswith(file.read(len(mark)))
    if not ours:
        raise FileExistsError(errno.EEXIST, REFUSAL, str(path))
