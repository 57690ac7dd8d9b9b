"""The serve process and its clients: `Serve` joined to an engine's two streams by trio.

Lives here: the pump and the calls a test makes on it. Must not live here: what is behind the
streams (`process`, `virtual`), what the serve process does (`slotd.sim.serve`), or what a test
expects.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import numpy as np
import trio
from attrs import define
from trio.abc import ReceiveStream, SendStream

from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Ended, Request, ServeEvent, TokenArrived


class EngineFailedError(Exception):
    """The request ended with an error."""


@define(eq=False)
class Stream:
    """One request's tokens as they come. Leaving it early is a client that goes away."""

    id: str
    prompt: tuple[int, ...]
    _client: "Client"
    _sender: "trio.MemorySendChannel[int]"
    _receiver: "trio.MemoryReceiveChannel[int]"
    got: list[int]
    end: Ended | None = None

    async def token(self) -> int | None:
        """Wait for the next token; None when the request is over."""
        try:
            token = await self._receiver.receive()
        except trio.EndOfChannel:
            return None
        self.got.append(token)
        return token

    async def tokens(self, count: int) -> None:
        """Wait until it has this many tokens (or is over)."""
        while len(self.got) < count and await self.token() is not None:
            pass

    async def result(self) -> Ended:
        """Wait until it is over.

        Raises:
            EngineFailedError: it was refused, or the engine died.
        """
        while await self.token() is not None:
            pass
        assert self.end is not None
        if self.end.finish == "error":
            raise EngineFailedError(self.end.error)
        assert list(self.end.tokens) == self.got
        return self.end

    def take(self, event: ServeEvent) -> None:
        """Take what the serve process says of this request."""
        if isinstance(event, TokenArrived):
            self._sender.send_nowait(event.token)
        else:
            self.end = event
            self._sender.close()

    def cancel(self) -> None:
        """Let the client go away."""
        self._client.cancel(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.end is None:
            self.cancel()


class Client:
    """Many HTTP clients at once, behind one modelled serve process on one engine."""

    def __init__(self, serve: Serve, stdin: SendStream, stdout: ReceiveStream) -> None:
        self.serve = serve
        self._stdin = stdin
        self._stdout = stdout
        self._streams: dict[str, Stream] = {}
        self._numbers = 0
        self._outgoing: list[bytes] = []
        self._wake = trio.Event()
        self._activity = trio.Event()
        self._closing = False
        self._ended = False

    def begin(
        self,
        prompt: Sequence[int],
        max_new: int,
        keys: Mapping[str, str] | None = None,
        cvec: int = 1,
        pictures: str | None = None,
    ) -> Stream:
        """Send a request; its tokens come from the stream."""
        self._numbers += 1
        name = f"request-{self._numbers}"
        sender, receiver = trio.open_memory_channel[int](math.inf)
        stream = Stream(name, tuple(prompt), self, sender, receiver, [])
        self._streams[name] = stream
        request = Request(
            id=name,
            prompt=np.array(prompt, dtype=np.int32),
            max_new=max_new,
            keys=tuple((keys or {}).items()),
            cvec=cvec,
            pictures=pictures,
        )
        self._queue(self.serve.submit(request, trio.current_time()))
        return stream

    async def generate(self, prompt: Sequence[int], max_new: int) -> tuple[int, ...]:
        """Run one request to its end; a cancelled call is a client that goes away.

        Raises:
            EngineFailedError: it was refused, or the engine died.
        """
        with self.begin(prompt, max_new) as stream:
            return (await stream.result()).tokens

    def cancel(self, stream: Stream) -> None:
        """Let a request's client go away."""
        self._streams.pop(stream.id, None)
        self._queue(self.serve.cancel(stream.id, trio.current_time()))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait, a piece of the engine's output at a time, until a condition holds.

        Raises:
            EngineFailedError: the engine ended first.
        """
        while not condition():
            if self._ended:
                raise EngineFailedError("the engine has ended")
            await self._activity.wait()

    async def idle(self) -> None:
        """Wait until nothing runs, requests whose clients went away included."""
        await self.until(lambda: self.serve.idle)

    def write(self, data: bytes) -> None:
        """Send bytes that the serve process model does not send of itself."""
        self._queue([data])

    def close(self, quit_line: bool) -> None:
        """Close the engine's stdin once everything queued is written, `QUIT` last if asked."""
        if quit_line:
            self.write(b"QUIT\n")
        self._closing = True
        self._wake.set()

    def _queue(self, lines: list[bytes]) -> None:
        if not lines:
            return
        self._outgoing += lines
        self._wake.set()

    async def run(self) -> None:
        """Pump until `close` and the end of the engine's output."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_engine)
            nursery.start_soon(self._read_engine)

    async def _write_engine(self) -> None:
        """Write what is queued until `close`; an engine that has gone away takes nothing."""
        async with self._stdin:
            while self._outgoing or not self._closing:
                if not self._outgoing:
                    await self._wake.wait()
                    self._wake = trio.Event()
                lines, self._outgoing = self._outgoing, []
                try:
                    await self._stdin.send_all(b"".join(lines))
                except trio.BrokenResourceError:
                    return

    async def _read_engine(self) -> None:
        """Read the engine's output to its end."""
        while data := await self._stdout.receive_some():
            lines, events = self.serve.from_engine(bytes(data), trio.current_time())
            self._queue(lines)
            self._publish(events)
        self._ended = True
        self._publish(self.serve.engine_eof(trio.current_time()))

    def _publish(self, events: list[ServeEvent]) -> None:
        for event in events:
            if event.request in self._streams:
                self._streams[event.request].take(event)
                if isinstance(event, Ended):
                    del self._streams[event.request]
        self._activity.set()
        self._activity = trio.Event()
