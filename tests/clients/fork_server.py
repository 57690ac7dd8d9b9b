"""`python -m tests.clients.fork_server`: slotd started without its imports, again and again.

Lives here: one process that has imported all that slotd's processes do, and a fork of it for every
start it is asked for. Must not live here: asking (`forks`).

What is asked for comes over the unix socket that is standard input: the program, its arguments and
its environment, with the descriptors of standard input, output and error and one more, which gets
the exit status when the process has ended. The process id is the answer.
"""

import gc
import json
import os
import select
import socket
import sys
from collections.abc import Callable

from attrs import Factory, define

import slotd.cli.attach
import slotd.cli.engine
import slotd.cli.host
import slotd.cli.main
import slotd.cli.run
import slotd.cli.status
import slotd.daemon.attach
import slotd.daemon.host
import slotd.daemon.run
import slotd.eyes.ask

PROGRAMS: dict[str, Callable[[], None]] = {
    "slotd": slotd.cli.main.main,
    "slotd-engine": slotd.cli.engine.main,
}
"""What can be started, by name."""
MOST_BYTES = 1 << 18
MOST_DESCRIPTORS = 1 << 16
READY = b"ready"


@define
class _Server:
    """The forks and who is to be told of their ends."""

    connection: socket.socket
    ends: dict[int, tuple[int, int]] = Factory(dict)
    """By the descriptor that shows its end: a process id and where its status goes."""

    def serve(self) -> str | None:
        """Start what is asked for until nobody asks any more; return what this process is to run.

        None is returned in the server, the name of a program in a fork.
        """
        self.connection.send(READY)
        while True:
            asking = self.connection.fileno()
            shown, _, _ = select.select([asking, *self.ends], [], [])
            for descriptor in shown:
                if descriptor != asking:
                    self._tell_status(descriptor)
                    continue
                data, given, _, _ = socket.recv_fds(self.connection, MOST_BYTES, 4)
                if not data:
                    return None
                if (program := self._start(data, given)) is not None:
                    return program

    def _start(self, data: bytes, given: list[int]) -> str | None:
        asked = json.loads(data)
        pid = os.fork()
        if not pid:
            os.setsid()
            for number, descriptor in enumerate(given[:3]):
                os.dup2(descriptor, number)
            # Nothing but the standard descriptors, as after a start.
            self.connection.detach()
            os.closerange(3, MOST_DESCRIPTORS)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open to the end, as all three
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
            os.environ.clear()
            os.environ.update(asked["environment"])
            sys.argv[1:] = asked["arguments"]
            program: str = asked["program"]
            return program
        for descriptor in given[:3]:
            os.close(descriptor)
        self.ends[os.pidfd_open(pid)] = (pid, given[3])
        self.connection.send(b"%d" % pid)
        return None

    def _tell_status(self, descriptor: int) -> None:
        pid, told = self.ends.pop(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(told, b"%d" % status)
        os.close(told)
        os.close(descriptor)


if __name__ == "__main__":
    with socket.socket(fileno=os.dup(0)) as asking:
        gc.freeze()
        to_run = _Server(asking).serve()
    if to_run is not None:
        PROGRAMS[to_run]()
