"""The relay on memory streams: both directions, their ends, and who holds up whom."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from attrs import define, field
from trio.abc import ReceiveStream, SendStream
from trio.testing import (
    MemoryReceiveStream,
    MemorySendStream,
    MockClock,
    lockstep_stream_one_way_pair,
    memory_stream_one_way_pair,
    wait_all_tasks_blocked,
)

from slotd.core.events import Event
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.daemon.lane import MOST_WAITING
from slotd.daemon.relay import READ_FROM_ENGINE, Translator, relay
from tests.daemon.doubles import Causing, Crossing, Holding, Plain, Unfinished


@define
class Wires:
    """Both outer ends of a relay: what a client and an engine hold."""

    client_writes: SendStream
    client_reads: ReceiveStream
    engine_reads: ReceiveStream
    engine_writes: SendStream
    events: list[Event] = field(factory=list)
    ended: trio.Event = field(factory=trio.Event)

    def closed(self) -> list[object]:
        return [e.fields["stream"] for e in self.events if e.name == "stream_closed"]


Pair = Callable[[], tuple[SendStream, ReceiveStream]]


@asynccontextmanager
async def relaying(
    sidecar: Translator, pair: Pair = memory_stream_one_way_pair, ends: trio.Event | None = None
) -> AsyncIterator[Wires]:
    """Run a relay between two pairs of streams; `ends` is set when the engine's process is gone."""
    client_writes, client_in = pair()
    client_out, client_reads = pair()
    engine_in, engine_reads = pair()
    engine_writes, engine_out = pair()
    wires = Wires(client_writes, client_reads, engine_reads, engine_writes)

    async def run() -> None:
        await relay(
            client_in=client_in,
            client_out=client_out,
            engine_in=engine_in,
            engine_out=engine_out,
            sidecar=sidecar,
            clock=trio.current_time,
            log=wires.events.append,
            engine_ended=None if ends is None else ends.wait,
        )
        wires.ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield wires
        nursery.cancel_scope.cancel()


async def read(stream: ReceiveStream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = await stream.receive_some(count - len(data))
        assert more, f"ended after {data!r}"
        data += more
    return data


async def read_all(stream: ReceiveStream) -> bytes:
    return b"".join([bytes(data) async for data in stream])


async def test_both_directions_pass_and_the_sidecar_is_told_the_time(
    autojump_clock: MockClock,
) -> None:
    plain = Plain()
    async with relaying(plain) as wires:
        start = trio.current_time()
        await wires.client_writes.send_all(b"GEN 1 5\n")
        assert await read(wires.engine_reads, 8) == b"GEN 1 5\n"
        await trio.sleep(30)
        await wires.engine_writes.send_all(b"T 9\n")
        assert await read(wires.client_reads, 4) == b"T 9\n"
    assert [(who, data) for who, data, _ in plain.told] == [
        ("client", b"GEN 1 5\n"),
        ("engine", b"T 9\n"),
    ]
    assert plain.told[0][2] == start
    assert plain.told[1][2] == start + 30


async def test_the_clients_end_reaches_the_engine_after_its_unfinished_line() -> None:
    async with relaying(Unfinished()) as wires:
        await wires.client_writes.send_all(b"VRAM\nGEN 1 5")
        await wires.client_writes.aclose()
        assert await read_all(wires.engine_reads) == b"VRAM\nGEN 1 5"
        assert not wires.ended.is_set()
        await wires.engine_writes.send_all(b"T 9\n")  # it has all the time it needs
        assert await read(wires.client_reads, 4) == b"T 9\n"
        await wires.engine_writes.aclose()
        assert await read_all(wires.client_reads) == b""
        await wires.ended.wait()
    assert [e.name for e in wires.events if e.name != "stream_closed"] == [
        "client_end",
        "engine_end",
    ]
    assert wires.closed() == ["client_in", "engine_out"]


async def test_the_clients_end_waits_for_what_the_sidecar_holds() -> None:
    async with relaying(Holding()) as wires:
        await wires.client_writes.send_all(b"GEN 1 5\n")
        await wires.client_writes.aclose()
        await wait_all_tasks_blocked()
        assert wires.closed() == ["client_in"]
        await wires.engine_writes.send_all(b"T 9\n")
        assert await read_all(wires.engine_reads) == b"at last\n"


@pytest.mark.parametrize("end", ["engine", "client"])
async def test_it_does_not_wait_for_what_the_sidecar_will_never_hear(end: str) -> None:
    async with relaying(Holding()) as wires:
        await wires.client_writes.send_all(b"GEN 1 5\n")
        await wires.client_writes.aclose()
        await wait_all_tasks_blocked()
        if end == "engine":
            await wires.engine_writes.aclose()
        else:
            await wires.client_reads.aclose()
            await wires.engine_writes.send_all(b"BT 1 9\n")
        assert await read_all(wires.engine_reads) == b""
        await wires.ended.wait()


async def test_the_engines_last_words_reach_the_client_before_its_end() -> None:
    async with relaying(Unfinished()) as wires:
        await wires.engine_writes.send_all(b"T 1\nERR out of mem")
        await wires.engine_writes.aclose()
        assert await read_all(wires.client_reads) == b"T 1\nERR out of mem"


async def test_an_engine_that_closed_its_output_still_gets_lines_until_its_process_ends() -> None:
    gone = trio.Event()
    async with relaying(Plain(), ends=gone) as wires:
        await wires.engine_writes.aclose()
        assert await read_all(wires.client_reads) == b""
        await wires.client_writes.send_all(b"STOP\n")
        assert await read(wires.engine_reads, 5) == b"STOP\n"
        assert not wires.ended.is_set()
        gone.set()
        await wires.ended.wait()


async def test_the_process_ending_ends_the_relay_only_after_everything_is_delivered() -> None:
    gone = trio.Event()
    gone.set()
    async with relaying(Plain(), lockstep_stream_one_way_pair, gone) as wires:
        async with trio.open_nursery() as nursery:

            async def engine() -> None:
                await wires.engine_writes.send_all(b"last words\n")
                await wires.engine_writes.aclose()

            nursery.start_soon(engine)
            await wait_all_tasks_blocked()
            assert not wires.ended.is_set()
            assert await read_all(wires.client_reads) == b"last words\n"
        await wires.ended.wait()


async def test_a_client_that_stops_reading_closes_the_engines_output_and_nothing_else() -> None:
    async with relaying(Plain()) as wires:
        assert isinstance(wires.client_reads, MemoryReceiveStream)
        wires.client_reads.close()
        await wires.engine_writes.send_all(b"T 1\n")
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BrokenResourceError):
            await wires.engine_writes.send_all(b"T 2\n")
        await wires.client_writes.send_all(b"QUIT\n")
        assert await read(wires.engine_reads, 5) == b"QUIT\n"
        assert wires.closed() == ["client_out"]


async def test_what_lines_tell_is_told_when_nobody_takes_them_any_more() -> None:
    async with relaying(Sidecar(SidecarSettings())) as wires:
        assert isinstance(wires.client_reads, MemoryReceiveStream)
        await wires.engine_writes.send_all(b"INFO batch_slots=4\nREADY 999 stop\n")
        await wait_all_tasks_blocked()
        wires.client_reads.close()
        await wires.engine_writes.send_all(b"BT 2 6\n")
        await wait_all_tasks_blocked()
        assert [event.name for event in wires.events][-2:] == ["drift", "stream_closed"]


async def test_an_engine_that_stops_reading_closes_the_clients_input_and_nothing_else() -> None:
    async with relaying(Plain()) as wires:
        assert isinstance(wires.engine_reads, MemoryReceiveStream)
        wires.engine_reads.close()
        await wires.client_writes.send_all(b"GEN 1 5\n")
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BrokenResourceError):
            await wires.client_writes.send_all(b"STOP\n")
        await wires.engine_writes.send_all(b"T 1\n")
        assert await read(wires.client_reads, 4) == b"T 1\n"
        assert wires.closed() == ["engine_in"]


class BreakingReceiver(ReceiveStream):
    """A terminal that hangs up."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        raise trio.BrokenResourceError("hung up")

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def breaking_pair() -> tuple[SendStream, ReceiveStream]:
    return memory_stream_one_way_pair()[0], BreakingReceiver()


async def test_a_source_that_breaks_has_ended() -> None:
    pairs = iter([breaking_pair, *[memory_stream_one_way_pair] * 3])
    async with relaying(Plain(), lambda: next(pairs)()) as wires:
        assert await read_all(wires.engine_reads) == b""


async def test_a_client_that_does_not_read_holds_up_the_engine_and_not_itself() -> None:
    async with relaying(Plain(), lockstep_stream_one_way_pair) as wires:
        sent = 0

        async def engine() -> None:
            nonlocal sent
            while True:
                await wires.engine_writes.send_all(b"BT 1 2\n" * READ_FROM_ENGINE)
                sent += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine)
            await wait_all_tasks_blocked()
            assert sent == 0  # not even its first, which is longer than one read
            nursery.start_soon(wires.client_writes.send_all, b"STOP\n")
            assert await read(wires.engine_reads, 5) == b"STOP\n"
            assert await read(wires.client_reads, 7) == b"BT 1 2\n"
            nursery.cancel_scope.cancel()


async def test_a_long_write_to_the_engine_does_not_hold_up_its_output() -> None:
    async with (
        relaying(Plain(), lockstep_stream_one_way_pair) as wires,
        trio.open_nursery() as nursery,
    ):
        prompt = b"1" * 1_800_000
        nursery.start_soon(wires.client_writes.send_all, prompt)
        await wait_all_tasks_blocked()  # the relay is in the middle of writing it
        for token in range(100):
            line = b"T %d\n" % token
            nursery.start_soon(wires.engine_writes.send_all, line)
            assert await read(wires.client_reads, len(line)) == line
        assert await read(wires.engine_reads, len(prompt)) == prompt


async def test_crossing_writes_keep_the_order_of_the_decisions() -> None:
    async with (
        relaying(Crossing(), lockstep_stream_one_way_pair) as wires,
        trio.open_nursery() as nursery,
    ):
        # The engine reads nothing as yet: what it causes must wait behind what the client wrote
        # and must not keep its own lines from the client.
        nursery.start_soon(wires.client_writes.send_all, b"1\n")
        assert await read(wires.client_reads, 12) == b"answer to 1\n"
        for line in (b"2\n", b"3\n"):
            nursery.start_soon(wires.engine_writes.send_all, line)
            assert await read(wires.client_reads, 4) == b"e:" + line
        expected = b"c:1\nbecause of 2\nbecause of 3\n"
        assert await read(wires.engine_reads, len(expected)) == expected


async def test_an_engine_that_does_not_read_what_it_causes_is_waited_for_in_the_end(
    autojump_clock: MockClock,
) -> None:
    """Otherwise what waits for it would grow with all it prints."""
    async with (
        relaying(Causing(bytes_each=MOST_WAITING // 2 + 1), lockstep_stream_one_way_pair) as wires,
        trio.open_nursery() as nursery,
    ):
        for line in (b"1\n", b"2\n"):
            nursery.start_soon(wires.engine_writes.send_all, line)
            assert await read(wires.client_reads, 2) == line
        nursery.start_soon(wires.engine_writes.send_all, b"3\n")
        with trio.move_on_after(1):  # of the test's own clock
            await wires.client_reads.receive_some(2)
            raise AssertionError("a third line was taken")
        assert len(await read(wires.engine_reads, MOST_WAITING + 2)) == MOST_WAITING + 2
        assert await read(wires.client_reads, 2) == b"3\n"
        nursery.cancel_scope.cancel()


async def test_with_the_real_sidecar_a_slot_is_chosen_and_mapped_back() -> None:
    info = b"INFO batch_slots=4 slot_cache=1 batch_groups=2 slot_padding_safe=1\nREADY 9999 stop\n"
    async with relaying(Sidecar(SidecarSettings())) as wires:
        await wires.engine_writes.send_all(info)
        assert await read(wires.client_reads, len(info)) == info
        await wires.client_writes.send_all(b"BGEN 3 5 1,2,3\n")
        assert await read(wires.engine_reads, 22) == b"BGEN 0 5 slot=0 1,2,3\n"
        await wires.engine_writes.send_all(b"RESUME 0\nT 7\nDONE 1 3 1 1 length 0 0 0\nBADM 0 1\n")
        await read(wires.client_reads, len(b"RESUME 0\nT 7\nDONE 1 3 1 1 length 0 0 0\n"))
        assert await read(wires.client_reads, 9) == b"BADM 3 1\n"
    names = [event.name for event in wires.events]
    assert names == ["engine_info", "engine_ready", "place", "admitted"]


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
async def test_any_chunking_of_the_same_bytes_gives_the_same_bytes(size: int) -> None:
    lines = b"INFO batch_slots=2 slot_cache=1\nREADY 9999\n" + b"BT 1 5\n\xff\0\r\n" * 40 + b"BT 1"
    async with relaying(Sidecar(SidecarSettings())) as wires:
        assert isinstance(wires.engine_writes, MemorySendStream)
        for start in range(0, len(lines), size):
            await wires.engine_writes.send_all(lines[start : start + size])
        wires.engine_writes.close()
        assert await read_all(wires.client_reads) == lines
