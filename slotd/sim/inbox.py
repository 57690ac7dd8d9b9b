"""The simulated engine's input: what its reader thread keeps for the serving loop.

Lives here: the queue of lines and frames, the STOP flag beside it, and which lines a running read
takes out of the queue. Must not live here: what any other line does.
"""

import sys
from collections import deque

from protocol.fields import content, integer, split_verb
from protocol.reader import Frame, LineReader, RawItem, raw_of

_LONGEST = sys.maxsize // 2
"""Bytes of a line: the engine has no bound of its own, and answers each line once."""


class Inbox:
    """Lines that arrived and are not carried out yet, in order, and the STOP flag."""

    def __init__(self, frames: bool, honours_stop: bool) -> None:
        """``frames``: a build with grammar frames; ``honours_stop``: whether STOP does anything."""
        self._reader = LineReader(frames, _LONGEST)
        self._honours_stop = honours_stop
        self._waiting: deque[bytes | Frame] = deque()
        self.stop = False
        """STOP was seen since the running request began."""
        self.ended = False
        """No more input comes."""

    def feed(self, data: bytes) -> None:
        """Input arrived. STOP raises the flag at once; everything else waits its turn."""
        for item in self._reader.feed(data):
            self._keep(item)

    def end(self) -> None:
        """Take the end of the input; an unfinished last line counts as a line."""
        for item in self._reader.finish():
            self._keep(item)
        self.ended = True

    def _keep(self, item: RawItem) -> None:
        if isinstance(item, Frame):
            self._waiting.append(item)
            return
        line = content(raw_of(item))
        if line == b"STOP":
            self.stop = self.stop or self._honours_stop
        else:
            self._waiting.append(line)

    def take(self) -> bytes | Frame | None:
        """Take the next line (without its terminator) or frame to carry out, or None."""
        return self._waiting.popleft() if self._waiting else None

    def take_between_chunks(self) -> list[tuple[bytes, int]]:
        """Take what a running read looks at: the waiting `BYIELD` and `BSTOP`, as (verb, slot).

        Every other line keeps its place in the queue. Lines without a slot number are dropped.
        """
        if not self._waiting:
            return []
        taken, left = list[tuple[bytes, int]](), deque[bytes | Frame]()
        for item in self._waiting:
            verb = b"" if isinstance(item, Frame) else split_verb(item)[0]
            if isinstance(item, Frame) or verb not in (b"BYIELD", b"BSTOP"):
                left.append(item)
            elif (slot := slot_of(item)) is not None:
                taken.append((verb, slot))
        self._waiting = left
        return taken


def slot_of(line: bytes) -> int | None:
    """Read the slot number that `BSTOP` or `BYIELD` names, or None when it names none."""
    fields = split_verb(line)[1].split()
    return integer(fields[0]) if fields else None
