"""The small rules of host mode, without processes."""

import errno
import math
import select
import socket
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from slotd.config.errors import ConfigurationError
from slotd.core.events import Event
from slotd.daemon.backoff import LONGEST_S, Backoff
from slotd.daemon.client import Client, Stoppable
from slotd.daemon.connections import serve_connections
from slotd.daemon.desk import GRACE_S, Desk
from slotd.daemon.doors import Door, open_door
from slotd.daemon.latency import BOUNDS_S, Latency
from slotd.daemon.memory import MOST, EventMemory


def test_backoff_doubles_up_to_its_longest() -> None:
    backoff = Backoff(1)
    delays = []
    assert backoff.delay_s == 0
    for _ in range(9):
        backoff.died(served_s=0)
        delays.append(backoff.delay_s)
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_backoff_begins_anew_after_an_engine_that_served() -> None:
    backoff = Backoff(1)
    for _ in range(5):
        backoff.died(served_s=LONGEST_S - 1)
    backoff.died(served_s=LONGEST_S)
    assert backoff.delay_s == 1
    backoff.died(served_s=0)
    assert backoff.delay_s == 2
    backoff.ended()
    assert backoff.delay_s == 0


def test_backoff_can_be_off_and_never_overflows() -> None:
    backoff = Backoff(0)
    for _ in range(5000):
        backoff.died(served_s=0)
    assert backoff.delay_s == 0


def test_latency_counts_into_cumulative_buckets() -> None:
    latency = Latency()
    for seconds in (0.00005, 0.0001, 0.0003, 7.0):
        latency.add(seconds)
    buckets = latency.buckets()
    assert list(map(float, buckets)) == [*BOUNDS_S, math.inf]
    assert (buckets["0.0001"], buckets["0.00025"], buckets["0.0005"]) == (2, 2, 3)
    assert (buckets["5.0"], buckets["+Inf"], latency.count) == (3, 4, 4)
    assert latency.sum_s == pytest.approx(7.00045)


def test_memory_keeps_the_last_events_without_tables_or_debug() -> None:
    memory = EventMemory(unix_time=lambda: 0.0)
    memory.add(Event("cache_source", "debug", {}))
    for number in range(MOST + 5):
        memory.add(Event("place", "info", {"request": number, "table": {"slots": []}}))
    records = memory.records()
    assert len(records) == MOST
    assert records[-1] == {
        "ts": "1970-01-01T00:00:00.000Z",
        "level": "info",
        "event": "place",
        "request": MOST + 4,
    }


async def test_a_stopped_stream_ends_and_loses_nothing_that_was_read() -> None:
    near, far = memory_stream_pair()
    stream = Stoppable(near)
    await far.send_all(b"read")
    assert await stream.receive_some() == b"read"
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            assert await stream.receive_some() == b""

        nursery.start_soon(end)
        await trio.testing.wait_all_tasks_blocked()
        stream.stop()
    await far.send_all(b"more")
    assert await stream.receive_some() == b""


class People:
    """Clients on socket pairs; the other ends are held here."""

    def __init__(self) -> None:
        self.ends: dict[int, socket.socket] = {}
        self._clients: list[Client] = []

    def client(self, pid: int) -> Client:
        here, self.ends[pid] = socket.socketpair()
        self._clients.append(Client(here, None, pid))
        return self._clients[-1]

    async def leave(self) -> None:
        for end in self.ends.values():
            end.close()
        for client in self._clients:
            await client.cut()


@pytest.fixture
async def people() -> AsyncIterator[People]:
    people = People()
    yield people
    await people.leave()


async def test_one_is_served_and_one_waits_while_that_one_leaves(
    people: People, autojump_clock: MockClock
) -> None:
    desk = Desk()
    first, second, third = map(people.client, (1, 2, 3))
    assert await desk.take_in(first) is None
    assert await desk.next() is first
    before = trio.current_time()
    refusal = await desk.take_in(second)
    assert refusal == "another client (process 1) is attached: end it first"
    assert trio.current_time() - before >= GRACE_S
    people.ends[1].shutdown(socket.SHUT_WR)
    assert await desk.take_in(second) is None
    refusal = await desk.take_in(third)
    assert refusal == "another client (process 2) waits to be served: end it first"
    assert await desk.next() is second


async def test_one_that_waited_and_went_is_not_served(
    people: People, autojump_clock: MockClock
) -> None:
    desk = Desk()
    first, second = people.client(1), people.client(2)
    assert await desk.take_in(first) is None
    people.ends[1].close()
    assert await desk.take_in(second) is None
    assert await desk.next() is second


async def test_a_client_that_is_about_to_leave_is_given_a_moment(
    people: People, autojump_clock: MockClock
) -> None:
    desk = Desk()
    first, second = people.client(1), people.client(2)
    assert await desk.take_in(first) is None
    assert await desk.next() is first
    async with trio.open_nursery() as nursery:

        async def come() -> None:
            assert await desk.take_in(second) is None

        nursery.start_soon(come)
        await trio.sleep(GRACE_S / 2)
        people.ends[1].close()
    assert await desk.next() is second


async def test_a_closed_desk_serves_and_takes_in_nobody(
    people: People, autojump_clock: MockClock
) -> None:
    desk = Desk()
    async with trio.open_nursery() as nursery:

        async def nobody_comes() -> None:
            assert await desk.next() is None

        nursery.start_soon(nobody_comes)
        nursery.start_soon(desk.sleep, 1e9)
        await trio.testing.wait_all_tasks_blocked()
        desk.close()
    assert trio.current_time() < 1e6
    refusal = await desk.take_in(people.client(1))
    assert refusal == "slotd is stopping: attach again when it is back"


async def test_the_chair_of_one_who_went_is_taken_by_one_only(
    people: People, autojump_clock: MockClock
) -> None:
    desk = Desk()
    served, gone, second, third = map(people.client, (1, 2, 3, 4))
    assert await desk.take_in(served) is None
    assert await desk.next() is served
    people.ends[1].shutdown(socket.SHUT_WR)
    assert await desk.take_in(gone) is None
    people.ends[2].close()
    answers: list[str | None] = []
    async with trio.open_nursery() as nursery:

        async def come(client: Client) -> None:
            answers.append(await desk.take_in(client))

        nursery.start_soon(come, second)
        nursery.start_soon(come, third)
    assert answers.count(None) == 1
    assert desk.waiting in (second, third)


async def test_connections_past_the_limit_are_left_outside(tmp_path: Path) -> None:
    inside = 0
    come_in, came_in = trio.open_memory_channel[None](9)
    go_on = trio.Event()

    async def serve(connection: socket.socket) -> None:
        nonlocal inside
        inside += 1
        with connection:
            await come_in.send(None)
            await go_on.wait()

    with ExitStack() as crowd:
        listening = crowd.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(tmp_path / "door"))
        listening.listen(5)
        for _ in range(3):
            crowd.enter_context(socket.socket(socket.AF_UNIX)).connect(str(tmp_path / "door"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_connections, listening, serve, 2)
            await came_in.receive()
            await came_in.receive()
            await trio.testing.wait_all_tasks_blocked()
            assert inside == 2
            assert select.select([listening], [], [], 0)[0]  # the third is not taken in
            go_on.set()
            await came_in.receive()
            nursery.cancel_scope.cancel()


def test_of_many_that_find_a_left_over_socket_one_has_it(tmp_path: Path) -> None:
    path = str(tmp_path / "engine.sock")
    together = threading.Barrier(4)

    def open_one() -> Door | str:
        together.wait()
        try:
            return open_door(path, "host.socket")
        except ConfigurationError as refusal:
            return str(refusal)

    with ThreadPoolExecutor(4) as slotds:
        for _ in range(40):
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(path)
            opened = [each.result() for each in [slotds.submit(open_one) for _ in range(4)]]
            (door,) = [one for one in opened if isinstance(one, Door)]
            assert all(one is door or "another process listens there" in str(one) for one in opened)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
            door.close()


def test_a_file_system_without_locks_holds_up_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(descriptor: int, operation: int) -> None:
        raise OSError(errno.EBADF, "as one on a network says")

    def waits(seconds: float) -> None:
        pytest.fail("it waits for a lock nobody has")

    monkeypatch.setattr("slotd.daemon.doors.fcntl.flock", cannot)
    monkeypatch.setattr("slotd.daemon.doors.time.sleep", waits)
    door = open_door(str(tmp_path / "engine.sock"), "host.socket")
    assert Path(door.path).is_socket()
    door.close()
