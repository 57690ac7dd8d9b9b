"""The state model: everything slotd believes about the engine.

Here: the whole state in one place, and what every transition may need of it. Not here: the
transitions (`client_lines`, `engine_lines` and what it joins), what is expected of the engine
(`belief`), decisions (`placing`).
"""

from collections.abc import Sequence

from attrs import evolve

from slotd.core.capabilities import Capabilities
from slotd.core.events import Event, Level
from slotd.core.flight import Flight, Request
from slotd.core.numbering import Numbering
from slotd.core.prompt_rate import PromptRate
from slotd.core.recall import Recall
from slotd.core.state import Activity, Main, Slot
from slotd.core.windows import PadRows
from slotd.policy.json_fields import JsonValue


class Model:
    """What the engine is, what its states hold, and what is on its way to it."""

    def __init__(self, recall: Recall | None = None, turn_token: int | None = None) -> None:
        """Begin with an engine that has said nothing yet; `recall` recognises conversations.

        `turn_token` is what a turn begins with as long as the engine does not say.
        """
        self._turn_token = turn_token
        self.recall = recall
        """What was seen of conversations; None: no stories are told."""
        self.requests = 0
        """Requests seen so far: the number of the last one."""
        self.events: list[Event] = []
        """What there is to tell since the list was last taken."""
        self.restart()

    def restart(self) -> None:
        """Believe nothing any more: the engine has ended, another one may begin."""
        self.capabilities = Capabilities(turn_token=self._turn_token)
        self.numbering = Numbering(0)
        self.slots: list[Slot] = []
        self.main = Main()
        self.flight = Flight()
        self.rate = PromptRate()
        self.pad_rows: PadRows | None = None
        self.failed_parks = 0
        """Parks by requests of slotd's own that failed, in a row."""

    def assume_turn_token(self, turn_token: int | None) -> None:
        """Take another token for what a turn begins with, unless the engine has said which."""
        if self.capabilities.turn_token == self._turn_token:
            self.capabilities = evolve(self.capabilities, turn_token=turn_token)
        self._turn_token = turn_token

    def describe(self, capabilities: Capabilities) -> None:
        """Take in what the engine is; another number of slots makes all of them new ones."""
        self.capabilities = capabilities
        if len(self.slots) != capabilities.batch_slots:
            self.slots = [Slot(number) for number in range(capabilities.batch_slots)]
            self.numbering = Numbering(capabilities.batch_slots)
            for request in self.flight.requests():
                # Sent before the engine said that it has slots.
                slot = self.slot(request.slot)
                if slot is not None and slot.activity is Activity.IDLE:
                    slot.activity, slot.owner = Activity.READING, request
        size = capabilities.shape(park=False).group_size
        self.pad_rows = PadRows(self.slots, size) if capabilities.pads_rows else None

    def next_request(self) -> int:
        """Count one more request; return its number."""
        self.requests += 1
        return self.requests

    def slot(self, number: int | None) -> Slot | None:
        """Return an engine slot; None when there is none of that number."""
        if number is None or not 0 <= number < len(self.slots):
            return None
        return self.slots[number]

    def release(self, request: Request) -> None:
        """Let go of every slot a request that ended still reads into, reserves or claims."""
        for slot in self.slots:
            slot.release(request)
            self.take_next(slot)

    def take_next(self, slot: Slot) -> None:
        """Give an idle slot to the next request that was sent to it while it was busy, if any."""
        if slot.activity is not Activity.IDLE:
            return
        for request in self.flight.requests():
            if request.slot == slot.number:
                slot.activity, slot.owner, slot.checkpoints = Activity.READING, request, ()
                return

    def release_untracked(self) -> None:
        """Let go of the slots that untracked requests read into, once a tracked one has begun.

        All of the untracked ones have ended by then, unless some were sent after it.
        """
        if self.flight.untracked:
            return
        for slot in self.slots:
            if slot.activity is Activity.READING and slot.owner is None:
                slot.activity = Activity.IDLE
                slot.forget()

    def tell(self, name: str, level: Level, **fields: JsonValue) -> None:
        """Add an event."""
        self.events.append(Event(name, level, fields))

    def drift(
        self,
        request: int | None,
        fact: str,
        expected: JsonValue,
        said: JsonValue,
        slots: Sequence[int] = (),
        main: bool = False,
    ) -> None:
        """Tell that the engine contradicted what was believed.

        Args:
            request: the request it happened in, when one is known.
            fact: which belief: resume, cache_source, reused, prompt, generated, parked, checks,
                admitted, slot_done or batch_token.
            expected: what was believed, mostly in tokens.
            said: what the engine said.
            slots: the engine slots whose state was corrected.
            main: whether the main session's was.
        """
        corrected: list[JsonValue] = [*slots]
        self.tell(
            "drift",
            "warning",
            request=request,
            fact=fact,
            expected=expected,
            said=said,
            slots=corrected,
            main=main,
        )
