"""The unix sockets people come in by: the engine's and the control socket, listening.

Here: making them, or taking those a service manager has made (LISTEN_FDS, see sd_listen_fds(3)),
and the refusal of each. Not here: who comes in (`slotd.daemon.reception`, `slotd.daemon.control`).
Light, as it is imported before the engine is started.
"""

import fcntl
import os
import socket
import stat
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress

from attrs import frozen

from slotd.config.configuration import Configuration
from slotd.config.errors import ConfigurationError
from slotd.config.options import CONTROL_SOCKET, HOST_SOCKET, Option
from slotd.daemon.hello import HELLO, REFUSED

MODE = 0o660
"""Permissions of a socket slotd makes: its user and its group, nobody else."""
PASSED_VARIABLES = frozenset({"LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "LISTEN_PIDFDID"})
"""What a service manager tells of sockets it passes; nothing for whoever slotd starts."""
_FIRST_PASSED = 3
_BACKLOG = 128
"""Connections that may wait to be taken in."""
_TURNING_S = 2.0
"""For turning those away who wait for a slotd that cannot start."""
_WORD_S = 0.1
"""For the first word of one of them."""
_LOCK_S = 2.0
"""For another slotd to make its sockets in the same directory."""
_LOOK_S = 0.005
"""Between two looks at whether it has."""

Passed = tuple[str, socket.socket, str]
"""Its name, the socket and its path."""


@frozen
class Door:
    """A listening socket."""

    path: str
    socket: socket.socket
    own: bool
    """slotd has made it, and takes it away again; otherwise it was passed, and is its taker's."""

    def close(self) -> None:
        """Let nobody in any more, and take the path away, if it is slotd's own."""
        if self.own:
            # In this order: once nobody listens there, the path may already be another slotd's.
            with suppress(OSError):
                os.unlink(self.path)  # noqa: PTH108 - pathlib costs 10 ms of the engine's start
            self.socket.close()


@frozen
class Doors:
    """Both of them."""

    engine: Door
    control: Door

    def close(self) -> None:
        """Close both."""
        self.engine.close()
        self.control.close()


Value = Callable[[Option[str | None]], str | None]
"""Gives an option's value."""


def control_path(value: Value) -> str:
    """Return the path of the control socket: the one that is set, else beside the engine's."""
    path = value(CONTROL_SOCKET)
    if path is not None:
        return path
    directory, slash, _ = engine_path(value).rpartition("/")
    return f"{directory}{slash}control.sock"


def engine_path(value: Value) -> str:
    """Return the path of the socket clients attach to."""
    path = value(HOST_SOCKET)
    assert path is not None  # its default is a path
    return path


def open_doors(configuration: Configuration, given: Sequence[Passed]) -> Doors:
    """Return both doors, of passed sockets where there are some. Raises ConfigurationError."""
    passed = list(given)
    wanted = control_path(configuration.__getitem__)
    control = _take_control(passed, wanted)
    if len(passed) > 1:
        others = ", ".join(path for _, _, path in passed)
        raise ConfigurationError(
            f"sockets {others}: passed by the service manager, and one is enough: "
            f"name the control socket's FileDescriptorName=control, or set host.control_socket"
        )
    engine = None
    if passed:
        _, listening, path = passed[0]
        engine = Door(path, listening, own=False)
    if engine is None:
        engine = open_door(engine_path(configuration.__getitem__), HOST_SOCKET.name)
    if control is None:
        try:
            control = open_door(wanted, CONTROL_SOCKET.name)
        except ConfigurationError:
            engine.close()
            raise
    return Doors(engine, control)


def passed_sockets(environment: MutableMapping[str, str]) -> list[Passed]:
    """Return the sockets a service manager has passed, in its order; nobody inherits them.

    What tells of them is taken out of `environment`. Raises ConfigurationError when one is not a
    listening unix stream socket.
    """
    count = _count(environment)
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    for variable in PASSED_VARIABLES:
        environment.pop(variable, None)
    names += [""] * (count - len(names))
    return [_passed(_FIRST_PASSED + n, names[n] or "unknown") for n in range(count)]


def open_door(path: str, setting: str) -> Door:
    """Make a listening socket at `path`, which nobody but its user and group can connect to.

    One that is left of a process that has ended is replaced. Raises ConfigurationError.
    """
    lock = _lock_directory(path)
    try:
        _remove_left_over(path, setting)
        return Door(path, _listen(path, setting), own=True)
    finally:
        if lock is not None:
            os.close(lock)  # with which it ends


def _listen(path: str, setting: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~MODE)
    try:
        listening.bind(path)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise _refusal(path, setting, error.strerror or str(error)) from None
    finally:
        os.umask(before)
    return listening


def turn_away(passed: Iterable[socket.socket], why: str) -> None:
    """Refuse whoever waits at passed sockets.

    They stay with the service manager, which would start slotd again and again for as long as
    somebody waits there.
    """
    until = time.monotonic() + _TURNING_S
    for listening in passed:
        listening.setblocking(False)
        with suppress(OSError):  # nobody waits any more
            while time.monotonic() < until:
                _refuse(listening.accept()[0], why)


def _refuse(connection: socket.socket, why: str) -> None:
    connection.settimeout(_WORD_S)
    with connection, suppress(OSError):  # it has gone
        with suppress(TimeoutError):  # it does not say what it wants
            connection.recv(len(HELLO))
        connection.sendall(REFUSED + why.encode() + b"\n")


def _take_control(passed: list[Passed], wanted: str) -> Door | None:
    for entry in passed:
        name, listening, path = entry
        if name == "control" or path == wanted:
            passed.remove(entry)
            return Door(path, listening, own=False)
    return None


def _count(environment: Mapping[str, str]) -> int:
    count = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(os.getpid()) or not count.isdecimal():
        return 0
    return int(count)


def _passed(descriptor: int, name: str) -> Passed:
    try:
        os.set_inheritable(descriptor, False)
        listening = socket.socket(fileno=descriptor)
        fits = (
            listening.family == socket.AF_UNIX
            and listening.type == socket.SOCK_STREAM
            and listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        )
    except OSError:
        fits = False
    if not fits:
        raise ConfigurationError(
            f"descriptor {descriptor} ({name}): passed by the service manager and no listening "
            "unix stream socket: give ListenStream= a path"
        )
    return name, listening, str(listening.getsockname())


def _lock_directory(path: str) -> int | None:
    """Keep another slotd from taking the socket that is being made at `path` for a left-over one.

    Whoever else holds the lock for long is no slotd: then there is none. The caller closes it.
    """
    try:
        directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)  # noqa: PTH120 - see above
    except OSError:  # binding will say what is wrong
        return None
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return directory
            time.sleep(_LOOK_S)
        except OSError:  # a file system without such locks
            return directory
        else:
            return directory


def _remove_left_over(path: str, setting: str) -> None:
    try:
        there = os.lstat(path)
    except OSError:  # nothing is there, or binding will say what is wrong
        return
    if not stat.S_ISSOCK(there.st_mode):
        raise _refusal(path, setting, "there is something else of that name")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:  # nobody listens any more
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - see above
            return
        except OSError as error:
            raise _refusal(path, setting, error.strerror or str(error)) from None
    raise _refusal(path, setting, "another process listens there")


def _refusal(path: str, setting: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"socket {path}: cannot be made: {reason}: set {setting} to a path slotd can have"
    )
