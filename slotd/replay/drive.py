"""One traffic under one policy: the serve process, slotd and the simulated engine in virtual time.

Here: turning requests into arrivals, their replies into the engine's script, and what happened into
rows. Not here: which policies there are (`policies`), sums (`outcome`).

Every request's tokens exist only while it runs. A request is sent when it arrives (or, where its
think time is known and `by_clock` is not wanted, that long after the request it comes after has
ended), and never before that one has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from attrs import Factory, define, frozen

from protocol.tokens import TokenIds
from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.sidecar import Sidecar
from slotd.replay.clairvoyant import Future
from slotd.replay.policies import Policy
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request
from slotd.sim.token_model import ScriptedModel
from slotd.sim.world import Plan, RequestRecord, World
from slotd.workload.traffic import RequestSpec, Traffic

_ID_KEY: Final = "id"
"""Every line carries its request's index under this key, which no engine knows."""

_PICKED: Final = 1
"""A token below all that prompts are made of."""


@frozen
class Row:
    """What became of one request. Lengths in tokens, times in seconds."""

    request: int
    arrival: float
    prompt: int
    reused: int
    read: int
    wait: float
    """Until its first token."""
    generated: int
    finish: str
    last_leg: str
    """GEN or BGEN: where it ended."""
    end: float


@define
class Run:
    """A replay that was run."""

    policy: str
    rows: list[Row] = Factory(list)
    """In the order of their end."""
    placements: Counter[str] = Factory(Counter)
    """By reason."""
    parks: Counter[str] = Factory(Counter)
    """By reason, and "parked" for those that were carried out."""
    saved: set[int] = Factory(set)
    """Requests whose history was parked, or kept in a slot already, when main was replaced."""
    drifts: int = 0


class _Watched(Sidecar):
    """A sidecar that tells the future which request each line is of, before it decides."""

    future: Future | None = None
    numbers: list[int]

    def from_client(self, data: bytes, now: float) -> Output:
        """Take whole lines, as the serve process's model writes them."""
        for line in data.splitlines():
            if line.startswith((b"GEN ", b"BGEN ")):
                request = _request_of(line)
                self.numbers.append(request)
                if self.future is not None:
                    self.future.sent(request)
        return super().from_client(data, now)


def _request_of(line: bytes) -> int:
    for field in line[:80].split(b" ")[1:5]:
        if field.startswith(b"id="):
            return int(field[3:])
    raise ValueError("a line of the replay carries no request index")


class _Script:
    """The replies of the requests that run."""

    def __init__(self, own_requests: bool) -> None:
        """`own_requests`: slotd may park by requests of its own, which nobody sent."""
        self._own_requests = own_requests
        self.running: dict[int, tuple[TokenIds, list[int]]] = {}

    def reply(self, prompt: TokenIds) -> Sequence[int]:
        """Return what follows a prompt: the rest of the reply of the request it belongs to."""
        begun: Sequence[int] | None = None
        for own, reply in self.running.values():
            got = len(prompt) - len(own)
            if 0 <= got <= len(reply) and np.array_equal(prompt[: len(own)], own):
                if prompt[len(own) :].tolist() == reply[:got]:
                    return reply[got:]
                # Two requests with one prompt: it has got the other's reply so far.
                begun = reply[got:]
        if begun is None and self._own_requests:
            # One picks a token no traffic has: what was parked is reused up to its last turn only.
            return (_PICKED, _PICKED)
        if begun is None:
            raise ValueError("the engine reads a prompt that no request has")
        return begun


def replay(
    traffic: Traffic,
    policy: Policy,
    options: SimOptions,
    *,
    by_clock: bool = False,
    on_end: Callable[[Row], None] | None = None,
) -> Run:
    """Run a traffic under a policy.

    Args:
        traffic: what to run.
        policy: who decides.
        options: the engine.
        by_clock: send by arrival times even where think times are known.
        on_end: called with every request that ended.
    """
    return _Replay(traffic, policy, options, by_clock, on_end).run()


class _Replay:
    def __init__(
        self,
        traffic: Traffic,
        policy: Policy,
        options: SimOptions,
        by_clock: bool,
        on_end: Callable[[Row], None] | None,
    ) -> None:
        self._traffic = traffic
        self._by_clock = by_clock
        self._tell = on_end
        self._result = Run(policy.name)
        self._script = _Script(policy.settings.park == "emulated")
        self._followers: dict[int, list[int]] = {}
        for number, request in enumerate(traffic.requests):
            if request.after is not None:
                self._followers.setdefault(request.after, []).append(number)
        future = Future(traffic) if policy.knows_future else None
        self._sidecar = _Watched(policy.settings, policy.decider(future))
        self._sidecar.future, self._sidecar.numbers = future, [-1]
        self._main = -1
        engine = SimEngine(options, ScriptedModel(self._script.reply), lambda row: None)
        serve = Serve(strategy=policy.strategy)
        self._world = World(engine, self._sidecar, serve, self._event)

    def run(self) -> Run:
        """Run it to its end."""
        self._world.run(self._roots(), self._ended)
        return self._result

    def _roots(self) -> Iterator[Plan]:
        for number, request in enumerate(self._traffic.requests):
            if request.after is None:
                yield request.arrival, self._begin(number, request)

    def _begin(self, number: int, request: RequestSpec) -> Request:
        turn_token = self._traffic.turn_token
        prompt = request.prompt.tokens(turn_token)
        prompt.flags.writeable = False
        self._script.running[number] = (prompt, request.reply.tokens(turn_token).tolist())
        return Request(str(number), prompt, request.output_length, keys=((_ID_KEY, str(number)),))

    def _ended(self, record: RequestRecord, tokens: tuple[int, ...]) -> Iterator[Plan]:
        number = int(record.id)
        del self._script.running[number]
        row = Row(
            request=number,
            arrival=record.arrival,
            prompt=record.prompt,
            reused=record.reused,
            read=record.read,
            wait=record.end - record.arrival if record.wait is None else record.wait,
            generated=record.generated,
            finish=record.finish,
            last_leg=record.legs[-1].verb if record.legs else "",
            end=record.end,
        )
        self._result.rows.append(row)
        if self._tell is not None:
            self._tell(row)
        for follower in self._followers.get(number, ()):
            request = self._traffic.requests[follower]
            when = request.arrival
            if request.think is not None and not self._by_clock:
                when = record.end + request.think
            yield max(when, record.end), self._begin(follower, request)

    def _event(self, now: float, event: Event) -> None:
        fields = event.fields
        if event.name == "place":
            self._result.placements[str(fields["reason"])] += 1
        elif event.name in ("park", "park_skip"):
            self._result.parks[str(fields["reason"])] += 1
            if fields["reason"] == "kept":
                self._result.saved.add(self._main)
        elif event.name == "solo_done" and isinstance(fields["request"], int):
            self._main = self._sidecar.numbers[fields["request"]]
        elif event.name == "admitted":
            self._main = -1
        elif event.name == "parked" and fields["tokens"]:
            self._result.parks["parked"] += 1
            self._result.saved.add(self._main)
        elif event.name == "drift":
            self._result.drifts += 1
