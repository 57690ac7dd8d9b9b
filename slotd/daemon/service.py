"""A host as its service manager sees it: ready, alive, how it is.

Here: the tasks that tell. Not here: how (`slotd.daemon.notify`), and what there is to tell
(`slotd.daemon.host`).
"""

from collections.abc import Callable

import trio

from slotd.daemon.notify import Notifier

LOOK_S = 2.0
"""Seconds between two looks at what the status line should be."""
ASK_S = 10.0
"""Seconds between two requests for more time, each of them for three times that."""
LONGEST_ASKED_S = 1800.0
"""Seconds after which no more time is asked for: what takes longer hangs."""


class Service:
    """Keeps a service manager informed."""

    def __init__(
        self, notifier: Notifier, status: Callable[[], str], wants_time: Callable[[], bool]
    ) -> None:
        """Tell `status`, and ask for time as long as `wants_time` (the engine loads, or ends)."""
        self._notifier = notifier
        self._status = status
        self._wants_time = wants_time
        self._told = ""
        self._is_ready = False

    def ready(self) -> None:
        """Tell that the engine serves."""
        self._is_ready = True
        self._told = self._status()
        self._notifier.ready(self._told)

    def reloading(self) -> None:
        """Tell that settings are read again; `reloaded` has to follow."""
        if self._is_ready:  # before that, READY=1 would mean that the engine serves
            self._notifier.reloading()

    def reloaded(self) -> None:
        """Tell that they were, or were refused."""
        if self._is_ready:
            self._notifier.ready(self._status())

    def stopping(self) -> None:
        """Tell that the service is going down."""
        self._told = self._status()
        self._notifier.stopping(self._told)

    def tell(self) -> None:
        """Tell how it is, if that has changed."""
        status = self._status()
        if status != self._told:
            self._told = status
            self._notifier.status(status)

    async def run(self) -> None:
        """Keep telling, for ever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            nursery.start_soon(self._ask_for_time)
            if self._notifier.watchdog_s is not None:
                nursery.start_soon(self._beat, self._notifier.watchdog_s / 2)

    async def _look(self) -> None:
        while True:
            self.tell()
            await trio.sleep(LOOK_S)

    async def _beat(self, every_s: float) -> None:
        """Say that whoever relays is alive: this task runs in the very loop that does."""
        while True:
            self._notifier.alive()
            await trio.sleep(every_s)

    async def _ask_for_time(self) -> None:
        asked_s = 0.0
        while True:
            if not self._wants_time():
                asked_s = 0.0
            elif asked_s < LONGEST_ASKED_S:
                self._notifier.extend(3 * ASK_S)
                asked_s += ASK_S
            await trio.sleep(ASK_S)
