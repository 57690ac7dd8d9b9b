"""People with agent clients in virtual time: what each sends next when a request has ended.

Lives here: a closed loop of users over `slotd.sim.world`, and the check that each request got the
tokens it must get. Must not live here: engines and sidecars (the test joins them).
"""

import random
from collections.abc import Iterable

import numpy as np
from attrs import Factory, define

from protocol.tokens import TokenIds
from slotd.sim.serve_requests import Request
from slotd.sim.token_model import HashModel
from slotd.sim.world import GoesAway, Plan, RequestRecord
from tests.clients.conversations import text, turn


def ids(tokens: Iterable[int]) -> TokenIds:
    """Tokens as an array."""
    return np.array(list(tokens), dtype=np.int32)


@define(eq=False)
class Person:
    """One user: what was said so far, and the turns still to come."""

    rng: random.Random
    transcript: tuple[int, ...]
    turns: int


@define(eq=False)
class Crowd:
    """Several users; give `first` and `after` to `World.run`.

    Each turn goes on a transcript; now and then a client goes away in the middle and asks again, a
    side request runs beside, the transcript's end is rewritten, or the request is of a kind that
    leaves nothing behind.
    """

    seed: int
    people: int
    turns: int
    model: HashModel
    opening: int = 1500
    checked: int = 0
    _persons: dict[str, Person] = Factory(dict)
    _requests: dict[str, tuple[Person | None, Request]] = Factory(dict)
    _number: int = 0

    def first(self) -> list[Plan]:
        """Give everybody's first requests, in order of time."""
        rng = random.Random(self.seed)
        system = text(rng, 200)
        plans: list[Plan] = []
        for number in range(self.people):
            own = random.Random(f"{self.seed}/{number}")
            opening = text(own, own.randrange(10, self.opening))
            plans += self._turn(Person(own, system + opening, self.turns), rng.uniform(0, 3))
        return sorted(plans, key=lambda plan: plan[0])

    def after(self, record: RequestRecord, tokens: tuple[int, ...]) -> Iterable[Plan]:
        """Check what a request got; give what its user does next."""
        person, request = self._requests.pop(record.id)
        if record.finish == "left":
            return self._ask_again(person, request, record.end)
        assert list(tokens) == self.model.reply(request.prompt, request.max_new)
        self.checked += 1
        if person is None:
            return ()
        person.transcript += tokens
        return self._turn(person, record.end + person.rng.expovariate(1 / 4))

    def _ask_again(self, person: Person | None, request: Request, now: float) -> list[Plan]:
        if person is None:
            return []
        return [self._plan(now, person, request.prompt, request.max_new)]

    def _turn(self, person: Person, now: float) -> list[Plan]:
        """Plan a person's next request, and what goes on beside it."""
        if not person.turns:
            return []
        rng = person.rng
        person.turns -= 1
        person.transcript += turn(rng, rng.randrange(3, 150))
        main = self._plan(now, person, ids(person.transcript), rng.randrange(1, 120))
        plans, kind = [main], rng.random()
        assert isinstance(main[1], Request)
        if kind < 0.15:
            plans.append((now + rng.expovariate(1), GoesAway(main[1].id)))
        elif kind < 0.35:
            plans += [self._side(now + 2 * rng.random(), ids(turn(rng, 40)), 15) for _ in range(2)]
        elif kind < 0.5:
            classifier = person.transcript + text(rng, 20) + turn(rng, 12)
            plans.append(self._side(now + rng.random(), ids(classifier), 3))
        elif kind < 0.56:
            plans.append(self._side(now + rng.random(), ids(person.transcript), 9, cvec=0))
        elif kind < 0.62:
            plans.append(self._side(now, ids(person.transcript), 9, pictures="pictures.bin"))
        elif kind < 0.68:
            plans.append(self._side(now, ids(turn(rng, 90)), 9, keys=(("ckpt", "0"),)))
        return plans

    def _plan(self, when: float, person: Person | None, prompt: TokenIds, max_new: int) -> Plan:
        return self._send(when, person, Request(self._name(), prompt, max_new))

    def _side(
        self,
        when: float,
        prompt: TokenIds,
        max_new: int,
        cvec: int = 1,
        pictures: str | None = None,
        keys: tuple[tuple[str, str], ...] = (),
    ) -> Plan:
        request = Request(self._name(), prompt, max_new, keys, cvec, pictures)
        return self._send(when, None, request)

    def _name(self) -> str:
        self._number += 1
        return f"request-{self._number}"

    def _send(self, when: float, person: Person | None, request: Request) -> Plan:
        self._requests[request.id] = (person, request)
        return (when, request)
