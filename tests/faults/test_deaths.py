"""The engine, the client, or both gone at every line of a conversation in turn."""

from collections import Counter
from pathlib import Path
from typing import Any

import trio
from attrs import frozen

from tests.clients.chosen import unchosen_lines
from tests.clients.reference import engine_command
from tests.clients.slotd import alarms, behind_slotd, named, read_log
from tests.faults.conversation import ENGINE, ENVIRONMENT, MAX_NEW, converse
from tests.faults.talk import Talk, talking

AT_ONCE = 4
"""Conversations at a time, for the sake of the cores."""

TOLD_FOR = {
    b"INFO": "engine_info",
    b"READY": "engine_ready",
    b"CACHE_SOURCE": "cache_source",
    b"PARKED": "parked",
    b"BDONE": "slot_done",
    b"BADM": "admitted",
}
"""The event that tells of each of these lines."""


@frozen
class Cut:
    """A conversation that came to an early end, and what it left."""

    at: int
    talk: Talk
    status: int
    events: list[dict[str, Any]]
    errors: str
    received: bytes
    """What the engine's side got, where that was kept."""


async def cut_short(
    directory: Path,
    at: int,
    engine_dies: bool = False,
    client_leaves: bool = False,
) -> Cut:
    """Have the conversation with one or both gone after `at` lines of the engine."""
    log, errors, received = (directory / f"{name}-{at}" for name in ("log", "errors", "received"))
    engine = engine_command(*ENGINE, *(["--die-after", str(at)] if engine_dies else []))
    if not engine_dies:
        engine = ["sh", "-c", 'tee -p "$0" | "$@"', str(received), *engine]
    leaves_after = at if client_leaves else None
    command = behind_slotd(engine, log)
    async with talking(command, ENVIRONMENT, errors, leaves_after) as talk:
        whole = await converse(talk)
        status = await (talk.end() if whole or not client_leaves else talk.leave())
        got = b"" if engine_dies else received.read_bytes()
        return Cut(at, talk, status, read_log(log), errors.read_text(), got)


async def at_every_line(directory: Path, engine_dies: bool, client_leaves: bool) -> list[Cut]:
    """Cut the conversation at each of its lines, the last one excepted."""
    whole = await cut_short(directory, 10_000)
    assert whole.talk.check_tokens() == MAX_NEW
    assert whole.status == 0
    assert {"parked", "slot_done", "admitted"} <= {event["event"] for event in whole.events}
    lines = len(whole.talk.heard)
    assert lines > 25
    limiter, cuts = trio.CapacityLimiter(AT_ONCE), list[Cut]()

    async def run(at: int) -> None:
        async with limiter:
            cuts.append(await cut_short(directory, at, engine_dies, client_leaves))

    async with trio.open_nursery() as nursery:
        for at in range(1, lines):
            nursery.start_soon(run, at)
    for cut in cuts:
        cut.talk.check_tokens()
        assert "Traceback" not in cut.errors
        assert [event for event in alarms(cut.events) if event.get("where") != "engine"] == []
        assert len(named(cut.events, "engine_exit")) == 1
    return cuts


def closed(cut: Cut) -> set[str]:
    """The streams that slotd says were closed."""
    return {event["stream"] for event in named(cut.events, "stream_closed")}


async def test_the_engine_dies_at_every_line(tmp_path: Path) -> None:
    for cut in await at_every_line(tmp_path, engine_dies=True, client_leaves=False):
        # Every line it has printed arrives, and nothing else does.
        assert len(cut.talk.heard) == cut.at
        assert cut.talk.unfinished == b""
        assert cut.status == 1
        assert named(cut.events, "engine_exit")[0]["status"] == 1
        assert "engine_out" in closed(cut)
        # What is told is what has passed.
        heard = Counter(line.split()[0] for line in cut.talk.heard)
        told = Counter(event["event"] for event in cut.events)
        assert {verb: told[event] for verb, event in TOLD_FOR.items()} == {
            verb: heard[verb] for verb in TOLD_FOR
        }


async def test_the_client_dies_at_every_line(tmp_path: Path) -> None:
    for cut in await at_every_line(tmp_path, engine_dies=False, client_leaves=True):
        assert len(cut.talk.heard) == cut.at
        # Everything the client had said reaches the engine, which ends as it would without slotd:
        # by the end of its input, or because nobody reads it any more.
        assert unchosen_lines(cut.received) == unchosen_lines(cut.talk.said)
        assert cut.status in (0, 1)
        assert "client_in" in closed(cut) or "client_out" in closed(cut)


async def test_both_die_at_every_line(tmp_path: Path) -> None:
    for cut in await at_every_line(tmp_path, engine_dies=True, client_leaves=True):
        assert len(cut.talk.heard) == cut.at
        assert cut.status == 1
