"""`slotd attach`: the engine as a serve process starts it, while it really is a host's.

Here: a thin process between its standard input and output and the host's socket. Not here: anything
about lines. Standard library only, and little of it, because a serve process starts this in the
engine's place.

Two threads copy, one each way, each waiting for its own side only: a client that does not read its
lines can still have a `STOP` passed on. The end of the input is passed on, and so is the end of the
lines. This process has no handlers: a signal ends it as it would have ended the engine, and to the
host that is a client that goes away.
"""

import array
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from slotd.daemon.descriptors import occupy_standard_descriptors
from slotd.daemon.hello import HELLO, MOST_ANSWER, OK, REFUSED

TRY_AGAIN = 75
"""Exit status when the host refuses, cannot be reached or has gone: sysexits.h's EX_TEMPFAIL."""
_NOBODY_READS = 128 + signal.SIGPIPE
_GONE = "slotd has gone without a word: see why its host ended"
_PIECE = 1 << 16


class AttachError(Exception):
    """There is no engine to be had; the message is one line with the way out."""


def attach(path: str) -> int:
    """Be the engine behind the socket at `path` until it ends; return its exit status.

    Raises AttachError.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    occupy_standard_descriptors()
    host, status = _connected(path)
    copier = threading.Thread(target=_copy_input, args=(host,), daemon=True)
    copier.start()
    if not _copy_output(host):
        return _NOBODY_READS
    said = os.read(status, 16)
    if not said.strip().isdigit():
        raise AttachError(f"socket {path}: {_GONE}")
    return int(said)


def _connected(path: str) -> tuple[socket.socket, int]:
    """Return the connection, past the host's answer, and the pipe the status will come from."""
    host = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    status, told_by_host = os.pipe()
    try:
        host.connect(path)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [told_by_host]))
        with suppress(BrokenPipeError):  # it may have refused already
            host.sendmsg([HELLO], [rights])
        answer = _answer(host)
    except OSError as error:
        raise AttachError(f"socket {path}: {_reason(error)}") from None
    finally:
        os.close(told_by_host)
    if answer == OK:
        return host, status
    if answer.startswith(REFUSED):
        why = answer.removeprefix(REFUSED).decode("utf-8", "replace").strip()
        raise AttachError(f"socket {path}: refused: {why}")
    if not answer:
        raise AttachError(f"socket {path}: {_GONE}")
    raise AttachError(
        f"socket {path}: what answers there is no 'slotd host': name the socket of one"
    )


def _answer(host: socket.socket) -> bytes:
    """Read the host's answer, and nothing of what follows it."""
    answer = b""
    while not answer.endswith(b"\n") and len(answer) < MOST_ANSWER:
        byte = host.recv(1)
        if not byte:
            break
        answer += byte
    return answer


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such socket: start 'slotd host', or name the socket of one"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there: start 'slotd host' again"
    if isinstance(error, PermissionError):
        return "you may not connect to it: be in its group, or run as its user"
    if isinstance(error, ConnectionResetError):
        return _GONE
    return f"{error.strerror or error}: name the socket of a 'slotd host'"


def _copy_input(host: socket.socket) -> None:
    """Pass on what the client writes, and then that it has ended."""
    with suppress(OSError):  # the host reads no more: neither does this process
        while data := os.read(0, _PIECE):
            host.sendall(data)
        host.shutdown(socket.SHUT_WR)
        return
    os.close(0)


def _copy_output(host: socket.socket) -> bool:
    """Pass on what the engine prints, to its end; False: nobody reads it. Raises AttachError."""
    while data := _received(host):
        try:
            _write(data)
        except BrokenPipeError:
            return False
        except OSError as error:
            raise AttachError(
                f"standard output: cannot be written: {error.strerror}: give a pipe"
            ) from None
    return True


def _received(host: socket.socket) -> bytes:
    try:
        return host.recv(_PIECE)
    except ConnectionResetError:  # the host's end of it, with bytes of the client's still unread
        return b""


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def end(status: int) -> NoReturn:
    """Exit with `status` without waiting for a client that may write for ever."""
    sys.stderr.flush()
    os._exit(status)
