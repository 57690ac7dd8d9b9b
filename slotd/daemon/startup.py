"""The order of starting: settings, log, sockets, the engine, and only then what serves it.

Here: what `slotd run` and `slotd host` do before anything can be relayed, and in which order.
Serving an engine (`slotd.daemon.run`, `slotd.daemon.host`) is imported once the engine has been
started, because those imports take several times as long as everything before them. Not here: the
engine's process (`slotd.daemon.launch`).
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

from slotd.config.configuration import Configuration
from slotd.config.errors import ConfigurationError
from slotd.config.options import CONTROL_SOCKET, LOG_FILE
from slotd.daemon.descriptors import occupy_standard_descriptors
from slotd.daemon.launch import EngineStartError, start_engine
from slotd.daemon.signals import TakenSignals
from slotd.logs.destination import STANDARD_ERROR, Destination, open_log_file

if TYPE_CHECKING:
    from slotd.daemon.doors import Door, Passed


def run_engine(
    command: Sequence[str],
    load: Callable[[], Configuration],
    environment: Mapping[str, str],
) -> int:
    """Start `command` with `environment` and relay until it has ended; return what to exit with.

    `load` reads the settings, now and again when slotd is told to. Raises ConfigurationError when
    they are refused, or the log file or the control socket cannot be opened, EngineStartError when
    the engine cannot be started.
    """
    configuration = load()
    occupy_standard_descriptors()
    destination = Destination(_log_descriptor(configuration[LOG_FILE]))
    control = _control_door(configuration)
    signals = TakenSignals()
    try:
        engine = start_engine(command, environment)
        signals.block()
        from slotd.daemon.run import run  # only now: see the module's docstring

        return run(engine, load, configuration, destination, signals, control)
    finally:
        if control is not None:
            control.close()


def host_engine(
    command: Sequence[str],
    load: Callable[[], Configuration],
    environment: MutableMapping[str, str],
) -> int:
    """Start `command`, again when it has ended, for clients that attach; return what to exit with.

    Raises as `run_engine` does, and ConfigurationError when a socket cannot be made. What a service
    manager tells slotd is taken out of `environment`, which is the engine's.
    """
    from slotd.daemon.doors import passed_sockets, turn_away

    occupy_standard_descriptors()
    passed = passed_sockets(environment)
    try:
        return _host_engine(command, load, environment, passed)
    except (ConfigurationError, EngineStartError):
        turn_away((listening for _, listening, _ in passed), "slotd cannot start: see its log")
        raise
    finally:
        for _, listening, _ in passed:
            listening.close()


def _host_engine(
    command: Sequence[str],
    load: Callable[[], Configuration],
    environment: MutableMapping[str, str],
    passed: "Sequence[Passed]",
) -> int:
    from slotd.daemon.doors import open_doors
    from slotd.daemon.notify import MANAGER_VARIABLES, Notifier

    configuration = load()
    destination = Destination(_log_descriptor(configuration[LOG_FILE]))
    doors = open_doors(configuration, passed)
    notifier = Notifier(environment)
    for variable in MANAGER_VARIABLES:
        environment.pop(variable, None)
    signals = TakenSignals()
    try:
        engine = start_engine(command, environment)
        signals.block()
        from slotd.daemon.host import Starter, host  # only now: see the module's docstring

        starter = Starter(command, environment, signals)
        return host(engine, starter, load, configuration, destination, doors, notifier)
    finally:
        doors.close()
        notifier.close()


def _control_door(configuration: Configuration) -> "Door | None":
    path = configuration[CONTROL_SOCKET]
    if path is None:
        return None
    from slotd.daemon.doors import open_door  # few runs have one

    return open_door(path, CONTROL_SOCKET.name)


def _log_descriptor(path: str | None) -> int:
    if path is None:
        return STANDARD_ERROR
    try:
        return open_log_file(path)
    except OSError as error:
        raise ConfigurationError(
            f"log file {path}: cannot be opened for appending: {error.strerror}: "
            "give --log-file a path that can be written"
        ) from None
