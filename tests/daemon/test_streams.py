"""Descriptors as streams: which kind each is given, and how each of them ends."""

import os
import socket
import tempfile
from collections.abc import Iterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from slotd.daemon.streams import (
    PolledReader,
    PolledWriter,
    ThreadedReader,
    ThreadedWriter,
    standard_input,
    standard_output,
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose ends the test may have closed."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def non_blocking(descriptor: int) -> int:
    os.set_blocking(descriptor, False)
    return descriptor


async def test_a_pipe_is_polled(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    incoming, outgoing = standard_input(reads), standard_output(writes)
    assert isinstance(incoming, PolledReader)
    assert isinstance(outgoing, PolledWriter)
    await outgoing.send_all(b"VRAM\n")
    assert await incoming.receive_some() == b"VRAM\n"
    await outgoing.aclose()
    assert await incoming.receive_some() == b""
    await incoming.aclose()


async def test_what_may_not_be_opened_again_is_read_and_written_in_threads(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, _flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    incoming, outgoing = standard_input(pipe[0]), standard_output(pipe[1])
    monkeypatch.undo()
    assert isinstance(incoming, ThreadedReader)
    assert isinstance(outgoing, ThreadedWriter)
    data = b"7," * 500_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outgoing.send_all, data)
        got = b""
        while len(got) < len(data):
            got += await incoming.receive_some()
    assert got == data
    await outgoing.aclose()
    assert await incoming.receive_some() == b""
    await incoming.aclose()


async def test_a_thread_waits_for_a_descriptor_somebody_made_non_blocking(
    pipe: tuple[int, int],
) -> None:
    reads, writes = pipe
    outgoing, incoming = ThreadedWriter(non_blocking(writes)), PolledReader(non_blocking(reads))
    data = b"7," * 500_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outgoing.send_all, data)
        got = b""
        while len(got) < len(data):
            got += await incoming.receive_some()
    assert got == data
    await incoming.aclose()
    with pytest.raises(trio.BrokenResourceError):
        await outgoing.send_all(b"more")
    await outgoing.aclose()


async def test_a_regular_file_is_read_and_written_in_threads() -> None:
    with tempfile.TemporaryFile() as file:
        outgoing = standard_output(os.dup(file.fileno()))
        assert isinstance(outgoing, ThreadedWriter)
        await outgoing.send_all(b"READY 9\n")
        file.seek(0)
        incoming = standard_input(os.dup(file.fileno()))
        assert isinstance(incoming, ThreadedReader)
        assert await incoming.receive_some() == b"READY 9\n"
        assert await incoming.receive_some() == b""
        await incoming.aclose()
        await outgoing.aclose()


async def test_a_socket_keeps_its_flags_and_tells_its_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        incoming = standard_input(os.dup(theirs.fileno()))
        outgoing = standard_output(os.dup(theirs.fileno()))
        async with trio.open_nursery() as nursery:
            received: list[bytes] = []

            async def receive() -> None:
                received.append(bytes(await incoming.receive_some()))

            nursery.start_soon(receive)
            await wait_all_tasks_blocked()
            ours.sendall(b"STOP\n")
        assert received == [b"STOP\n"]
        assert os.get_blocking(theirs.fileno())
        await outgoing.send_all(b"T 1\n")
        assert ours.recv(4) == b"T 1\n"
        ours.close()
        assert await incoming.receive_some() == b""
        await incoming.aclose()
        await outgoing.aclose()


async def test_a_reader_that_waits_is_woken_to_end_with_what_is_there(
    pipe: tuple[int, int],
) -> None:
    incoming = PolledReader(non_blocking(pipe[0]))
    received: list[bytes] = []

    async def receive() -> None:
        while data := await incoming.receive_some(4):
            received.append(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        incoming.end_with_what_is_there()  # the other end is still open
    assert received == []
    await incoming.aclose()


async def test_what_is_written_after_the_end_was_set_is_not_read(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    incoming = PolledReader(non_blocking(reads))
    os.write(writes, b"the last words")
    incoming.end_with_what_is_there()
    os.write(writes, b" of somebody else")
    got = [await incoming.receive_some(9) for _ in range(3)]
    assert got == [b"the last ", b"words", b""]
    await incoming.aclose()
    incoming.end_with_what_is_there()  # nothing to end any more


async def test_reading_and_writing_what_is_closed_is_refused(pipe: tuple[int, int]) -> None:
    incoming, outgoing = PolledReader(non_blocking(pipe[0])), PolledWriter(non_blocking(pipe[1]))
    await incoming.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await incoming.receive_some()
    with pytest.raises(trio.BrokenResourceError):
        await outgoing.send_all(b"1")
    await outgoing.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await outgoing.send_all(b"1")
    await incoming.aclose()
    await outgoing.aclose()


async def test_a_fast_sender_leaves_other_tasks_their_turn(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    incoming = PolledReader(non_blocking(reads))
    os.write(writes, bytes(1000))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        for _ in range(100):
            await incoming.receive_some(10)
        nursery.cancel_scope.cancel()
    assert turns >= 99
    await incoming.aclose()
