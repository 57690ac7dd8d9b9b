"""A record, made by slotd in front of an engine, replays as what it was made of."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from protocol.tokens import TokenIds
from slotd.core.settings import SidecarSettings
from slotd.record.files import RecordFiles
from slotd.record.reader import read_record
from slotd.record.recorder import RequestRecorder
from slotd.record.tap import RecordingSidecar
from slotd.replay.drive import Run, replay
from slotd.replay.policies import POLICIES
from slotd.sim.engine import SimEngine
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request
from slotd.sim.world import Plan, RequestRecord, World

OPTIONS = SimOptions()
PEOPLE = 5
TURNS = 12


class People:
    """People who talk to the engine, several at a time, in one conversation after another."""

    def __init__(self) -> None:
        self._random = random.Random(11)
        self._numbers = count()
        self._asked: dict[str, tuple[TokenIds, int]] = {}

    def begin(self) -> Iterator[Plan]:
        for person in range(PEOPLE):
            yield float(person), self._ask(self._opening(), TURNS)

    def go_on(self, record: RequestRecord, tokens: tuple[int, ...]) -> Iterator[Plan]:
        prompt, left = self._asked.pop(record.id)
        if left:
            text = self._said(self._random.randint(10, 400))
            told = np.concatenate([prompt, np.array(tokens, dtype=np.int32), text])
            more = told if self._random.random() < 0.85 else self._opening()
            yield record.end + self._random.uniform(0.5, 20), self._ask(more, left - 1)

    def _ask(self, prompt: TokenIds, left: int) -> Request:
        name = str(next(self._numbers))
        self._asked[name] = prompt, left
        return Request(name, prompt, self._random.randint(5, 200))

    def _opening(self) -> TokenIds:
        return self._said(self._random.choice([500, 3_000, 12_000]))

    def _said(self, length: int) -> TokenIds:
        words = [self._random.randrange(1_000, 200_000) for _ in range(length)]
        return np.array([TURN_TOKEN, *words, TURN_TOKEN, 1_001], dtype=np.int32)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RequestRecord]]:
    path = tmp_path_factory.mktemp("record") / "requests.jsonl"
    files = RecordFiles(path, began=1_000_000.0)
    sidecar = RecordingSidecar(SidecarSettings(), RequestRecorder(b"salt"), files.write)
    people = People()
    world = World(SimEngine(OPTIONS), sidecar, Serve())
    records = world.run(people.begin(), people.go_on)
    sidecar.engine_eof(world.now)
    files.close()
    return path, records


def run_of(path: Path, policy: str) -> Run:
    return replay(read_record(path), POLICIES[policy], OPTIONS)


def reused(run: Run) -> int:
    return sum(row.reused for row in run.rows)


def test_every_request_is_in_it_with_its_lengths(
    recorded: tuple[Path, list[RequestRecord]],
) -> None:
    path, records = recorded
    assert any(len(record.legs) > 1 for record in records)
    assert sorted((one.prompt_length, one.output_length) for one in read_record(path).requests) == (
        sorted((record.prompt, record.generated) for record in records)
    )


def test_under_the_same_policy_it_comes_to_the_same(
    recorded: tuple[Path, list[RequestRecord]],
) -> None:
    path, records = recorded
    run = run_of(path, "retention")
    was = sum(record.reused for record in records)
    assert was > 100_000
    assert reused(run) == pytest.approx(was, rel=0.02)
    # Less exact: what a request waits before its line is sent is not in a record.
    waits = [record.wait for record in records if record.wait is not None]
    replayed = [row.wait for row in run.rows]
    assert np.mean(replayed) == pytest.approx(np.mean(waits), rel=0.25)
    assert run.drifts == 0


def test_under_others_it_comes_to_something_else(
    recorded: tuple[Path, list[RequestRecord]],
) -> None:
    path, records = recorded
    was = sum(record.reused for record in records)
    assert reused(run_of(path, "serve-groups")) < 0.9 * was
    assert reused(run_of(path, "clairvoyant")) >= was
