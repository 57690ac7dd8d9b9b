"""`python -m tests.faults.fork_server`: slotd started without its imports, again and again.

Lives here: one process that has imported all that `slotd run` does, and a fork of it for every
start it is asked for. Must not live here: asking (`forked`).

What is asked for comes over the unix socket that is standard input: the arguments and the
environment, with the descriptors of standard input, output and error and one more, which gets the
exit status when the process has ended. The process id is the answer.
"""

import gc
import json
import os
import select
import socket
import sys

from attrs import Factory, define

import slotd.cli.run
import slotd.daemon.run  # noqa: F401 - so that the forks need not import it
from slotd.cli.main import main

MOST_BYTES = 1 << 18
MOST_DESCRIPTORS = 1 << 16
READY = b"ready"


@define
class _Server:
    """The forks and who is to be told of their ends."""

    connection: socket.socket
    ends: dict[int, tuple[int, int]] = Factory(dict)
    """By the descriptor that shows its end: a process id and where its status goes."""

    def serve(self) -> bool:
        """Start what is asked for until nobody asks any more; True: this is such a process."""
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
                    return False
                if self._start(data, given):
                    return True

    def _start(self, data: bytes, given: list[int]) -> bool:
        asked = json.loads(data)
        pid = os.fork()
        if not pid:
            os.setsid()
            for number, descriptor in enumerate(given[:3]):
                os.dup2(descriptor, number)
            # Nothing but the standard descriptors, as after a start.
            self.connection.detach()
            os.closerange(3, MOST_DESCRIPTORS)
            for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
                setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - to the end
            os.environ.clear()
            os.environ.update(asked["environment"])
            sys.argv[1:] = asked["arguments"]
            return True
        for descriptor in given[:3]:
            os.close(descriptor)
        self.ends[os.pidfd_open(pid)] = (pid, given[3])
        self.connection.send(b"%d" % pid)
        return False

    def _tell_status(self, descriptor: int) -> None:
        pid, told = self.ends.pop(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(told, b"%d" % status)
        os.close(told)
        os.close(descriptor)


if __name__ == "__main__":
    with socket.socket(fileno=os.dup(0)) as asking:
        gc.freeze()
        is_slotd = _Server(asking).serve()
    if is_slotd:
        main()
