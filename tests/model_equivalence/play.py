"""What may happen between a behaving client, the pipes and the engine, one act at a time.

Lives here: every act as a method with plain arguments, so that Hypothesis and a seeded random
driver play the same. Must not live here: which act comes next, and the checks (`bench`, `client`).
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from slotd.core.state import Activity
from slotd.sim.options import TURN_TOKEN, Faults
from tests.model_equivalence.bench import Bench
from tests.model_equivalence.client import Client, Use
from tests.model_equivalence.engines import (
    ALL_SETTINGS,
    LEVELS,
    NO_TIME,
    OWN_PARKS,
    decider,
)
from tests.model_equivalence.prompts import CHANGES, changed, some

SIZES = ((1 << 20,), (1 << 20,), (64, 5), (3,), (17, 1, 400))
FAULTS = (
    Faults(),
    Faults(),
    Faults(parks=frozenset((1, 3, 4))),
    Faults(admissions=frozenset((2, 3, 6))),
    Faults(decodes=frozenset((1, 3, 4)), decode_windows=1),
    Faults(
        parks=frozenset((2,)),
        admissions=frozenset((1, 4)),
        decodes=frozenset((2, 5)),
        decode_windows=2,
    ),
)
DRAFTING: tuple[tuple[int, tuple[int, ...]], ...] = ((0, ()), (0, ()), (3, (2, 0, 3)), (1, (1,)))

PIPES = ("to_sidecar", "to_engine", "from_engine", "to_client")
ASIDES = (
    b"VRAM 100\n",
    b"VRAM\n",
    b"RELEASE\n",
    b"REFILL\n",
    b"SAVE /tmp/a\n",
    b"RESTORE /tmp/a\n",
    b"RESTORE /tmp/b\n",
    b"\n",
    b"FUTURE 1 2,3\r\n",
    b"gen 5 1,2\n",
    b"\xff\xfe what\n",
    b"GENG1 0\n",
)
ANSWERS = (b"ERR", b"VRAM", b"RELEASED", b"REFILLED", b"SAVED", b"RESTORED", b"SERR")
LAST = ("nothing", "request", "stop", "frame", "word")
REFUSALS = ("vocabulary", "context", "max_new", "ids", "slot", "word", "file")
BODIES = (b"root ::= x", b"BGEN 0 5 1,2\nSTOP\nQUIT\n", b"\n\n", b"\xff")


@frozen
class Manner:
    """How a request is asked beside its prompt."""

    max_new: int = 5
    keys: tuple[bytes, ...] = ()
    file: bytes | None = None
    end: bytes = b"\n"


MANNERS = (
    Manner(),
    Manner(25),
    Manner(1),
    Manner(2, (b"temperature=0.5", b"top_p=1")),
    Manner(9),
    Manner(60, end=b"\r\n"),
    Manner(5, (b"cvec=0",)),
    Manner(5, (b"ckpt=0",)),
    Manner(9, (), b"/tmp/picture"),
    Manner(5, (b"temperature=0.5", b"park=0", b"cvec=1")),
    Manner(25, (b"park=1", b"slot=1", b"top_p=1")),
    Manner(2, (b"slot=0", b"park=2")),
    Manner(9, (b"cvec=0", b"park=3", b"ckpt=1")),
)


@frozen
class Setting:
    """The engine, the sidecar and the chunks that a play begins with."""

    level: str
    settings: str
    arbitrary: int | None = None
    """Seed of an arbitrary decider; None: the policy's."""
    end_every: int = 0
    drafting: int = 0
    faults: int = 0
    spread: int = 1
    """1 to 3: how much the engine says beyond what it must, and which exchanges it carries out."""
    sizes: int = 0


class Play:
    """One client, one sidecar, one engine; every act may come at any time it is allowed."""

    def __init__(self, setting: Setting) -> None:
        """Begin when the client has read READY."""
        offered, accepted = DRAFTING[setting.drafting]
        faults, spread = FAULTS[setting.faults], setting.spread
        options = evolve(
            LEVELS[setting.level],
            drafts_offered=offered,
            drafts_accepted=accepted,
            faults=faults,
            info_lines=spread,
            done_fields="7 8" * (spread > 1),
            batch_done_fields="3 4" * (spread > 2),
            checks_separator=" " if spread > 1 else ",",
            frames=True,
            elastic=spread > 1,
            session_files=spread > 2,
        )
        if setting.settings in OWN_PARKS:
            # What such a park brings along is worked out from the engine's own distance.
            options = evolve(options, checkpoint_every=16_384)
        if setting.arbitrary is not None:
            options = evolve(options, timing=NO_TIME)
        self.bench = Bench(
            options, setting.end_every, ALL_SETTINGS[setting.settings], decider(setting.arbitrary)
        )
        self.setting = setting
        self.client = self._next_client()
        self.bench.in_chunks(SIZES[setting.sizes])
        self.bench.run()
        assert self.client.ready

    def _next_client(self) -> Client:
        slots = self.bench.options.batch_slots
        client = Client(slots, self.setting.end_every, self.bench.write)
        client.fails_in_slots = FAULTS[self.setting.faults] != Faults()
        self.bench.client_line = client.take
        return client

    # -- what is allowed -------------------------------------------------------------------------

    @property
    def may_ask(self) -> bool:
        return len(self.client.waiting) < 3

    @property
    def may_give_way(self) -> bool:
        reading = self.client.reading
        return (
            reading is not None
            and reading.yields_to is None
            and len(reading.prompt) > 0
            and (reading.slot is not None or bool(self.client.free()))
        )

    @property
    def kept(self) -> list[int]:
        """The client's slots that keep a read that gave way."""
        return [slot for slot, use in enumerate(self.client.uses) if use is Use.KEPT]

    # -- what the client does --------------------------------------------------------------------

    def _sent(self, steps: int | None) -> None:
        """Let what was written arrive and the engine do some steps; None: it waits in the pipe."""
        if steps is not None:
            self.bench.to_sidecar()
            self.bench.to_engine()
            self.bench.run(steps)

    def _slot(self, which: int | None) -> int | None:
        free = self.client.free()
        return None if which is None or not free else free[which % len(free)]

    def _prompt(self, history: int, change: int, salt: int) -> list[int]:
        histories = self.client.histories
        return changed(histories[-1 - history % len(histories)], CHANGES[change], salt)

    def ask(
        self,
        which: int | None,
        history: int,
        change: int,
        salt: int,
        manner: int,
        steps: int | None,
    ) -> None:
        """Ask solo (`which` is None) or in a free slot."""
        asked, prompt = MANNERS[manner], self._prompt(history, change, salt)
        slot = self._slot(which)
        self.client.ask(prompt, asked.max_new, slot, asked.keys, asked.file, end=asked.end)
        self._sent(steps)

    def ask_something_new(
        self, which: int | None, number: int, reply: int, steps: int | None
    ) -> None:
        """Begin a conversation of that number: no other one's begin is like it."""
        prompt = [TURN_TOKEN, 1000 + number, *some(number, 30), TURN_TOKEN, 7]
        self.client.ask(prompt, reply, self._slot(which))
        self._sent(steps)

    def leave_something_to_park(self, number: int, reply: int) -> None:
        """Let all come to its end, then a new conversation's first turn, alone."""
        self.bench.run()
        self.ask_something_new(None, number, reply, 0)
        self.bench.run()

    def ask_again(self, which: int, steps: int | None) -> None:
        """Go on with a read that gave way."""
        self.client.ask_again(self.kept[which % len(self.kept)])
        self._sent(steps)

    def forget(self, which: int) -> None:
        """Cancel a request whose read gave way."""
        self.client.forget(self.kept[which % len(self.kept)])

    def ask_what_is_refused(self, kind: str, which: int | None, manner: int) -> None:
        slot, keys = self._slot(which), MANNERS[manner].keys
        slots, context = len(self.client.uses), self.bench.options.context
        match kind:
            case "vocabulary":
                self.client.ask([1, 248_320], 3, slot, keys, refused=True)
            case "context":
                self.client.ask([5], context - 8, slot, keys, refused=True)
            case "max_new":
                self.client.ask([5], 0, slot, keys, refused=True)
            case "ids":
                self.client.ask([], 5, slot, keys, refused=True)
            case "slot":
                self.client.refused_line(b"BGEN %d 5 1,2,3\n" % (-1 if slot else slots))
            case "word":
                self.client.refused_line(b"BGEN x 5 1,2,3\n")
            case _:
                self.client.refused_line(b"GENI 5 1,2,3\n")
        self._sent(0)

    def ask_aside(self, line: bytes, steps: int | None) -> None:
        """Send an exchange, or a line nobody knows."""
        self.client.question(line, *ANSWERS)
        self._sent(steps)

    def send_a_grammar(self, body: bytes, change: int | None, steps: int | None) -> None:
        """Send a frame and what follows it: a check of it, or a request."""
        self.bench.write(b"GENG2 %d 0 1\n%b\n" % (len(body), body))
        if change is None:
            self.client.question(b"CHECKG\n", b"CHECKG")
        else:
            self.client.ask(self._prompt(0, change, 0), 3, None)
        self._sent(steps)

    def stop(self, steps: int | None) -> None:
        self.client.stop()
        self._sent(steps)

    def stop_slot(self, which: int, steps: int | None) -> None:
        if self.client.uses:
            self.client.stop_slot(which % len(self.client.uses))
            self._sent(steps)

    def give_way(self, which: int, steps: int | None) -> None:
        """Ask the read that is going on to give way: into its slot, or a free one."""
        reading = self.client.reading
        assert reading is not None
        slot = self._slot(which) if reading.slot is None else reading.slot
        assert slot is not None
        self.client.give_way(slot)
        self._sent(steps)

    # -- what the others do ----------------------------------------------------------------------

    def engine_is_ahead(self, steps: int) -> None:
        """Let the engine work on what it has; nobody reads it yet."""
        while steps and self.bench.engine_works():
            steps -= 1

    def bytes_arrive(self, pipe: str, most: int) -> None:
        match pipe:
            case "to_sidecar":
                self.bench.to_sidecar(most)
            case "to_engine":
                self.bench.to_engine(most)
            case "from_engine":
                self.bench.from_engine(most)
            case _:
                self.bench.to_client(most)

    def something_else(self, seconds: float, sizes: Sequence[int] | None, to: str | None) -> None:
        """Let time pass; other chunks, other settings; someone looks."""
        self.bench.now += seconds
        if sizes is not None:
            self.bench.in_chunks(sizes)
        alike = (to in OWN_PARKS) == (self.bench.own is not None)
        if to is not None and alike and not self.bench.wire.off:
            self.bench.use(ALL_SETTINGS[to])
        self.bench.look()

    def client_leaves(self, most: int) -> None:
        """Let the client go after so many bytes more; another one has the engine from then on."""
        histories = self.client.histories
        self.bench.client_leaves(most)
        self.client = self._next_client()
        self.client.histories = histories

    def end(self) -> None:
        """Let everything arrive and end: nothing is left waiting, at the client or anywhere."""
        self.bench.run()
        assert not self.client.waiting
        assert not {Use.READING, Use.DECODING, Use.RESERVED} & set(self.client.uses)
        assert len(self.bench.sidecar.model.flight) == 0
        self._check_kept()

    def _check_kept(self) -> None:
        """Compare which slots the model keeps for a read that gave way with what the client keeps.

        The client tells nobody that it has cancelled one: its number turns up again some time.
        """
        model, holdings = self.bench.sidecar.model, self.bench.held()
        for slot, held in zip(model.slots, holdings.slots, strict=True):
            number = model.numbering.client_slot(slot.number)
            kept = self.client.inside[number]
            if slot.activity is Activity.YIELDED:
                assert kept is not None or number in self.client.abandoned
            elif not self.bench.options.pad_rows:
                # (With them the part may be lost, its slot taken, another part under its number.)
                assert kept is None or held.state != "yielded"

    def hang_up(self, last: str) -> None:
        """Close the client's pipe behind an unfinished last line; the engine ends its work."""
        match last:
            case "request":
                slot = self._slot(1)
                self.client.ask(self._prompt(0, 1, 0), 5, slot, (b"seed=2",), end=b"")
            case "stop" if self.client.uses:
                self.client.stop_slot(1, end=b"")
            case "frame":
                self.client.question(b"GENG1 30\nBGEN 0 5 1,2\nBSTOP 0", b"ERR")
            case "word":
                free = self.client.free()
                self.client.refused_line(b"BGEN %d" % (free[0] if free else 99))
        self.bench.end_of_client()
        self.bench.run()
        assert self.bench.engine.ended
        assert not self.client.waiting
        assert not {Use.READING, Use.DECODING} & set(self.client.uses)
        self.bench.end_of_engine()
