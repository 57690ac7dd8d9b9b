"""The unix sockets people come in by: the engine's and the control socket, listening.

Here: making them, or taking those a service manager has made (LISTEN_FDS, see sd_listen_fds(3)),
and the refusal of each. Not here: who comes in (`slotd.daemon.reception`, `slotd.daemon.control`).
Light, as it is imported before the engine is started.
"""

import os
import socket
import stat
from collections.abc import Mapping, MutableMapping
from contextlib import suppress

from attrs import frozen

from slotd.config.configuration import Configuration
from slotd.config.errors import ConfigurationError
from slotd.config.options import CONTROL_SOCKET, HOST_SOCKET

MODE = 0o660
"""Permissions of a socket slotd makes: its user and its group, nobody else."""
PASSED_VARIABLES = frozenset({"LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "LISTEN_PIDFDID"})
"""What a service manager tells of sockets it passes; nothing for whoever slotd starts."""
_FIRST_PASSED = 3
_BACKLOG = 16


@frozen
class Door:
    """A listening socket."""

    path: str
    socket: socket.socket
    own: bool
    """slotd has made it, and takes it away again."""

    def close(self) -> None:
        """Let nobody in any more; take the path away if it is slotd's own."""
        self.socket.close()
        if self.own:
            with suppress(OSError):
                os.unlink(self.path)  # noqa: PTH108 - pathlib costs 10 ms of the engine's start


@frozen
class Doors:
    """Both of them."""

    engine: Door
    control: Door

    def close(self) -> None:
        """Close both."""
        self.engine.close()
        self.control.close()


def control_path(configuration: Configuration) -> str:
    """Return the path of the control socket: the one that is set, else beside the engine's."""
    path = configuration[CONTROL_SOCKET]
    if path is not None:
        return path
    directory, slash, _ = engine_path(configuration).rpartition("/")
    return f"{directory}{slash}control.sock"


def engine_path(configuration: Configuration) -> str:
    """Return the path of the socket clients attach to."""
    path = configuration[HOST_SOCKET]
    assert path is not None  # its default is a path
    return path


def open_doors(configuration: Configuration, environment: MutableMapping[str, str]) -> Doors:
    """Return both doors, of passed sockets where there are some.

    What tells of those is taken out of `environment`. Raises ConfigurationError.
    """
    passed = passed_sockets(environment)
    wanted = control_path(configuration)
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
        engine = open_door(engine_path(configuration), HOST_SOCKET.name)
    if control is None:
        try:
            control = open_door(wanted, CONTROL_SOCKET.name)
        except ConfigurationError:
            engine.close()
            raise
    return Doors(engine, control)


Passed = tuple[str, socket.socket, str]
"""Its name, the socket and its path."""


def passed_sockets(environment: MutableMapping[str, str]) -> list[Passed]:
    """Return the sockets a service manager has passed, in its order; nobody inherits them.

    Raises ConfigurationError when one is not a listening unix stream socket.
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
    _remove_left_over(path, setting)
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
    return Door(path, listening, own=True)


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
