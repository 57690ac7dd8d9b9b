"""Descriptors as trio streams, without changing a flag somebody else may see.

Whether reads and writes block is a flag of the open file, not of the descriptor: slotd's standard
input, output and error may be one terminal, and be shared with the shell, the engine (standard
error) or a neighbour in a pipeline, who would get errors they never expect. So:

- pipes and terminals are opened a second time through /proc, which makes an open file of slotd's
  own, and that one is made non-blocking;
- sockets are read and written with MSG_DONTWAIT, which is a flag of the call;
- the rest (regular files, /dev/null, and whatever cannot be opened again) stays blocking and is
  read and written in threads, as the system has no readiness to report for it.

Here: those three, and the ends of the engine's pipes, which are slotd's own. Not here: what flows
through them (`slotd.daemon.relay`).
"""

import fcntl
import os
import select
import socket
import stat
import termios
from collections.abc import Callable
from functools import partial

import trio
from trio.abc import ReceiveStream, SendStream

MOST_READ = 1 << 16
"""Bytes read at once when nobody says how many."""

Data = bytes | bytearray | memoryview
Read = Callable[[int], bytes]
"""Takes the most bytes to return; raises BlockingIOError when there are none yet."""
Write = Callable[[memoryview], int]
"""Returns how many bytes were taken; raises BlockingIOError when none can be yet."""


class PolledReader(ReceiveStream):
    """The reading end of a pipe, terminal or socket that slotd reads without blocking."""

    def __init__(self, end: int | socket.socket) -> None:
        """Own `end`, a non-blocking descriptor or a socket."""
        self._end = end
        if isinstance(end, int):
            self._descriptor = end
            self._read: Read = partial(os.read, end)
        else:
            self._descriptor = end.fileno()
            self._read = lambda most: end.recv(most, socket.MSG_DONTWAIT)
        self._left: int | None = None
        self._emptied = False
        """The last read took all there was."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what is there, up to `max_bytes`; b"" at the end.

        Always a checkpoint, so that a fast sender cannot keep other tasks from running. Raises
        BrokenResourceError when it cannot be read any more (a terminal that hung up).
        """
        waited = False
        while True:
            self._check_open()
            most = max_bytes or MOST_READ
            if self._left is not None:
                most = min(most, self._left)
            # Right after a read that took everything there is nothing: that spares one in vain.
            if waited or not self._emptied or self._left is not None:
                try:
                    data = self._read(most) if most else b""
                    break
                except BlockingIOError:
                    if self._left is not None:  # somebody else has taken the rest
                        return b""
                except OSError as error:
                    raise trio.BrokenResourceError(str(error)) from error
            try:
                await trio.lowlevel.wait_readable(self._descriptor)
            except trio.ClosedResourceError:
                self._check_open()  # still open: told to end with what is there
            waited = True
        self._emptied = len(data) < most
        if self._left is not None:
            self._left -= len(data)
        if not waited:
            await trio.lowlevel.cancel_shielded_checkpoint()
        return data

    def end_with_what_is_there(self) -> None:
        """Make what is in the pipe now the last that is read.

        The engine has ended; a process it left behind may hold the other end open for ever.
        """
        if self._descriptor < 0:
            return
        answer = fcntl.ioctl(self._descriptor, termios.FIONREAD, b"\0" * 4)
        self._left = int.from_bytes(answer, "little")
        trio.lowlevel.notify_closing(self._descriptor)  # wakes whoever waits for more

    async def aclose(self) -> None:
        """Close it; the other side's next write fails."""
        if self._descriptor >= 0:
            self._descriptor = _close(self._end)
        await trio.lowlevel.checkpoint()

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise trio.ClosedResourceError("this stream is closed")


class PolledWriter(SendStream):
    """The writing end of a pipe, terminal or socket that slotd writes without blocking."""

    def __init__(self, end: int | socket.socket) -> None:
        """Own `end`, a non-blocking descriptor or a socket."""
        self._end = end
        if isinstance(end, int):
            self._descriptor = end
            self._write: Write = partial(os.write, end)
        else:
            self._descriptor = end.fileno()
            self._write = lambda data: end.send(data, socket.MSG_DONTWAIT)

    async def send_all(self, data: Data) -> None:
        """Write all of `data`.

        Only a checkpoint when it has to wait: whoever relays has one at every read, and a second
        one would double what a line costs. Raises BrokenResourceError when nobody reads it any
        more.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        rest = memoryview(data)
        while rest:
            if self._descriptor < 0:
                raise trio.ClosedResourceError("this stream is closed")
            try:
                rest = rest[self._write(rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._descriptor)
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until some bytes can be written."""
        await trio.lowlevel.wait_writable(self._descriptor)

    async def aclose(self) -> None:
        """Close it; the other side reads its end."""
        if self._descriptor >= 0:
            self._descriptor = _close(self._end)
        await trio.lowlevel.checkpoint()


class ThreadedReader(ReceiveStream):
    """What can only be read with blocking reads, in a thread."""

    def __init__(self, descriptor: int) -> None:
        """Own `descriptor`."""
        self._descriptor = descriptor

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what the next read gives, b"" at the end. A cancelled read is left to itself."""
        try:
            return await trio.to_thread.run_sync(
                os.read, self._descriptor, max_bytes or MOST_READ, abandon_on_cancel=True
            )
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error

    async def aclose(self) -> None:
        """Close it."""
        if self._descriptor >= 0:
            self._descriptor = _close(self._descriptor)
        await trio.lowlevel.checkpoint()


class ThreadedWriter(SendStream):
    """What can only be written with blocking writes, in a thread."""

    def __init__(self, descriptor: int) -> None:
        """Own `descriptor`."""
        self._descriptor = descriptor

    async def send_all(self, data: Data) -> None:
        """Write all of `data`. A cancelled write is left to itself.

        Raises BrokenResourceError when it cannot be written any more (a full disk counts).
        """
        try:
            await trio.to_thread.run_sync(
                _write_all, self._descriptor, data, abandon_on_cancel=True
            )
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error

    async def wait_send_all_might_not_block(self) -> None:
        """Return at once: the system cannot tell."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close it."""
        if self._descriptor >= 0:
            self._descriptor = _close(self._descriptor)
        await trio.lowlevel.checkpoint()


def standard_input(descriptor: int = 0) -> ReceiveStream:
    """Return the stream of what the client writes, which owns `descriptor` from now on."""
    own = _opened_again(descriptor)
    return ThreadedReader(descriptor) if own is None else PolledReader(own)


def standard_output(descriptor: int = 1) -> SendStream:
    """Return the stream of what the client reads, which owns `descriptor` from now on."""
    own = _opened_again(descriptor)
    return ThreadedWriter(descriptor) if own is None else PolledWriter(own)


def _opened_again(descriptor: int) -> int | socket.socket | None:
    """Return what `descriptor` is in a form that never blocks, and give that one up.

    None, and nothing is changed, when it is nothing that can be polled or may not be opened (a
    terminal or a pipe of another user).
    """
    own: int | socket.socket
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        own = socket.socket(fileno=os.dup(descriptor))
    elif stat.S_ISFIFO(mode) or os.isatty(descriptor):
        access = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        try:
            own = os.open(f"/proc/self/fd/{descriptor}", access | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return None
    else:
        return None
    _close(descriptor)
    return own


def _close(end: int | socket.socket) -> int:
    """Close `end` and return what stands for a closed descriptor.

    A standard one is replaced by /dev/null: what is opened next must not be taken for it.
    """
    descriptor = end if isinstance(end, int) else end.fileno()
    trio.lowlevel.notify_closing(descriptor)
    if not isinstance(end, int):
        end.close()
    elif end <= 2:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, end, inheritable=False)
        os.close(null)
    else:
        os.close(end)
    return -1


def _write_all(descriptor: int, data: Data) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # whoever shares it has made it non-blocking
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
