"""A soak: the agent workload through `slotd run` on a simulated engine that takes no time.

Lives here: who sends what when, the check of every token, and what came of the whole. Must not
live here: the command and the test that run it.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import trio
from attrs import Factory, define

from slotd.sim.serve_requests import ServeSettings
from slotd.sim.token_model import HashModel
from slotd.workload.agents import agent_day
from slotd.workload.traffic import RequestSpec
from tests.clients.client import Client
from tests.clients.levels import ACTIVE_ROWS, CHECKPOINTS, GROUPS, clean_environment
from tests.clients.process import open_client
from tests.clients.slotd import behind_slotd
from tests.soak.traffic import reply_lengths, tokens_of
from tests.soak.watch import Watch

AT_ONCE = 7
"""Requests under way at a time: one more than there are slots."""

LEAVES = 0.04
"""Share of the requests whose client goes away before the end."""

ENGINE = ["-m", "slotd.sim", "--serve", *GROUPS, "--speeds", "instant", "--chunk", "128"]


@define
class Soaked:
    """What came of a soak."""

    watch: Watch
    seconds: float = 0.0
    ended: int = 0
    left: int = 0
    wrong: int = 0
    """Requests that got another token than they had to."""
    prompt_tokens: int = 0
    tokens: int = 0
    events: Counter[str] = Factory(Counter)
    """slotd's log, by event name."""
    alarms: list[dict[str, object]] = Factory(list)
    """The log's warnings and errors."""
    status: int | None = None
    """slotd's exit status."""


@define
class _Day:
    """One generated day on its way: the requests that may be sent, in order."""

    requests: tuple[RequestSpec, ...]
    ready: list[int] = Factory(list)
    followers: dict[int, list[int]] = Factory(dict)
    replies: dict[int, list[int]] = Factory(dict)
    unfinished: int = 0

    def __attrs_post_init__(self) -> None:
        for number, request in enumerate(self.requests):
            if request.after is None:
                self.ready.append(number)
            else:
                self.followers.setdefault(request.after, []).append(number)
        self.unfinished = len(self.requests)

    def over(self, number: int, reply: list[int]) -> None:
        """Take a request's reply; what it led to may be sent."""
        at = 0
        for stream, length in reply_lengths(self.requests[number]).items():
            self.replies[stream] = reply[at : at + length]
            at += length
        self.ready += self.followers.get(number, [])
        self.unfinished -= 1


def _days(seed: int) -> Iterator[_Day]:
    while True:
        yield _Day(agent_day(people=3, hours=0.5, seed=seed).requests)
        seed += 1


class _Crowd:
    """Everybody's requests, day after day, until the time is over."""

    def __init__(self, client: Client, soaked: Soaked, until: float, seed: int) -> None:
        self._client = client
        self._soaked = soaked
        self._until = until
        self._days = _days(seed)
        self._random = random.Random(seed)
        self._model = HashModel()

    async def run(self) -> None:
        while trio.current_time() < self._until:
            day = next(self._days)
            async with trio.open_nursery() as nursery:
                for _ in range(AT_ONCE):
                    nursery.start_soon(self._work, day)
        await self._client.idle()

    async def _work(self, day: _Day) -> None:
        """Send what is ready until the day or the time is over."""
        while day.unfinished and trio.current_time() < self._until:
            if not day.ready:
                await trio.sleep(0.001)
                continue
            number = day.ready.pop(0)
            day.over(number, await self._ask(day, number))

    async def _ask(self, day: _Day, number: int) -> list[int]:
        request, soaked = day.requests[number], self._soaked
        prompt = tokens_of(request.prompt, day.replies)
        max_new = sum(reply_lengths(request).values())
        leaves = self._random.random() < LEAVES
        stop_after = self._random.randrange(max_new + 1) if leaves else max_new
        with self._client.begin(prompt, max_new) as stream:
            if leaves:
                await stream.tokens(stop_after)
            else:
                await stream.result()
        got = stream.got
        expected = self._model.reply(np.array(prompt, dtype=np.int32), max_new)
        exact = got == (expected[: len(got)] if leaves else expected)
        soaked.wrong += not exact
        soaked.left += leaves
        soaked.ended += not leaves
        soaked.prompt_tokens += len(prompt)
        soaked.tokens += len(got)
        return got


async def soak(seconds: float, directory: Path, seed: int = 1, *options: str) -> Soaked:
    """Run the workload for so many seconds; `options` are further ones of `slotd run`."""
    log = directory / "slotd.log"
    command = behind_slotd([sys.executable, *ENGINE], log, *options)
    environment = clean_environment() | ACTIVE_ROWS | CHECKPOINTS
    serve = ServeSettings(long_read=300, stale_lines=True)
    bound = 2 * seconds + 120
    async with open_client(command, environment, serve, hangs_after=bound, fork=False) as client:
        soaked = Soaked(Watch(client.process.pid))
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(soaked.watch.run)
            await _Crowd(client, soaked, began + seconds, seed).run()
            nursery.cancel_scope.cancel()
        soaked.watch.read()
        soaked.seconds = trio.current_time() - began
        assert client.serve.surprises == []
    soaked.status = client.process.returncode
    with log.open() as lines:
        for line in lines:
            event = json.loads(line)
            soaked.events[event["event"]] += 1
            if event["level"] in ("warning", "error"):
                soaked.alarms.append(event)
    return soaked
