"""A client that behaves as ENGINE.md says, and knows what it must get.

Lives here: its requests, its own slot numbers, its conversations, and the check of every line it
reads. Must not live here: anything of the engine's numbers or caches.
"""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from attrs import Factory, define, frozen

from slotd.sim.options import END_TOKEN
from slotd.sim.token_model import HashModel
from tests.model_equivalence.wire import fields_of

Line = Sequence[bytes]


class Use(Enum):
    """What the client thinks one of its slot numbers is for."""

    FREE = "free"
    READING = "reading"
    DECODING = "decoding"
    RESERVED = "reserved"
    """A solo read was asked to give way into it."""
    KEPT = "kept"
    """A read gave way into it, and may be sent again."""


@define(eq=False)
class Asked:
    """One request, and what came of it."""

    line: bytes
    prompt: tuple[int, ...]
    max_new: int
    slot: int | None
    refused: bool
    """The engine must refuse it."""
    expected: list[int]
    tokens: list[int] = Factory(list)
    stopped: bool = False
    """Something was sent that may end it early."""
    yields_to: int | None = None
    yielded: bool = False
    finish: str | None = None
    """From `DONE`; the admission's `BADM` is still to come."""

    @property
    def expects_more(self) -> bool:
        """An admission that has its first token should go on."""
        return self.finish == "length" and self.max_new > 1

    def got(self, token: int) -> None:
        assert self.tokens == self.expected[: len(self.tokens)]
        self.tokens.append(token)
        assert self.tokens == self.expected[: len(self.tokens)], (self.tokens, self.expected)

    def check_end(self, finish: str, limit: int) -> None:
        match finish:
            case "stop":
                assert self.tokens[-1:] == [END_TOKEN]
            case "length":
                assert len(self.tokens) == limit
            case "cancel":
                assert self.stopped
            case _:
                raise AssertionError(finish)


@frozen
class Question:
    """A line that is answered by one line of these verbs."""

    answers: tuple[bytes, ...]


class Client:
    """One serve process, with its own slot table."""

    def __init__(self, slots: int, end_every: int, write: Callable[[bytes], None]) -> None:
        self.uses = [Use.FREE] * slots
        self.inside: list[Asked | None] = [None] * slots
        """By slot: the request in it, or kept in it."""
        self.waiting: deque[Asked | Question] = deque()
        """What is to be answered on the control lines, in order."""
        self.abandoned: set[int] = set()
        """Slots whose kept read was cancelled: nobody was told, and the number is free."""
        self.histories: list[tuple[int, ...]] = [(5,)]
        self.ready = False
        self.end_every = end_every
        self.fails_in_slots = False
        """The engine fails some requests in their slots, and some admissions."""
        self._model = HashModel(end_every)
        self._write = write

    # -- writing ---------------------------------------------------------------------------------

    @property
    def reading(self) -> Asked | None:
        """The only request on the control lines, if it is the only thing on them."""
        if len(self.waiting) == 1 and isinstance(self.waiting[0], Asked):
            return self.waiting[0]
        return None

    def free(self) -> list[int]:
        return [slot for slot, use in enumerate(self.uses) if use is Use.FREE]

    def ask(
        self,
        prompt: Sequence[int],
        max_new: int,
        slot: int | None,
        keys: Sequence[bytes] = (),
        file: bytes | None = None,
        refused: bool = False,
        end: bytes = b"\n",
    ) -> None:
        """Send a request, into a slot that is not busy; `end` ends its line."""
        verb = (b"GEN" if slot is None else b"BGEN") + (b"" if file is None else b"I")
        fields = [verb, *([] if slot is None else [b"%d" % slot]), b"%d" % max_new, *keys]
        fields += [] if file is None else [file]
        fields.append(",".join(map(str, prompt)).encode())
        reply: list[int] = []
        if prompt and not refused:
            reply = self._model.reply(np.array(prompt, dtype=np.int32), max_new)
        self._ask(Asked(b" ".join(fields) + end, tuple(prompt), max_new, slot, refused, reply))

    def _ask(self, asked: Asked) -> None:
        if asked.slot is not None:
            assert self.uses[asked.slot] in (Use.FREE, Use.KEPT)
            self.uses[asked.slot], self.inside[asked.slot] = Use.READING, asked
            self.abandoned.discard(asked.slot)
        self.waiting.append(asked)
        self._write(asked.line)

    def ask_again(self, slot: int) -> None:
        """Send the request whose read gave way once more, into the slot that keeps its part."""
        kept = self.inside[slot]
        assert kept is not None
        self.ask(kept.prompt, kept.max_new, slot, [b"seed=1"])

    def forget(self, slot: int) -> None:
        """Cancel the request whose read gave way: nothing is sent, the number is free again."""
        assert self.uses[slot] is Use.KEPT
        self.uses[slot], self.inside[slot] = Use.FREE, None
        self.abandoned.add(slot)

    def question(self, line: bytes, *answers: bytes) -> None:
        self.waiting.append(Question(answers))
        self._write(line)

    def refused_line(self, line: bytes) -> None:
        """Send a request that is none, or none for this engine."""
        self.waiting.append(Asked(line, (), 0, None, True, []))
        self._write(line)

    def stop(self) -> None:
        for asked in self.waiting:
            if isinstance(asked, Asked):
                asked.stopped = True
        self._write(b"STOP\n")

    def stop_slot(self, slot: int, end: bytes = b"\n") -> None:
        asked = self.inside[slot]
        if asked is not None:
            asked.stopped = True
        self._write(b"BSTOP %d" % slot + end)

    def give_way(self, slot: int) -> None:
        """Ask the read that is going on to give way into its own slot, or into a free one."""
        asked = self.reading
        assert asked is not None
        asked.stopped, asked.yields_to = True, slot
        if asked.slot is None:
            assert self.uses[slot] is Use.FREE
            self.uses[slot] = Use.RESERVED
            self.abandoned.discard(slot)
        self._write(b"BYIELD %d\n" % slot)

    # -- reading ---------------------------------------------------------------------------------

    def take(self, line: bytes) -> None:
        """Read a line; raise AssertionError for one that must not come."""
        verb, *fields = fields_of(line)
        match verb:
            case b"INFO" | b"RESUME" | b"PP" | b"CACHE_SOURCE" | b"PARKED" | b"BCHECKS":
                pass
            case b"READY":
                self.ready = True
            case b"T":
                self._head().got(int(fields[0]))
            case b"BT":
                asked = self._inside(int(fields[0]), Use.DECODING)
                asked.got(int(fields[1]))
            case b"YIELDED":
                head = self._head()
                assert head.yields_to == int(fields[0])
                head.yielded = True
            case b"DONE":
                self._done(fields)
            case b"BADM":
                self._admitted(int(fields[0]), fields[1] == b"1")
            case b"BDONE":
                self._slot_done(fields)
            case b"ERR":
                self._refused()
            case _:
                head_question = self.waiting.popleft()
                assert isinstance(head_question, Question)
                assert verb in head_question.answers

    def _head(self) -> Asked:
        head = self.waiting[0]
        assert isinstance(head, Asked)
        assert not head.refused
        return head

    def _inside(self, slot: int, use: Use) -> Asked:
        asked = self.inside[slot]
        assert self.uses[slot] is use
        assert asked is not None
        return asked

    def _done(self, fields: Line) -> None:
        head = self._head()
        generated, prompt, finish = int(fields[0]), int(fields[1]), fields[4].decode()
        assert (generated, prompt) == (len(head.tokens), len(head.prompt))
        head.check_end(finish, head.max_new if head.slot is None else 1)
        head.finish = finish
        assert not head.yielded or finish == "cancel"
        if head.slot is None:
            self.waiting.popleft()
            self._ended(head)

    def _admitted(self, slot: int, goes_on: bool) -> None:
        head = self._head()
        assert head.finish is not None
        assert head.slot == slot
        assert self._inside(slot, Use.READING) is head
        assert goes_on == head.expects_more or self.fails_in_slots
        self.waiting.popleft()
        if goes_on:
            self.uses[slot] = Use.DECODING
        else:
            self.uses[slot], self.inside[slot] = Use.FREE, None
            self._ended(head)

    def _slot_done(self, fields: Line) -> None:
        slot, generated, finish = int(fields[0]), int(fields[1]), fields[2].decode()
        asked = self._inside(slot, Use.DECODING)
        assert generated == len(asked.tokens)
        if finish == "error":
            assert self.fails_in_slots
        else:
            asked.check_end(finish, asked.max_new)
        self.uses[slot], self.inside[slot] = Use.FREE, None
        self._ended(asked)

    def _ended(self, asked: Asked) -> None:
        self._unreserve(asked)
        self.histories.append((*asked.prompt, *asked.tokens))

    def _unreserve(self, asked: Asked) -> None:
        """Keep a read that gave way; what was reserved for one that did not is free again."""
        if asked.yields_to is not None and (asked.yielded or asked.slot is None):
            self.uses[asked.yields_to] = Use.KEPT if asked.yielded else Use.FREE
            self.inside[asked.yields_to] = asked if asked.yielded else None

    def _refused(self) -> None:
        head = self.waiting.popleft()
        if isinstance(head, Question):
            assert b"ERR" in head.answers
            return
        assert head.refused, head.line
        self._unreserve(head)
        if head.slot is not None:
            self.uses[head.slot], self.inside[head.slot] = Use.FREE, None
