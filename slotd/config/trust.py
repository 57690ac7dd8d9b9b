"""Whether a file can be trusted by root: nobody else may be able to change it.

slotd run as root starts what a configuration file or a shim names, so whoever can write one of them
can run anything as root. For other users the question does not arise.
"""

import os
import stat


def untrusted(path: str, status: os.stat_result, what: str) -> str | None:
    """Say in one line why root must not rely on the file or directory at `path`, or return None.

    `status` is that of the opened file, so that what was checked is what is used; `what` names the
    thing in the line. The directory it lies in is looked at as well: whoever can write there can
    put another file in its place, unless the directory is sticky.
    """
    if os.geteuid() != 0:
        return None
    writer = _other_writer(status)
    if writer:
        return f"{what} {path} can be written by {writer}: as root, use one only root can write"
    # Not pathlib: it would cost 10 ms of every start of the engine.
    directory = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - see above
    parent = os.stat(directory)  # noqa: PTH116 - see above
    writer = _other_writer(parent)
    if writer and not parent.st_mode & stat.S_ISVTX:
        return (
            f"{what} {path} lies in a directory that can be written by {writer}: "
            "as root, use one in a directory that only root can write"
        )
    return None


def _other_writer(status: os.stat_result) -> str | None:
    """Name who besides root can write what has this status, or return None."""
    if status.st_uid != 0:
        return f"its owner (user {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if status.st_mode & stat.S_IWGRP and status.st_gid != 0:
        return f"group {status.st_gid}"
    return None
