from random import Random

import numpy as np
import pytest
from attrs import evolve

from slotd.sim.engine import SimEngine
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.timing import Timing
from slotd.sim.token_model import HashModel
from tests.sim.reference import comparable, comparable_row, run_reference, run_simulated

SMALL = SimOptions(context=400, chunk=7, checkpoint_every=16, timing=Timing.instant())
LEVELS = {
    "no batch": evolve(SMALL, batch_slots=0, active_rows=False),
    "batch": evolve(SMALL, batch_slots=4, batch_groups=1),
    "no slot cache": evolve(SMALL, batch_slots=4, batch_groups=1, slot_cache=False),
    "pad rows": evolve(SMALL, active_rows=False),
    "padding safe": SMALL,
    "checkpoints": evolve(SMALL, slot_checkpoints=3),
    "branches": evolve(SMALL, slot_checkpoints=2, branch_margin=3),
    "branches without batch": evolve(SMALL, batch_slots=0, branch_margin=2),
    "parks without cache": evolve(SMALL, slot_cache=False),
    "no stop": evolve(SMALL, stop=False),
    "no main cache": evolve(SMALL, main_cache=False),
    "no periodic checkpoints": evolve(SMALL, checkpoint_every=0, slot_checkpoints=2),
}


class Client:
    """Conversations that grow, fork, are rewritten and regenerated, with everything sent at any
    time; the same for the same seed, as long as the engine prints the same."""

    def __init__(self, seed: int, options: SimOptions, end_every: int, requests: int) -> None:
        self.random = Random(seed)
        self.options = options
        self.model = HashModel(end_every)
        self.left = requests
        self.histories: list[list[int]] = [[]]

    def idle(self) -> bytes | None:
        if not self.left:
            return None
        self.left -= 1
        return self.line()

    def after(self, lines: list[str]) -> list[bytes]:
        verbs = [line.split(" ")[0] for line in lines]
        if not verbs or not (verbs[-1] in ("PP", "T") or "BT" in verbs):
            return []
        slot = self.random.randrange(-1, self.options.batch_slots + 1)
        kind = self.random.random()
        if kind < 0.03:
            return [b"STOP\n"]
        if kind < 0.06:
            return [b"BSTOP %d\n" % slot]
        if kind < 0.12:
            return [b"BYIELD %d\r\n" % slot]
        if kind < 0.2 and self.left:
            self.left -= 1
            return [self.line()]
        return []

    def line(self) -> bytes:
        kind = self.random.random()
        if kind < 0.04:
            return self.random.choice(
                (
                    *(b"\n", b"VRAM 5\n", b"SAVE x\n", b"BYIELD 0\n", b"BSTOP 1\n", b"RELEASE\n"),
                    *(b"GEN\n", b"GEN 5\n", b"GEN 5 1,,2\n", b"GEN 0 1,2\n", b"gen 4 1\n"),
                    *(b"BGEN 1 0 1\n", b"GEN 5 1,248320\n", b"GENI 5 1\n", b"GEN 395 1,2\n"),
                    *(b"BGEN 77 4 1\n", b"BGEN x 4 1\n"),
                )
            )
        prompt = self.prompt()
        max_new = self.random.choice((1, 2, 3, 8, 20))
        verb = self.random.choices(("GEN", "BGEN", "GENI", "BGENI"), (5, 8, 1, 1))[0]
        fields = [verb, str(max_new)]
        if verb[0] == "B":
            fields.insert(1, str(self.random.randrange(max(1, self.options.batch_slots))))
        fields += [f"park={self.random.randrange(-1, 7)}"] * (self.random.random() < 0.7)
        fields += ["cvec=0"] * (self.random.random() < 0.1)
        fields += ["ckpt=0"] * (self.random.random() < 0.1)
        fields += ["temperature=0.5", "slot=3"] * (self.random.random() < 0.2)
        fields += ["/tmp/picture"] * (verb[-1] == "I")
        fields.append(",".join(map(str, prompt)))
        return " ".join(fields).encode() + b"\n"

    def prompt(self) -> list[int]:
        known = self.random.choice(self.histories)
        kind = self.random.random()
        if kind < 0.1:
            prompt = [self.random.randrange(5)]
        elif kind < 0.5 and known:
            # The next turn: what the engine generated, the turn's header, something new.
            reply = self.model.reply(np.array(known, dtype=np.int32), self.random.choice((1, 3, 8)))
            prompt = [*known, *reply, TURN_TOKEN, *self.new()]
        elif kind < 0.7 and known:
            prompt = [*known[: self.random.randrange(len(known))], *self.new()]
        elif kind < 0.8 and known:
            prompt = known
        else:
            prompt = [*self.new(), TURN_TOKEN, *self.new()]
        if len(prompt) > 300:
            prompt = self.new()
        self.histories = [*self.histories[-5:], prompt]
        return prompt

    def new(self) -> list[int]:
        return [self.random.randrange(3, 9) for _ in range(self.random.choice((1, 4, 15, 40)))]


def check_holdings(engine: SimEngine) -> None:
    holdings = engine.holds()
    for held in (holdings.main, *holdings.slots):
        assert all(0 < length <= len(held.tokens) for length in held.checkpoints)
        assert not (held.valid and held.images and held.state == "idle")


@pytest.mark.parametrize("end_every", [0, 6])
@pytest.mark.parametrize("level", LEVELS)
def test_same_lines_and_ledger_as_the_reference_engine(level: str, end_every: int) -> None:
    options = LEVELS[level]
    for seed in range(5):
        clients = [Client(seed, options, end_every, requests=40) for _ in range(2)]
        expected, expected_rows = run_reference(options, end_every, clients[0])
        lines, rows = run_simulated(options, end_every, clients[1], check_holdings)
        assert list(map(comparable, lines)) == list(map(comparable, expected)), seed
        assert list(map(comparable_row, rows)) == list(map(comparable_row, expected_rows)), seed
