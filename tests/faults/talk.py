"""A client that talks to the engine line by line, in step, and keeps everything that was said.

Lives here: the process, the two transcripts, and whose token each line is. Must not live here: what
goes wrong in a test.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio
from attrs import Factory, define

from protocol import (
    Admitted,
    BatchDone,
    BatchToken,
    Done,
    EngineError,
    Generate,
    Token,
    parse_client_line,
    parse_engine_line,
)
from tests.clients.process import Process, started
from tests.clients.reference import expected_tokens

HANGS_AFTER = 600
"""Seconds after which a conversation is taken for hanging: far more than any takes."""


class OverError(Exception):
    """The engine has said its last line, or the client its."""


@define
class Talk:
    """One conversation with a started process. `leaves_after` lines heard, the client has gone."""

    process: Process
    leaves_after: int | None = None
    said: bytes = b""
    heard: list[bytes] = Factory(list)
    _rest: bytearray = Factory(bytearray)

    async def say(self, data: bytes) -> None:
        """Write; an engine that has gone takes nothing."""
        assert self.process.stdin is not None
        self.said += data
        with suppress(trio.BrokenResourceError):
            await self.process.stdin.send_all(data)

    async def hear(self) -> bytes:
        """Read one line; raises OverError when there is none, or the client goes away."""
        assert self.process.stdout is not None
        if self.leaves_after == len(self.heard):
            raise OverError
        looked_at = 0
        while (end := self._rest.find(b"\n", looked_at)) < 0:
            looked_at = len(self._rest)
            data = await self.process.stdout.receive_some()
            if not data:
                raise OverError
            self._rest += data
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        self.heard.append(line + b"\n")
        return line

    async def until(self, *begins: bytes) -> None:
        """Read until a line beginning with each of these has come."""
        waiting = list(begins)
        while waiting:
            line = await self.hear()
            found = next((begin for begin in waiting if line.startswith(begin)), None)
            if found is not None:
                waiting.remove(found)

    async def leave(self) -> int:
        """Close both ends, as the death of a client does; return slotd's exit status."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        await self.process.stdout.aclose()
        await self.process.stdin.aclose()
        return await self.process.wait()

    async def end(self) -> int:
        """Close the client's output and hear the rest; return slotd's exit status."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with suppress(OverError):
            while True:
                await self.hear()
        return await self.process.wait()

    @property
    def unfinished(self) -> bytes:
        """What came after the last newline."""
        return bytes(self._rest)

    def check_tokens(self) -> list[int]:
        """Check that every token heard is its request's next one; return how many each got."""
        return check_tokens(self.said, b"".join(self.heard))


@asynccontextmanager
async def talking(
    command: Sequence[str],
    environment: Mapping[str, str],
    stderr: Path,
    leaves_after: int | None = None,
) -> AsyncIterator[Talk]:
    """Start a process to talk to; at the end nothing of its session is left."""
    with trio.fail_after(HANGS_AFTER), stderr.open("wb") as errors:
        async with started(command, environment, errors) as process:
            yield Talk(process, leaves_after)


_NEVER_ANSWERED = (b"STOP", b"BSTOP", b"BYIELD", b"QUIT")


@define
class _Reply:
    prompt: tuple[int, ...]
    max_new: int
    tokens: list[int] = Factory(list)


def check_tokens(said: bytes, heard: bytes) -> list[int]:
    """Give every token to its request and check it; return how many each request got, in order.

    Every line said is answered by what belongs to a request or by `ERR`, but for these that are
    never answered at all.
    """
    replies, queue = list[_Reply](), list[tuple[_Reply, int | None]]()
    for raw in said.removesuffix(b"\n").split(b"\n"):
        line = parse_client_line(raw + b"\n")
        if isinstance(line, Generate):
            reply = _Reply(tuple(line.ids.tolist()), line.max_new)
            replies.append(reply)
            queue.append((reply, line.slot))
        elif raw.split(b" ")[0] not in _NEVER_ANSWERED:
            queue.append((_Reply((), 0), None))
    slots = dict[int, _Reply]()
    for raw in heard.split(b"\n"):
        match parse_engine_line(raw + b"\n"):
            case Token(id=token):
                queue[0][0].tokens.append(token)
            case Done() if queue[0][1] is None:
                queue.pop(0)
            case Admitted(slot=slot, goes_on=goes_on) if queue and queue[0][1] == slot:
                reply, _ = queue.pop(0)
                if goes_on:
                    slots[slot] = reply
            case EngineError() if queue:
                queue.pop(0)
            case BatchToken(slot=slot, id=token) if slot in slots:
                slots[slot].tokens.append(token)
            case BatchDone(slot=slot) if slot in slots:
                del slots[slot]
    for reply in replies:
        expected = expected_tokens(reply.prompt, reply.max_new)
        assert tuple(reply.tokens) == expected[: len(reply.tokens)]
    return [len(reply.tokens) for reply in replies]
