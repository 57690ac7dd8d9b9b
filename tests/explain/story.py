"""A log for the explanations, written by the real sidecar: half a minute of two groups of slots.

The engine's side is played by hand. Every request the log is about has a name here, which is its
number.
"""

from functools import cache

from slotd.logs.chain import Chain
from tests.core.transcript import Transcript

ENGINE = (
    "batch_slots=4 batch_groups=2 slot_cache=1 slot_padding_safe=1 slot_park=1 turn_token=9 "
    "context=270000 engine=0.2.7"
)
STARTED = 1_769_860_800.0
"""2026-01-31T12:00:00Z."""

LONG, CHAT, SIDE, NEXT_TURN, FRESH, PARKS, RETURNS, READ, GOES_ON = range(1, 10)


def span(first: int, tokens: int) -> str:
    return ",".join(map(str, range(first, first + tokens)))


class Story:
    """The sidecar, and the lines of its log so far."""

    def __init__(self) -> None:
        self.transcript = Transcript(info=None)
        self.chain = Chain("json", colours=False)
        self.lines: list[bytes] = []
        self.says(f"INFO {ENGINE}", "READY 270000 stop")

    def at(self, seconds: float) -> None:
        self.transcript.now = seconds

    def asks(self, line: str) -> list[str]:
        """Let the client write a line; return the fields the engine gets before the prompt."""
        return self._write(">>", line).split()[:-1]

    def says(self, *lines: str) -> None:
        """Let the engine write lines."""
        for line in lines:
            self._write("<<", line)

    def _write(self, side: str, line: str) -> str:
        passed = self.transcript.write(side, line.encode() + b"\n").decode()
        now = STARTED + self.transcript.now
        self.lines += [self.chain.line(event, now) for event in self.transcript.events]
        self.transcript.events.clear()
        return passed

    def admits(self, slot: int, prompt: int, reused: int, ms: int) -> None:
        self.says(f"RESUME {reused}", "T 700", f"DONE 1 {prompt} {ms} 1 length 0 0 {reused}")
        self.says(f"BADM {slot} 1")

    def finishes(self, slot: int, generated: int) -> None:
        """Let a slot's request end with tokens 700, 701, ...; the first came with its admission."""
        self.says(*(f"BT {slot} {700 + token}" for token in range(1, generated)))
        self.says(f"BDONE {slot} {generated} stop {20 * generated}")


@cache
def log() -> bytes:
    """Return the log."""
    story = Story()

    story.asks(f"BGEN 0 900 {span(100_000, 37_352)}")  # LONG
    story.at(14.0)
    story.admits(0, prompt=37_352, reused=0, ms=14_000)
    story.finishes(0, generated=8)

    story.asks(f"BGEN 1 900 {span(200_000, 9_000)}")  # CHAT
    story.at(18.0)
    story.admits(2, prompt=9_000, reused=0, ms=3_400)

    story.asks(f"BGEN 2 900 {span(300_000, 300)}")  # SIDE
    story.admits(1, prompt=300, reused=0, ms=110)
    story.at(19.0)
    story.finishes(2, generated=2)

    story.at(20.0)
    turn = f"{span(100_000, 37_352)},{span(700, 7)},{span(9, 1)},{span(400_000, 200)}"
    story.asks(f"BGEN 3 900 {turn}")  # NEXT_TURN
    story.at(20.5)
    story.says("CACHE_SOURCE 0 37359")
    story.admits(3, prompt=37_560, reused=37_359, ms=520)
    story.says("BCHECKS 3 37560 16384,32768")

    story.asks(f"GEN 900 {span(500_000, 5_000)}")  # FRESH
    story.at(22.4)
    story.says("RESUME 0", "T 7", "T 8", "DONE 2 5000 1900 40 stop 0 0 0")

    story.at(24.0)
    story.asks(f"GEN 900 {span(600_000, 1_000)}")  # PARKS
    story.at(24.1)
    story.says("PARKED 0 5001", "RESUME 0", "T 7", "T 8", "DONE 2 1000 400 40 stop 0 0 0")

    story.at(25.0)
    story.asks(f"GEN 900 {span(500_000, 5_000)},7,9,{span(510_000, 30)}")  # RETURNS
    story.says("RESUME 0", "T 7", "T 8", "DONE 2 5032 2000 40 stop 0 0 0")

    story.at(28.0)
    story.asks(f"GEN 900 {span(800_000, 60_000)}")  # READ
    story.says("RESUME 0", "PP 16384 60000 6300 2600")
    story.at(29.0)
    story.asks("BYIELD 1")
    story.at(30.0)
    story.says("YIELDED 2 20480", "DONE 0 60000 8000 0 cancel 0 0 0")
    story.at(31.0)
    story.asks(f"BGEN 1 900 {span(800_000, 60_000)}")  # GOES_ON
    story.says("ERR out of memory")
    return b"".join(story.lines)
