"""A random client in front of a sidecar in front of the reference engine, over plain pipes."""

import importlib.util
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, TracebackType

from slotd.core.events import Event
from slotd.core.sidecar import Sidecar, SidecarSettings
from tests.paths import REFENGINE

TURN = 248_045


def _reference_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refengine", REFENGINE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Conversation:
    """What one conversation has come to: its tokens, and the reply it is waiting for."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens
        self.reply: list[int] = []
        self.expected: list[int] = []
        self.cancelled = False
        self.stopped = False


class Bench:
    """The engine's process, the sidecar, and a client that has at most one request being read."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        settings: SidecarSettings,
        slots: int,
        seed: int,
    ) -> None:
        self.random = random.Random(seed)
        self.sidecar = Sidecar(settings)
        self.events: list[Event] = []
        self.slots = slots
        self.busy: dict[int, Conversation] = {}
        self.head: Conversation | None = None
        self.head_slot: int | None = None
        self.yielded: int | None = None
        self.idle: list[Conversation] = []
        self.finished = 0
        self.expected_tokens: Callable[[list[int], int], list[int]]
        self.expected_tokens = _reference_module().expected_tokens
        self.process = subprocess.Popen(
            [sys.executable, str(REFENGINE), "--serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        self.lines: list[bytes] = []

    def __enter__(self) -> "Bench":
        self.read_until(lambda: self.sidecar.model.capabilities.ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def send(self, line: str) -> None:
        output = self.sidecar.from_client(line.encode() + b"\n", time.monotonic())
        self.events += output.events
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(output.to_engine))
        self.process.stdin.flush()

    def read_until(self, condition: Callable[[], bool]) -> None:
        assert self.process.stdout is not None
        while not condition():
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the engine ended"
            output = self.sidecar.from_engine(data, time.monotonic())
            self.events += output.events
            for line in b"".join(output.to_client).decode().splitlines():
                self._take(line.split())

    def _take(self, fields: list[str]) -> None:
        match fields[0]:
            case "T":
                assert self.head is not None
                self.head.reply.append(int(fields[1]))
            case "BT":
                self.busy[int(fields[1])].reply.append(int(fields[2]))
            case "YIELDED":
                self.yielded = int(fields[1])
            case "DONE":
                assert self.head is not None
                self.head.cancelled = fields[5] == "cancel"
                if self.head_slot is None:
                    self._finish(self.head)
                    self.head = None
            case "BADM":
                assert self.head is not None
                assert self.head_slot == int(fields[1])
                if fields[2] == "1":
                    self.busy[self.head_slot] = self.head
                else:
                    self._finish(self.head)
                self.head = None
            case "BDONE":
                conversation = self.busy.pop(int(fields[1]))
                conversation.cancelled = fields[3] == "cancel"
                self._finish(conversation)
            case "ERR":
                raise AssertionError(" ".join(fields))

    def _finish(self, conversation: Conversation) -> None:
        got, expected = conversation.reply, conversation.expected
        assert conversation.stopped or not conversation.cancelled, "another request was stopped"
        assert got == (expected[: len(got)] if conversation.cancelled else expected)
        self.finished += 1
        conversation.tokens = conversation.tokens + got
        self.idle.append(conversation)

    def settle(self) -> None:
        """Wait for every request to end."""
        self.read_until(lambda: self.head is None and not self.busy)

    def free_slot(self) -> int | None:
        free = [slot for slot in range(self.slots) if slot not in self.busy]
        return self.random.choice(free) if free else None

    def turn(self) -> None:
        """Play one request: a new conversation or the next turn of one, solo or in a slot."""
        chance = self.random
        if self.idle and chance.random() < 0.7:
            conversation = self.idle.pop(chance.randrange(len(self.idle)))
            if chance.random() < 0.2:
                conversation.tokens = conversation.tokens[: -chance.randrange(1, 40)]
        else:
            common = [7, 8, 9] * chance.randrange(1, 200)
            conversation = Conversation(common)
        added = [chance.randrange(10, 99) for _ in range(chance.choice([3, 50, 400, 1500]))]
        conversation.tokens = [*conversation.tokens, TURN, *added, TURN, 5]
        slot = self.free_slot() if chance.random() < 0.7 else None
        self.request(conversation, slot, chance.randrange(1, 30))
        act = chance.random()
        if act < 0.1:
            conversation.stopped = True
            self.send("STOP")
        elif act < 0.3 and self.slots:
            self.give_way(conversation, slot)
        elif act < 0.4 and self.busy:
            victim = chance.choice(sorted(self.busy))
            self.busy[victim].stopped = True
            self.send(f"BSTOP {victim}")
        elif (late := self.free_slot()) is not None and late != slot:
            self.send(f"BSTOP {late}")
        self.read_until(lambda: self.head is None)
        if chance.random() < 0.3:
            self.read_until(lambda: not self.busy)

    def request(self, conversation: Conversation, slot: int | None, max_new: int) -> None:
        conversation.reply, conversation.cancelled, conversation.stopped = [], False, False
        conversation.expected = self.expected_tokens(conversation.tokens, max_new)
        self.head, self.head_slot, self.yielded = conversation, slot, None
        verb = "GEN" if slot is None else f"BGEN {slot}"
        self.send(f"{verb} {max_new} seed=1 {','.join(map(str, conversation.tokens))}")

    def give_way(self, conversation: Conversation, slot: int | None) -> None:
        into = self.free_slot() if slot is None else slot
        if into is None:
            return
        conversation.stopped = True
        self.send(f"BYIELD {into}")
        self.read_until(lambda: self.head is None)
        if self.yielded is None or self.random.random() < 0.3:
            return
        assert self.yielded == into
        self.idle.remove(conversation)
        other = self.free_slot()
        if other is not None and other != into:
            self.request(Conversation([3, 2, 1, self.random.randrange(9)]), other, 5)
            self.read_until(lambda: self.head is None)
        self.request(conversation, into, 8)
