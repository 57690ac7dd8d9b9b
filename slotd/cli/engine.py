"""`slotd-engine`: stands in the engine's place in a serve process's configuration.

It has no options: every argument is the engine's. Which engine that is, and everything else, comes
from the environment and the configuration file. Not here: what happens (`slotd.daemon`).
"""

import os
import sys

from slotd.config.configuration import DEFAULT_FILE, FILE_VARIABLE, Sources
from slotd.config.errors import ConfigurationError
from slotd.config.options import ATTACH, ENGINE
from slotd.daemon.launch import EngineStartError, inherited_environment
from slotd.daemon.startup import run_engine

SHIM_VARIABLE = "SLOTD_SHIM"
"""Set by the executables of `slotd shim`, to tell that they have set the engine as well."""
NAME = "slotd-engine"


def main() -> None:
    """Run the configured engine with this process's arguments, and exit as it does."""
    try:
        status = _run(sys.argv[1:])
    except ConfigurationError as error:
        status = _refuse(str(error), 2)
    except EngineStartError as error:
        status = _refuse(str(error), error.status)
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    sources = Sources()
    socket = sources.find(ATTACH)
    if socket is not None:  # the other settings are the host's business
        return _attach(socket)
    engine = sources.load()[ENGINE]
    if engine is None:
        raise ConfigurationError(
            f"no engine is named: set {ENGINE.environment}, or {ENGINE.key} in [{ENGINE.table}] of "
            f"the file that {FILE_VARIABLE} names (or {DEFAULT_FILE}), to the engine's executable"
        )
    if engine.rpartition(os.sep)[2] == NAME:
        raise ConfigurationError(
            f"{ENGINE.key} is {engine!r}, which is slotd itself: name the engine's executable"
        )
    return run_engine([engine, *arguments], sources.load, _engine_environment())


def _attach(socket: str) -> int:
    # Not needed where an engine is started.
    from slotd.daemon.attach import TRY_AGAIN, AttachError, attach, end

    try:
        end(attach(socket))
    except AttachError as error:
        return _refuse(str(error), TRY_AGAIN)


def _engine_environment() -> dict[str, str]:
    """Return the environment without what a shim has put into it."""
    environment = inherited_environment()
    if environment.pop(SHIM_VARIABLE, None) is not None:
        environment.pop(ENGINE.environment, None)
    return environment


def _refuse(message: str, status: int) -> int:
    sys.stderr.write(f"{NAME}: {message}\n")
    return status


if __name__ == "__main__":
    main()
