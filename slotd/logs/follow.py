"""The lines of a log that is still being written, through truncation and rotation.

Here: reading on. Not here: what the lines mean.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 1 << 20
"""Bytes; a longer line comes in pieces, so that a file without newlines needs no memory."""


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is in `file` line by line, to its end, the unfinished last line as well."""
    while line := file.readline(LONGEST_LINE):
        yield line


def follow(path: Path, wait: Callable[[], None]) -> Iterator[bytes]:
    """Yield the lines of the file at `path`, and go on with what is appended, for ever.

    `wait` is called whenever there is nothing new. A line is held until it is finished. When the
    file has become shorter it is read from its start; when another file has taken its name, the
    rest of the old one comes first and then the new one.

    Raises OSError when the file cannot be opened at first; later on it is waited for.
    """
    file: BinaryIO = path.open("rb")
    while True:
        with file:
            yield from _until_replaced(file, path, wait)
        file = _opened_once_there(path, wait)


def _opened_once_there(path: Path, wait: Callable[[], None]) -> BinaryIO:
    while True:
        try:
            return path.open("rb")
        except FileNotFoundError:  # removed again already, between two looks
            wait()


def _until_replaced(file: BinaryIO, path: Path, wait: Callable[[], None]) -> Iterator[bytes]:
    unfinished = b""
    replaced = False
    while True:
        while line := file.readline(LONGEST_LINE):
            unfinished += line
            if line.endswith(b"\n") or len(unfinished) >= LONGEST_LINE:
                yield unfinished
                unfinished = b""
        if replaced:
            break
        replaced = _another_file_at(path, file)
        if replaced:
            continue  # what was written to the old one before its name was taken
        if os.fstat(file.fileno()).st_size < file.tell():
            unfinished = b""
            file.seek(0)
            continue
        wait()
    if unfinished:
        yield unfinished


def _another_file_at(path: Path, file: BinaryIO) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(file.fileno())
    return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)
