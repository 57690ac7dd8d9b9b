"""What was sent and is not answered yet, in the order the engine answers it.

Here: the queue of requests and other lines the engine works through one after the other, how long
it may get, and which entry an answer belongs to. Not here: what an answer changes.

`STOP`, `BSTOP` and `BYIELD` are never queued: the engine answers none of them. Everything else the
client sends is answered: a request by its lines up to `DONE` or `BADM`, an exchange by its answer,
anything by `ERR`.
"""

from array import array
from collections import deque
from collections.abc import Iterator
from enum import Enum

from attrs import Factory, define, frozen

from protocol import TokenIds
from slotd.policy.story import Story
from slotd.policy.table import RequestVerb

BOUND = 64
"""Entries that are tracked; the serve process has one or two on their way at a time."""


class Phase(Enum):
    """How far the engine is with a request, as far as its lines say."""

    QUEUED = "queued"
    """It has not begun: the main session still holds what it held."""
    READING = "reading"
    DECODING = "decoding"
    """Its first token is out: nothing gives way any more."""
    ADMITTING = "admitting"
    """Its DONE is out, its BADM is not."""


@define(eq=False)
class Request:
    """A `GEN*` or `BGEN*` that was sent and has not ended."""

    number: int
    """Counts every request slotd sees, from 1."""
    verb: RequestVerb
    client_slot: int | None
    slot: int | None
    """The engine slot it is admitted to; None for a solo request."""
    prompt: TokenIds | None
    """None: not known, and neither is what the request leaves behind."""
    max_new: int
    cvec: int
    ckpt: bool
    images: bool
    park: int | None
    """The engine slot its line asks to park in."""
    sent: float
    turn: float
    """When it came to the head of the queue, in seconds."""
    kept_from: float | None = None
    """Of slotd's own request: the last use of the conversation it keeps, in seconds. None: the
    client sent this one."""
    boundary: int | None = None
    """The deepest checkpoint in what it resumed from; 0: there is none, None: not known."""
    story: Story | None = None
    """Its place in its conversation, where stories are told at all."""
    phase: Phase = Phase.QUEUED
    said: int | None = None
    """Tokens the engine said it reuses: `RESUME`, or `CACHE_SOURCE` before it."""
    resumed: bool = False
    """`RESUME` was printed."""
    sourced: bool = False
    """`CACHE_SOURCE` was printed."""
    parked: bool = False
    yielded: bool = False
    generated: "array[int]" = Factory(lambda: array("i"))
    read: int = 0
    """Prompt tokens the state has consumed, from the last `PP`."""
    stops: "array[int]" = Factory(lambda: array("i"))
    """Lengths at which the read stopped, from every `PP`: chunks' ends, and checkpoints."""
    prompt_ms: float = 0.0
    """Time of the read, from `DONE`."""
    total: int = 0
    """Tokens of the prompt, from `DONE`."""
    finish: str = ""

    @property
    def own(self) -> bool:
        """It is slotd's own: the client knows nothing of it."""
        return self.kept_from is not None

    @property
    def batch(self) -> bool:
        """It is an admission to a batch slot."""
        return self.slot is not None

    @property
    def read_over(self) -> bool:
        """Its prompt is read: a `BYIELD` comes too late for it."""
        return self.phase in (Phase.DECODING, Phase.ADMITTING)

    @property
    def on_main(self) -> bool:
        """It uses, or is about to use, the main session."""
        return self.phase is not Phase.ADMITTING


@frozen
class Question:
    """An exchange, or a line slotd does not know."""

    verb: str | None
    """The exchange's verb; None for a line that is none."""
    any_answer: bool
    """Its answer may look like anything, because slotd does not know it."""


Entry = Request | Question


class Beyond(Enum):
    """What is remembered of an entry past the bound: how its end looks."""

    SOLO = "solo"
    ADMISSION = "admission"
    QUESTION = "question"


class Flight:
    """The queue. Of entries past the bound only the kind is kept, until every one has ended."""

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._entries: deque[Entry] = deque()
        self._beyond: deque[Beyond] = deque()

    def __len__(self) -> int:
        """Return the number of tracked entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """Go through the tracked entries, the next one to be answered first."""
        return iter(self._entries)

    @property
    def full(self) -> bool:
        """A request sent now would not be tracked: its lines could not be told from others'."""
        return len(self._entries) >= BOUND or len(self._beyond) > 0

    @property
    def untracked(self) -> int:
        """Requests and other lines that were sent while the queue was full and have not ended."""
        return len(self._beyond)

    @property
    def requesting(self) -> bool:
        """A request is among what has not ended."""
        return bool(self.requests()) or any(kind is not Beyond.QUESTION for kind in self._beyond)

    @property
    def doubtful(self) -> bool:
        """A line is among it that may have no answer, as slotd does not know it."""
        entries = (entry for entry in self._entries if isinstance(entry, Question))
        return Beyond.QUESTION in self._beyond or any(entry.any_answer for entry in entries)

    def forget(self) -> None:
        """Take everything for ended."""
        self._entries.clear()
        self._beyond.clear()

    @property
    def head(self) -> Entry | None:
        """The entry that is answered next."""
        return self._entries[0] if self._entries else None

    def requests(self) -> list[Request]:
        """Return the tracked requests, the first one first."""
        return [entry for entry in self._entries if isinstance(entry, Request)]

    def reading(self) -> Request | None:
        """Return the client's first request whose prompt is not read: the one a `BYIELD` is for."""
        return next((each for each in self.requests() if not each.own and not each.read_over), None)

    def __contains__(self, entry: object) -> bool:
        """Tell whether an entry is still tracked."""
        return any(each is entry for each in self._entries)

    def add(self, entry: Entry) -> bool:
        """Queue an entry; tell whether it is tracked."""
        if self.full:
            self._beyond.append(_kind(entry))
            return False
        self._entries.append(entry)
        return True

    def current(self, now: float) -> Request | None:
        """Return the request a line of the control lines belongs to; None: none that is known.

        Exchanges before it are over, whatever became of their answers.
        """
        while self._entries and not isinstance(self._entries[0], Request):
            self.pop(now)
        head = self.head
        return head if isinstance(head, Request) else None

    def pop(self, now: float) -> Entry | None:
        """Take the head off: it is answered. The one after it has its turn from `now` on."""
        if not self._entries:
            return None
        entry = self._entries.popleft()
        if isinstance(following := self.head, Request):
            following.turn = max(following.sent, now)
        return entry

    def drop(self, entry: Entry) -> None:
        """Take an entry out that never left for the engine, if it is in."""
        self._entries = deque(each for each in self._entries if each is not entry)

    def end_untracked(self, *ends: Beyond) -> None:
        """Take the next untracked entry for ended, if it is one that ends so.

        The tracked ones before it all have; questions before a request are over as well.
        """
        if self._entries:
            return
        while self._beyond and self._beyond[0] not in ends and self._beyond[0] is Beyond.QUESTION:
            self._beyond.popleft()
        if self._beyond and self._beyond[0] in ends:
            self._beyond.popleft()


def _kind(entry: Entry) -> Beyond:
    if isinstance(entry, Question):
        return Beyond.QUESTION
    return Beyond.ADMISSION if entry.batch else Beyond.SOLO
