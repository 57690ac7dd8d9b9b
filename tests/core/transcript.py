"""Conversations as transcripts: what each side wrote, and what the other side then got.

    >> BGEN 2 5 1,2,3          the client wrote this line
       BGEN 0 5 slot=0 1,2,3   the engine got this one (left out: just what was written)
    << BADM 0 1                the engine wrote this line
       BADM 2 1                the client got this one
    @ 12.5                     it is 12.5 s now

`[3..7]` stands for 3,4,5,6,7. Every line of both sides is checked.
"""

import re

from protocol import EMPTY, TokenIds, parse_ids
from slotd.core.belief import holders
from slotd.core.events import Event
from slotd.core.model import Model
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.state import Main, Slot
from slotd.policy.decide import Decider
from slotd.policy.json_fields import JsonValue

ACTIVE_ROWS = "slot_cache=1 slot_padding_safe=1 slot_park=1 turn_token=9"
"""What an engine says that parks and has no pad rows."""

_RUN = re.compile(r"\[(\d+)\.\.(\d+)\]")


def spelled(text: str) -> str:
    """Spell `[3..7]` out as 3,4,5,6,7."""
    return _RUN.sub(lambda run: ",".join(map(str, range(int(run[1]), int(run[2]) + 1))), text)


def ids(text: str) -> TokenIds:
    parsed = parse_ids(spelled(text).encode())
    return EMPTY if parsed is None else parsed


class Transcript:
    """A sidecar between two sides that are played from text."""

    def __init__(
        self,
        info: str | None = f"batch_slots=4 {ACTIVE_ROWS}",
        *,
        settings: SidecarSettings | None = None,
        decider: Decider | None = None,
    ) -> None:
        self.sidecar = Sidecar(settings or SidecarSettings(), decider)
        self.now = 0.0
        self.events: list[Event] = []
        if info is not None:
            self.play(f"<< INFO {info}\n<< READY 270000 stop")
            self.events.clear()

    @property
    def model(self) -> Model:
        return self.sidecar.model

    @property
    def main(self) -> Main:
        return self.model.main

    def slot(self, number: int) -> Slot:
        return self.model.slots[number]

    def holds(self, number: int) -> str:
        """Return what a slot validly holds, as ids; empty when it holds nothing."""
        slot = self.slot(number)
        return ",".join(map(str, slot.history.tokens().tolist())) if slot.valid else ""

    def main_holds(self) -> str:
        tokens = self.main.history.tokens().tolist()
        return ",".join(map(str, tokens)) if self.main.valid else ""

    def play(self, text: str) -> None:
        lines = [line for line in text.splitlines() if line.strip()]
        while lines:
            line = lines.pop(0).strip()
            if line.startswith("@"):
                self.now = float(line[1:])
                continue
            side, wrote = line[:2], spelled(line[3:])
            assert side in (">>", "<<"), line
            got = wrote
            if lines and lines[0].strip()[:2] not in (">>", "<<") and lines[0].strip()[0] != "@":
                got = spelled(lines.pop(0).strip())
            passed = self.write(side, wrote.encode() + b"\n")
            assert passed == got.encode() + b"\n", (passed, got)

    def write(self, side: str, data: bytes) -> bytes:
        """Let one side write bytes; return what the other side gets."""
        output: Output
        if side == ">>":
            output = self.sidecar.from_client(data, self.now)
            assert output.to_client == []
        else:
            output = self.sidecar.from_engine(data, self.now)
            assert output.to_engine == []
            output.events += self.sidecar.learn()
        self.events += output.events
        return b"".join(output.to_engine + output.to_client)

    def told(self, name: str) -> list[dict[str, JsonValue]]:
        """Return the fields of all events of a name."""
        return [dict(event.fields) for event in self.events if event.name == name]

    def drifts(self) -> list[tuple[JsonValue, JsonValue, JsonValue]]:
        """Return every drift told so far: (fact, expected, said)."""
        return [(drift["fact"], drift["expected"], drift["said"]) for drift in self.told("drift")]

    def admit(self, client_slot: int, prompt: str, *, tokens: str = "", max_new: int = 9) -> int:
        """Play an admission that goes on, unchecked, and some of its tokens; return its slot."""
        line = f"BGEN {client_slot} {max_new} {spelled(prompt)}\n"
        sent = self.write(">>", line.encode())
        slot = int(sent.split()[1])
        length = len(ids(prompt))
        lines = f"RESUME {self.resumable()}\nT 500\nDONE 1 {length} 1 1 length\n"
        lines += f"BADM {slot} 1\n" + "".join(f"BT {slot} {t}\n" for t in tokens.split())
        self.write("<<", lines.encode())
        return slot

    def finish(self, slot: int, finish: str = "stop") -> None:
        """Let an engine slot's request end, unchecked."""
        generated = self.slot(slot).generated
        self.write("<<", f"BDONE {slot} {generated} {finish} 1.0\n".encode())

    def fill(self, client_slot: int, prompt: str) -> int:
        """Play a whole request in a slot that leaves just `prompt` there; return the slot."""
        slot = self.admit(client_slot, prompt)
        self.finish(slot)
        return slot

    def solo(self, prompt: str, tokens: str = "500") -> None:
        """Play a whole solo request, unchecked, that generates these tokens."""
        self.write(">>", f"GEN 9 {spelled(prompt)}\n".encode())
        generated = tokens.split()
        lines = f"RESUME {self.resumable()}\n" + "".join(f"T {t}\n" for t in generated)
        lines += f"DONE {len(generated)} {len(ids(prompt))} 1 1 length\n"
        self.write("<<", lines.encode())

    def resumable(self) -> int:
        """Return what an engine that holds what the model believes would resume."""
        request = self.model.flight.requests()[0]
        return max((holder.tokens for holder in holders(self.model, request)), default=0)
