"""Playing the script against a real `slotd run` with a real simulated engine behind it.

Lives here: the processes, the pipes, and the people's clients on top of the modelled serve process.
Must not live here: what the people do (`script`) and what is compared (`columns`).

slotd gets a session of its own, so that an interrupt at the terminal reaches the demo alone; the
demo then ends what it started: closed pipes first, and signals to the process it started when those
are not enough. The engine ends with slotd.
"""

import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import trio
from attrs import Factory, define

from protocol.engine import EngineError, parse_engine_line
from protocol.reader import LineReader
from protocol.tokens import EMPTY, TokenIds
from slotd.demo.columns import Column, command, configuration, environment
from slotd.demo.outcome import Result, Turn
from slotd.demo.parks import parks_ms
from slotd.demo.script import Leave, Pause, Say, Scene
from slotd.demo.stopwatch import Stopwatch, Wait
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Leg, Request, ServeEvent, ServeSettings, TokenArrived

_READ_SIZE = 1 << 16
_PATIENCE_S = 120.0
_PATIENCE_ENGINE_S = 1200.0
"""A column may take so many real seconds, and so many seconds of engine time besides."""
_END_S = 3.0
"""Seconds slotd is given to end after each thing that should make it."""


class DemoError(Exception):
    """The demo cannot go on; the message is one line."""


@define(eq=False)
class _Asked:
    """A request that is under way."""

    scene: str
    say: Say
    prompt: int
    known: int
    wait: Wait
    begun: trio.Event = Factory(trio.Event)
    over: trio.Event = Factory(trio.Event)
    legs: tuple[Leg, ...] = ()
    answer: tuple[int, ...] | None = None

    def turn(self, parks: Mapping[int, float]) -> Turn:
        """Sum up; the request has ended or its client has gone.

        `parks` is the time of the parks before each request that no client sees, see `parks_ms`.
        """
        first = self.wait.first_token_ms
        if first is None or not self.legs:
            raise DemoError(f"{self.say.what}: there was no first token")
        return Turn(
            scene=self.scene,
            who=self.say.who,
            what=self.say.what,
            conversation=self.say.conversation,
            prompt=self.prompt,
            known=self.known,
            reused=self.legs[0].resumed,
            read=sum(leg.read for leg in self.legs),
            first_token_ms=first + parks.get(self.wait.number, 0.0),
            answer=self.answer,
        )


class _Clients:
    """The people's clients and the serve process they share, on the pipes of one engine."""

    def __init__(self, process: trio.Process, speed: float, told: Callable[[], None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to_engine = process.stdin
        self._from_engine = process.stdout
        self._speed = speed
        self._told = told
        self._serve = Serve(ServeSettings(every_token=False))
        self._stopwatch = Stopwatch()
        self._writing = trio.Lock()
        self._heard = trio.Event()
        self._transcripts: dict[str, TokenIds] = {}
        self._running: dict[str, _Asked] = {}
        self._asked: list[_Asked] = []

    async def listen(self) -> None:
        """Take what the engine prints. Raises DemoError at its end."""
        reader = LineReader(frames=False)
        while data := await self._from_engine.receive_some(_READ_SIZE):
            for item in reader.feed(bytes(data)):
                raw = item if isinstance(item, bytes) else item.raw
                line = parse_engine_line(raw)
                if isinstance(line, EngineError):
                    raise DemoError(f"the engine refused a request: {line.text}")
                self._stopwatch.heard(line)
                lines, events = self._serve.from_engine(raw, trio.current_time())
                for event in events:
                    self._take(event)
                await self._send(lines)
            self._heard.set()
            self._heard = trio.Event()
        raise DemoError("slotd or the engine has ended")

    async def play(self, script: tuple[Scene, ...]) -> None:
        """Do what the script says, to its end."""
        await self._until(lambda: self._serve.ready)
        for scene in script:
            for step in scene.steps:
                if isinstance(step, Pause):
                    await trio.sleep(step.seconds / self._speed)
                elif isinstance(step, Leave):
                    await self._leave(step)
                else:
                    await self._ask(scene.title, step)

    def turns(self, parks: Mapping[int, float]) -> tuple[Turn, ...]:
        """Return what every request took, in the script's order; all of them are over.

        `parks` as for `_Asked.turn`.

        Raises:
            DemoError: one of them got no token.
        """
        return tuple(asked.turn(parks) for asked in self._asked)

    async def _ask(self, scene: str, say: Say) -> None:
        transcript = self._transcripts.get(say.conversation, EMPTY)
        told = np.concatenate([transcript, say.words.tokens()])
        prompt = np.concatenate([told, say.closing.tokens()])
        # The last token of an answer is in no cache yet: nobody has read it.
        known = max(0, len(transcript) - say.keeps_answer)
        asked = _Asked(scene, say, len(prompt), known, self._stopwatch.arrived())
        name = str(len(self._asked))
        self._asked.append(asked)
        self._running[name] = asked
        request = Request(name, prompt, say.answer)
        await self._send(self._serve.submit(request, trio.current_time()))
        await (asked.over if say.waits else asked.begun).wait()
        answer = np.array(asked.answer or (), dtype=np.int32)
        kept = np.concatenate([prompt, answer]) if say.keeps_answer else told
        self._transcripts[say.conversation] = kept

    async def _leave(self, step: Leave) -> None:
        for name, asked in list(self._running.items()):
            if asked.say.conversation in step.conversations:
                _, asked.legs = self._serve.so_far(name)
                await self._send(self._serve.cancel(name, trio.current_time()))
                self._told()
                del self._running[name]
        await self._until(lambda: self._serve.idle)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._heard.wait()

    def _take(self, event: ServeEvent) -> None:
        asked = self._running.get(event.request)
        if asked is None:
            return
        if isinstance(event, TokenArrived):
            self._stopwatch.first_token(asked.wait)
            asked.begun.set()
        else:
            del self._running[event.request]
            asked.legs, asked.answer = event.legs, event.tokens
            asked.over.set()
            self._told()

    async def _send(self, lines: list[bytes]) -> None:
        async with self._writing:
            for line in lines:
                self._stopwatch.sent(line)
                with suppress(trio.BrokenResourceError):  # it has ended, which `listen` tells
                    await self._to_engine.send_all(line)


async def play_columns(
    columns: tuple[Column, ...],
    script: tuple[Scene, ...],
    speed: float,
    directory: Path,
    told: Callable[[Column], None],
) -> list[Result]:
    """Play the script once for every column, side by side; return what each came to.

    Args:
        columns: with what in front of the engine.
        script: what the people do.
        speed: seconds of engine time in a real second.
        directory: gets every column's log and standard error.
        told: called for each request that ends.

    Raises:
        DemoError: one of them could not be played to its end.
    """
    results: dict[str, Result] = {}
    failures: list[DemoError] = []
    async with trio.open_nursery() as nursery:

        async def play(column: Column) -> None:
            try:
                results[column.name] = await _play(column, script, speed, directory, told)
            except DemoError as failure:
                failures.append(failure)
                nursery.cancel_scope.cancel()

        for column in columns:
            nursery.start_soon(play, column)
    if failures:
        raise failures[0]
    return [results[column.name] for column in columns]


async def _play(
    column: Column,
    script: tuple[Scene, ...],
    speed: float,
    directory: Path,
    told: Callable[[Column], None],
) -> Result:
    log, errors = directory / f"{column.name}.log", directory / f"{column.name}.stderr"
    failure = "it took too long"
    over = False
    async with _slotd(column, speed, log, errors) as process:
        clients = _Clients(process, speed, lambda: told(column))
        with trio.move_on_after(_PATIENCE_S + _PATIENCE_ENGINE_S / speed):
            async with trio.open_nursery() as nursery:

                async def listen() -> None:
                    nonlocal failure
                    try:
                        await clients.listen()
                    except DemoError as told_by_engine:
                        failure = str(told_by_engine)
                        nursery.cancel_scope.cancel()

                nursery.start_soon(listen)
                await clients.play(script)
                over = True
                nursery.cancel_scope.cancel()
    if not over:
        raise DemoError(f"{column.title}: {failure} (see {errors} and {log})")
    return Result(column, clients.turns(parks_ms(log)), str(log))


@asynccontextmanager
async def _slotd(
    column: Column, speed: float, log: Path, errors: Path
) -> AsyncIterator[trio.Process]:
    """Start slotd with an engine; end both at the end of the block, however that comes."""
    with tempfile.TemporaryDirectory(prefix="slotd-demo-") as scratch:
        config = Path(scratch, "slotd.toml")
        with _fresh_files(config, configuration(speed), log, errors) as error_file:
            process = await trio.lowlevel.open_process(
                command(column, config, log, speed),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=error_file,
                env=environment(column, os.environ),
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with trio.CancelScope(shield=True):
                await _end(process)


def _fresh_files(config: Path, settings: str, log: Path, errors: Path) -> BinaryIO:
    """Write the configuration, empty the log, and open the file of standard error."""
    try:
        config.write_text(settings)
        log.write_bytes(b"")
        return errors.open("wb")
    except OSError as error:
        raise DemoError(f"{error.filename}: cannot be written: {error.strerror}") from None


async def _end(process: trio.Process) -> None:
    """Close slotd's pipes; ask it to end and then make it, where that is not enough."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            await stream.aclose()
    for insist in (process.terminate, process.kill):
        with trio.move_on_after(_END_S):
            await process.wait()
        if process.returncode is None:
            insist()
    await process.wait()
