"""The stage of a scenario: people, a serve process, slotd and a simulated engine in virtual time.

Lives here: people as generators who ask, wait and go on with what they got, and the checks that
every scenario shares: each reply is the right one token for token, nothing slotd believed was
wrong, and the serve process was not surprised. Must not live here: a scenario's conversations and
figures (the tests).
"""

from collections.abc import Generator, Iterable, Sequence

from attrs import define, frozen

from protocol.tokens import TokenIds
from slotd.core.events import Event
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.snapshot import Snapshot
from slotd.policy.settings import PolicySettings
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.requests import LedgerRow
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request, ServeSettings
from slotd.sim.token_model import HashModel
from slotd.sim.world import GoesAway, Plan, RequestRecord, World

SIX_SLOTS = SimOptions()
"""6 slots in 3 groups, active rows, parks, a turn token, the published speeds."""

CHECKPOINTS = SimOptions(slot_checkpoints=2, branch_margin=1024)
"""The same with STRATA_SLOT_CHECKPOINTS=2 STRATA_BRANCH_CHECKPOINT=1024."""

QUIET = ServeSettings(every_token=False)


@frozen(eq=False)
class Ask:
    """A request, `after` seconds after the last thing that happened to its person."""

    prompt: TokenIds
    max_new: int
    after: float = 0.0


@frozen(eq=False)
class Answer:
    """What a request got and what it took. Lengths in tokens, times in seconds."""

    tokens: tuple[int, ...]
    record: RequestRecord

    @property
    def reused(self) -> int:
        """Prompt tokens that were not read."""
        return self.record.reused

    @property
    def read(self) -> int:
        """Prompt tokens that were read, the first time the prompt was."""
        return self.record.prompt - self.record.reused

    @property
    def wait(self) -> float:
        """From the request to its first token."""
        assert self.record.wait is not None
        return self.record.wait


Person = Generator[Ask, Answer, None]
"""Yields what somebody asks, and is sent the answer."""


@define(eq=False)
class _Asked:
    """A request under way; the play waits for the person if they are not just `beside`."""

    person: Person
    ask: Ask
    beside: bool


class Stage:
    """An engine behind slotd behind a serve process; time goes on from one play to the next."""

    policy_name: str = "retention"
    """Who decides where a test brings no slotd of its own (`conftest` plays all who may)."""

    def __init__(
        self,
        options: SimOptions = SIX_SLOTS,
        policy: PolicySettings | None = None,
        sidecar: Sidecar | None = None,
        serve: Serve | None = None,
    ) -> None:
        """Begin at second 0.

        Args:
            options: the engine.
            policy: the policy's settings; None: the defaults.
            sidecar: a slotd with settings or a decider of its own instead.
            serve: a serve process with rules of its own.
        """
        settings = SidecarSettings(policy=policy or PolicySettings(), policy_name=self.policy_name)
        self.sidecar = sidecar or Sidecar(settings)
        self._serve = serve or Serve(QUIET)
        self._engine = SimEngine(options, HashModel())
        self._world = World(self._engine, self.sidecar, self._serve)
        self._asked: dict[str, _Asked] = {}
        self._requests = 0
        self._waited_for = 0

    @property
    def now(self) -> float:
        """Seconds since the engine was started."""
        return self._world.now

    @property
    def ledger(self) -> list[LedgerRow]:
        """What the engine did with each line it was sent, in order; its own slot numbers."""
        return self._engine.ledger

    @property
    def events(self) -> list[tuple[float, Event]]:
        """slotd's events with their moments in seconds, in order."""
        return self._world.events

    def told(self, name: str) -> list[Event]:
        """slotd's events of one name, in order."""
        return [event for _, event in self.events if event.name == name]

    def snapshot(self) -> Snapshot:
        """Return what slotd believes now."""
        return self.sidecar.snapshot(self.now)

    def ask(self, prompt: TokenIds, max_new: int, after: float = 0.0) -> Answer:
        """Let one request run while nothing else does."""
        answers = list[Answer]()

        def person() -> Person:
            answers.append((yield Ask(prompt, max_new, after)))

        self.play(person())
        return answers[0]

    def play(self, *people: Person, beside: Iterable[Person] = ()) -> None:
        """Let people act until all are done; those `beside` go away then, whatever they do."""
        self._waited_for = len(people)
        cast = [(person, True) for person in beside] + [(person, False) for person in people]
        plans = [self._plan(person, next(person), is_beside) for person, is_beside in cast]
        self._world.run(sorted(plans, key=lambda plan: plan[0]), self._ended)
        assert self._serve.surprises == []
        assert [event for _, event in self.events if event.level in ("warning", "error")] == []

    def _plan(self, person: Person, ask: Ask, beside: bool) -> Plan:
        self._requests += 1
        name = f"request-{self._requests}"
        self._asked[name] = _Asked(person, ask, beside)
        return self.now + ask.after, Request(name, ask.prompt, ask.max_new)

    def _ended(self, record: RequestRecord, tokens: tuple[int, ...]) -> Sequence[Plan]:
        asked = self._asked.pop(record.id)
        if record.finish == "left" or (asked.beside and not self._waited_for):
            return ()
        assert list(tokens) == HashModel().reply(asked.ask.prompt, asked.ask.max_new)
        try:
            following = asked.person.send(Answer(tokens, record))
        except StopIteration:
            self._waited_for -= not asked.beside
            return [(self.now, GoesAway(name)) for name in self._leaving()]
        return [self._plan(asked.person, following, asked.beside)]

    def _leaving(self) -> list[str]:
        """Give the requests that are left once nobody is waited for any more."""
        return [] if self._waited_for else list(self._asked)


def decoding(prompt: TokenIds, after: float = 0.0) -> Person:
    """Somebody whose answer does not end by itself."""
    yield Ask(prompt, 200_000, after)
