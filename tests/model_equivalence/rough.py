"""A client that does not behave: it uses busy slots, piles requests up and writes what it likes.

Lives here: its lines, and what still holds for it: every request's tokens are its own and come
under its own number, and the model claims nothing the engine does not hold. Must not live here: the
client that behaves (`client`).
"""

from collections.abc import Callable

import numpy as np
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from slotd.sim.token_model import HashModel
from tests.model_equivalence.bench import Bench
from tests.model_equivalence.client import Asked, Client, Question, Use
from tests.model_equivalence.engines import LEVELS, SETTINGS, decider
from tests.model_equivalence.play import (
    ANSWERS,
    ASIDES,
    BODIES,
    DRAFTING,
    FAULTS,
    MANNERS,
    PIPES,
    SIZES,
    Setting,
)
from tests.model_equivalence.prompts import CHANGES, changed

UNANSWERED = (
    b"BSTOP\n",
    b"BSTOP x\n",
    b"BYIELD 99 1\n",
    b"BYIELD\n",
    b"BSTOP 1 2 3\r\n",
    b"STOP\n",
)
SPACED = (b"BGEN  %d\t3   seed=1  5,6,7 \n", b"BGEN %d 3 =x a=b=c 5,6,7 more\n", b"BGEN %d 3 \n")


class RoughClient(Client):
    """Takes what comes for what it asked, in order; only other requests' tokens are wrong."""

    muddled = False
    """It used a busy slot's number again: which number its requests come under is then open."""

    def names(self, number: int | None) -> None:
        """Take note that a line names a slot number."""
        if number is None or not 0 <= number < len(self.uses):
            return
        waits = any(isinstance(asked, Asked) and asked.slot == number for asked in self.waiting)
        self.muddled = self.muddled or waits or self.uses[number] is Use.DECODING

    def ask_anything(self, line: bytes, prompt: list[int], max_new: int, slot: int | None) -> None:
        reply = HashModel(self.end_every).reply(np.array(prompt, dtype=np.int32), max_new)
        asked = Asked(line, tuple(prompt), max_new, slot, False, reply, stopped=True)
        self.names(slot)
        self.waiting.append(asked)
        self._write(line)

    def take(self, line: bytes) -> None:
        verb, *fields = line.split()
        match verb:
            case b"YIELDED":
                self._head().yielded = True
            case b"BADM":
                head, slot = self._head(), int(fields[0])
                assert head.slot == slot or self.muddled
                self.waiting.popleft()
                self.histories.append((*head.prompt, *head.tokens))
                if fields[1] == b"1":
                    self.uses[slot], self.inside[slot] = Use.DECODING, head
            case b"ERR":
                self.waiting.popleft()
            case _:
                super().take(line)
        if not self.waiting and Use.DECODING not in self.uses:
            self.muddled = False


class RoughPlay:
    """A client that does not behave, a sidecar and an engine; what was sent is read at once."""

    def __init__(self, setting: Setting, greeted: bool) -> None:
        offered, accepted = DRAFTING[setting.drafting]
        options = evolve(
            LEVELS[setting.level],
            drafts_offered=offered,
            drafts_accepted=accepted,
            faults=FAULTS[setting.faults],
            frames=True,
            elastic=setting.spread > 1,
            session_files=setting.spread > 2,
        )
        self.bench = Bench(
            options,
            setting.end_every,
            SETTINGS[setting.settings],
            decider(setting.arbitrary),
            strict=False,
        )
        self.client = RoughClient(options.batch_slots, setting.end_every, self.bench.write)
        self.client.fails_in_slots = True
        self.bench.client_line = self.client.take
        self.bench.in_chunks(SIZES[setting.sizes])
        if greeted:
            self.bench.run()

    def ask(
        self, number: int | None, history: int, change: int, manner: int, times: int, steps: int
    ) -> None:
        """Ask the same any number of times, in any slot number there is or is not."""
        asked = MANNERS[manner]
        histories = self.client.histories
        prompt = changed(histories[-1 - history % len(histories)], CHANGES[change], number or 0)
        verb = (b"GEN" if number is None else b"BGEN") + (b"" if asked.file is None else b"I")
        fields = [verb, *([] if number is None else [b"%d" % number]), b"%d" % asked.max_new]
        fields += [*asked.keys, *([] if asked.file is None else [asked.file])]
        line = b" ".join([*fields, ",".join(map(str, prompt)).encode()]) + asked.end
        for _ in range(times):
            self.client.ask_anything(line, prompt, asked.max_new, number)
        self._sent(steps)

    def ask_oddly(self, shape: int, number: int, steps: int) -> None:
        """Ask with odd spacing, odd keys, or so that nobody understands it."""
        line = SPACED[shape] % number
        self.client.ask_anything(line, [5, 6, 7], 3, number)
        self._sent(steps)

    def write(self, line: bytes, steps: int) -> None:
        """Write a line that is not answered, an exchange, a line nobody knows, or a frame."""
        if line in ASIDES:
            self.client.waiting.append(Question(ANSWERS))
            self.bench.write(line)
        elif line in BODIES:
            self.bench.write(b"GENG1 %d\n%b\n" % (len(line), line))
        else:
            self.bench.write(line)
        self._sent(steps)

    def write_about_a_slot(self, verb: bytes, number: int, steps: int) -> None:
        """Stop a slot's request, or ask the read that is going on to give way into any slot."""
        if verb == b"BYIELD":
            self.client.names(number)
        self.bench.write(b"%b %d\n" % (verb, number))
        self._sent(steps)

    def arrive(self, pipe: str, most: int, ahead: int) -> None:
        while ahead and self.bench.engine_works():
            ahead -= 1
        moves: dict[str, Callable[[int], None]] = {
            "to_sidecar": self.bench.to_sidecar,
            "to_engine": self.bench.to_engine,
            "from_engine": self.bench.from_engine,
            "to_client": self.bench.to_client,
        }
        moves[pipe](most)

    def _sent(self, steps: int) -> None:
        if steps >= 0:
            self.bench.run(steps)

    def end(self) -> None:
        self.bench.end_of_client()
        self.bench.run()
        assert self.bench.engine.ended
        assert not self.client.waiting


STEPS = st.sampled_from([0, 1, 2, 5, 30, -1])


class RoughMachine(RuleBasedStateMachine):
    """The client that does not behave, as Hypothesis plays it."""

    play: RoughPlay

    @initialize(
        setting=st.builds(
            Setting,
            level=st.sampled_from(list(LEVELS)),
            settings=st.sampled_from(list(SETTINGS)),
            arbitrary=st.sampled_from([None, None, 1, 2]),
            end_every=st.sampled_from([0, 4, 9]),
            drafting=st.integers(0, len(DRAFTING) - 1),
            faults=st.integers(0, len(FAULTS) - 1),
            spread=st.integers(1, 3),
            sizes=st.integers(0, len(SIZES) - 1),
        ),
        greeted=st.sampled_from([True, True, False]),
    )
    def begin(self, setting: Setting, greeted: bool) -> None:
        self.play = RoughPlay(setting, greeted)

    @rule(
        number=st.one_of(st.none(), st.integers(-1, 6)),
        history=st.integers(0, 3),
        change=st.integers(0, len(CHANGES) - 1),
        manner=st.integers(0, len(MANNERS) - 1),
        times=st.sampled_from([1, 1, 1, 2, 70]),
        steps=STEPS,
    )
    def ask(
        self, number: int | None, history: int, change: int, manner: int, times: int, steps: int
    ) -> None:
        self.play.ask(number, history, change, manner, times, steps)

    @rule(shape=st.integers(0, len(SPACED) - 1), number=st.integers(-1, 6), steps=STEPS)
    def ask_oddly(self, shape: int, number: int, steps: int) -> None:
        self.play.ask_oddly(shape, number, steps)

    @rule(line=st.sampled_from([*UNANSWERED, *ASIDES, *BODIES]), steps=STEPS)
    def write(self, line: bytes, steps: int) -> None:
        self.play.write(line, steps)

    @rule(verb=st.sampled_from([b"BSTOP", b"BYIELD"]), number=st.integers(-1, 6), steps=STEPS)
    def write_about_a_slot(self, verb: bytes, number: int, steps: int) -> None:
        self.play.write_about_a_slot(verb, number, steps)

    @rule(steps=st.sampled_from([1, 2, 3, 5, 10, 30]))
    def everything_arrives(self, steps: int) -> None:
        self.play.bench.run(steps)

    @rule(
        pipe=st.sampled_from(PIPES),
        most=st.sampled_from([1 << 30, 1, 4, 20, 100]),
        ahead=st.sampled_from([0, 1, 3, 10]),
    )
    def some_bytes_arrive(self, pipe: str, most: int, ahead: int) -> None:
        self.play.arrive(pipe, most, ahead)

    def teardown(self) -> None:
        if hasattr(self, "play"):
            self.play.end()
