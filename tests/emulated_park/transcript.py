"""Parks by requests of slotd's own as transcripts: who wrote what, and what each side then got.

    >> GEN 5 1,2,3        the client wrote this line
       > BGEN 0 2 7,8     the engine got this one
    << T 5                the engine wrote this line
       < T 5              the client got this one
    @ 12.5                it is 12.5 s now

A line that is followed by neither `>` nor `<` reached nobody; `=` means that it passed as it was
written. `[3..7]` stands for 3,4,5,6,7.
"""

from attrs import evolve

from slotd.core.output import Output
from slotd.core.settings import SidecarSettings
from slotd.policy.settings import PolicySettings
from tests.core.transcript import Transcript, spelled

EMULATED = SidecarSettings(park="emulated", slot_key=False)
PLAIN = "batch_slots=4 slot_cache=1"
"""What a released engine with one group says."""

LONG = "[100..9000]"
HELD = 8901
"""Tokens of `LONG`; a solo reply of one token more is not held."""

BEFORE_THE_COPY = f"""
    >> GEN 5 1,2,3
       > BGEN 0 2 {LONG},500
    << RESUME {HELD}
    """
THE_COPY = f"""
    << T 600
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
    << BADM 0 1
       > BSTOP 0
    << BT 0 601
    """
AN_ADMISSION_LEAVES = f"""
    << RESUME {HELD}
    << T 600
       > BGEN 0 5 1,2,3
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
    << BADM 1 1
       > BSTOP 1
    """
"""The copy into slot 1; an admission to slot 0 leaves as soon as its first token is there."""


class ParkTranscript(Transcript):
    """A sidecar that parks by requests of its own, between two sides played from text."""

    def __init__(self, info: str = PLAIN, settings: SidecarSettings = EMULATED) -> None:
        super().__init__(info, settings=settings)

    def act(self, text: str) -> None:
        for line, expected in _grouped(text):
            if line.startswith("@"):
                self.now = float(line[1:])
                continue
            side, wrote = line[:2], spelled(line[3:])
            assert side in (">>", "<<"), line
            got = self.both(side, wrote.encode() + b"\n")
            if expected == ["="]:
                expected = [f"{side[0]} {wrote}"]
            assert got == [spelled(each) for each in expected], (line, got)

    def both(self, side: str, data: bytes) -> list[str]:
        """Let one side write bytes; return what either got, `> line` and `< line`."""
        output = self.put(side, data)
        written = [("> ", output.to_engine), ("< ", output.to_client)]
        return [
            mark + line for mark, raw in written for line in b"".join(raw).decode().splitlines()
        ]

    def put(self, side: str, data: bytes) -> Output:
        take = self.sidecar.from_client if side == ">>" else self.sidecar.from_engine
        output = take(data, self.now)
        self.events += output.events
        return output


def _grouped(text: str) -> list[tuple[str, list[str]]]:
    """Give every line somebody wrote with those the two sides get of it."""
    groups: list[tuple[str, list[str]]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line[:2] in (">>", "<<") or line[0] == "@":
            groups.append((line, []))
        else:
            groups[-1][1].append(line)
    return groups


def parking(info: str = PLAIN, policy: PolicySettings | None = None) -> ParkTranscript:
    """A conversation of `HELD` tokens is in the main session since second 10; it is second 12."""
    settings = EMULATED if policy is None else evolve(EMULATED, policy=policy)
    talk = ParkTranscript(info, settings)
    talk.now = 10.0
    talk.act(
        f"""
        >> GEN 9 {LONG}
           =
        << RESUME 0
           =
        << T 500
           =
        << DONE 1 {HELD} 1000.0 1.0 length 0 0 0
           =
        """
    )
    talk.now = 12.0
    talk.events.clear()
    return talk
