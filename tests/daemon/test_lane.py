"""A lane by itself: order, who waits, and what becomes of it when nobody reads."""

import pytest
import trio
from trio.testing import (
    lockstep_stream_one_way_pair,
    memory_stream_one_way_pair,
    wait_all_tasks_blocked,
)

from slotd.daemon.lane import MOST_WAITING, Lane


async def test_what_is_put_is_written_in_order_whoever_writes_it() -> None:
    sender, receiver = memory_stream_one_way_pair()
    lane = Lane(sender)
    async with trio.open_nursery() as nursery:
        lane.put([b"1", b"2"])
        lane.drain_soon(nursery)
        lane.put([b"3"])
        await lane.flush()
        lane.put([b"4"])
        lane.drain_soon(nursery)
    assert await receiver.receive_some(99) == b"1234"


async def test_flush_waits_until_its_own_bytes_are_written() -> None:
    sender, receiver = lockstep_stream_one_way_pair()
    lane = Lane(sender)
    flushed = False

    async def flush() -> None:
        nonlocal flushed
        await lane.flush()
        flushed = True

    async with trio.open_nursery() as nursery:
        lane.put([b"first"])
        lane.drain_soon(nursery)
        await wait_all_tasks_blocked()
        lane.put([b"second"])
        nursery.start_soon(flush)
        assert await receiver.receive_some(5) == b"first"
        assert await receiver.receive_some(3) == b"sec"
        await wait_all_tasks_blocked()
        assert not flushed
        assert await receiver.receive_some(3) == b"ond"
    assert flushed


async def test_the_other_direction_waits_only_when_memory_is_at_stake() -> None:
    sender, receiver = lockstep_stream_one_way_pair()
    lane = Lane(sender)
    async with trio.open_nursery() as nursery:
        lane.put([bytes(MOST_WAITING)])
        lane.drain_soon(nursery)
        await lane.settle()  # would hang if it waited: nobody reads
        lane.put([b"one too many"])
        settled = trio.Event()

        async def settle() -> None:
            await lane.settle()
            settled.set()

        nursery.start_soon(settle)
        await wait_all_tasks_blocked()
        assert not settled.is_set()
        left = MOST_WAITING + len(b"one too many")
        while left:
            left -= len(await receiver.receive_some(left))
        await settled.wait()


async def test_a_broken_stream_is_told_to_its_own_direction_only() -> None:
    sender, receiver = memory_stream_one_way_pair()
    receiver.close()
    lane = Lane(sender)
    async with trio.open_nursery() as nursery:
        lane.put([b"1"])
        lane.drain_soon(nursery)
    await lane.settle()
    with pytest.raises(trio.BrokenResourceError):
        await lane.flush()
    lane.put([b"2"])
    await lane.aclose()


class Broken(trio.abc.SendStream):
    """Nobody reads it."""

    tried = 0

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.tried += 1
        raise trio.BrokenResourceError

    async def wait_send_all_might_not_block(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_what_comes_after_a_stream_broke_is_not_kept() -> None:
    stream = Broken()
    lane = Lane(stream)
    for data in (b"1", b"2"):
        lane.put([data])
        with pytest.raises(trio.BrokenResourceError):
            await lane.flush()
    assert (stream.tried, lane.ended) == (1, True)


async def test_closing_writes_what_is_queued_and_drops_what_comes_later() -> None:
    sender, receiver = memory_stream_one_way_pair()
    lane = Lane(sender)
    lane.put([b"1"])
    await lane.aclose()
    lane.put([b"2"])
    assert [bytes(data) async for data in receiver] == [b"1"]
