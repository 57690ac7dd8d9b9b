"""Runs of `BT` lines, taken at once: nearly all that a busy engine prints.

Lives here: a reader that gives such runs, their numbers, and writing them with other slot numbers.
Must not live here: every other line (`protocol.reader`, `protocol.engine`), what a token changes.

The same lines could be read one by one by `parse_engine_line`, and are wherever they are spelt in
any other way than the engine's own: one space between fields, no leading zeros. A line of such a
run costs a tenth of a line that is read by itself.
"""

import re
from collections.abc import Callable, Iterable

from attrs import frozen

from protocol.reader import LineReader, RawItem

# At most 9 digits: such a token id is never beyond int32. At most 1,024 lines: the search remembers
# each one. Not possessive, which would spare that: before Python 3.11.5 such a group ends its match
# in the middle of a line where the line after the run begins like one of it.
_RUN = re.compile(rb"(?:BT (?:0|[1-9][0-9]{0,2}) (?:0|[1-9][0-9]{0,8})\n){1,1024}")


@frozen
class TokenRun:
    """``BT <slot> <id>`` lines in a row, 1 to 1,024."""

    raw: bytes

    def tokens(self) -> Iterable[tuple[int, int]]:
        """Return slot and token id of every line, in order."""
        fields = self.raw.split()
        return zip(map(int, fields[1::3]), map(int, fields[2::3]), strict=True)

    def lines(self) -> list[bytes]:
        """Return the raw lines."""
        return self.raw.splitlines(keepends=True)

    def renumbered(self, number: Callable[[int], int]) -> bytes:
        """Write the lines with other slot numbers: `number` of each one's own."""
        return b"".join([b"BT %d %d\n" % (number(slot), token) for slot, token in self.tokens()])


class RunReader:
    """Reads the engine's direction as a `LineReader` does, with runs of `BT` lines as one item.

    How many lines a run has depends on how the bytes were cut into chunks; nothing else does.
    """

    def __init__(self) -> None:
        """Begin at the start of a line."""
        self._lines = LineReader(frames=False)

    def feed(self, data: bytes | bytearray) -> list[RawItem | TokenRun]:
        """Take the next bytes; return what they completed, in order."""
        data = bytes(data)
        items: list[RawItem | TokenRun] = []
        at = 0
        while at < len(data):
            found = None if self._lines.inside_line else _RUN.match(data, at)
            if found is not None:
                items.append(TokenRun(found[0]))
                at = found.end()
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            items += self._lines.feed(data[at:end])
            at = end
        return items

    def finish(self) -> list[RawItem]:
        """End the stream: return what was left unfinished, and begin anew."""
        return self._lines.finish()
