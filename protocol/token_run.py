"""Runs of `BT` lines, taken at once: nearly all that a busy engine prints.

Lives here: a reader that gives such runs, their numbers, and writing them with other slot numbers.
Must not live here: every other line (`protocol.reader`, `protocol.engine`), what a token changes.

The same lines could be read one by one by `parse_engine_line`, and are wherever they come together
with another line, or are spelt in any other way than the engine's own: one space between fields, no
leading zeros. That a run is spelt so is seen by writing its numbers and comparing. A window of a
slow engine finds none of this in the processor's caches: few steps count for more than short ones.
"""

from collections.abc import Callable, Iterable

from attrs import define

from protocol.fields import INT32_MAX
from protocol.reader import LineReader, RawItem

MOST_BYTES = 1 << 16
"""The longest run: reading one takes some times its memory."""


@define
class TokenRun:
    """``BT <slot> <id>`` lines in a row, one or more. Not frozen: that takes longest of all."""

    raw: bytes
    numbers: tuple[int, ...]
    """Slot and token id of every line in turn."""

    def tokens(self) -> Iterable[tuple[int, int]]:
        """Return slot and token id of every line, in order."""
        return zip(self.numbers[::2], self.numbers[1::2], strict=True)

    def lines(self) -> list[bytes]:
        """Return the raw lines."""
        return self.raw.splitlines(keepends=True)

    def renumbered(self, number: Callable[[int], int]) -> bytes:
        """Write the lines with other slot numbers: `number` of each one's own."""
        return b"".join([b"BT %d %d\n" % (number(slot), token) for slot, token in self.tokens()])


def token_run(lines: bytes) -> TokenRun | None:
    """Read whole lines as a run; None: one of them is another line, or spelt in another way."""
    if not lines.startswith(b"BT "):
        return None
    fields = lines.split()
    del fields[::3]  # the verbs, if it is a run
    try:
        numbers = tuple(map(int, fields))
        written = b"BT %d %d\n" * (len(numbers) // 2) % numbers
    except (ValueError, TypeError):  # a field is no number, or one is too many
        return None
    if written != lines or b"-" in lines or max(numbers) > INT32_MAX:
        return None
    return TokenRun(lines, numbers)


class RunReader:
    """Reads the engine's direction as a `LineReader` does, with runs of `BT` lines as one item.

    Which lines come as runs depends on how the bytes were cut into chunks; nothing else does.
    """

    def __init__(self) -> None:
        """Begin at the start of a line."""
        self._lines = LineReader(frames=False)
        self._inside_line = False

    def feed(self, data: bytes | bytearray) -> list[RawItem | TokenRun]:
        """Take the next bytes; return what they completed, in order."""
        data = bytes(data)
        items: list[RawItem | TokenRun] = []
        at = 0
        while at < len(data):
            if self._inside_line:
                end = data.find(b"\n", at) + 1 or len(data)
            else:
                end = data.rfind(b"\n", at, at + MOST_BYTES) + 1 or len(data)
                if (run := token_run(data[at:end])) is not None:
                    items.append(run)
                    at = end
                    continue
            items += self._lines.feed(data[at:end])
            self._inside_line = self._lines.inside_line
            at = end
        return items

    def finish(self) -> list[RawItem]:
        """End the stream: return what was left unfinished, and begin anew."""
        self._inside_line = False
        return self._lines.finish()
