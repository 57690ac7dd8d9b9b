"""Telling systemd how the service is: sd_notify's protocol, in a few lines.

A datagram of `NAME=value` lines to the socket that NOTIFY_SOCKET names; see sd_notify(3). The
library for it on the package index (`sdnotify`) has had no release since 2017, and the others are
bindings that need libsystemd's headers where slotd is installed.

Here: what is sent and how. Not here: when (`slotd.daemon.service`).
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

MANAGER_VARIABLES = frozenset({"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"})
"""What a service manager tells this process and nobody it starts."""


class Notifier:
    """Sends to the service manager, or nowhere when there is none; never waits, never fails."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take the manager's address and what it expects from `environment`."""
        address = environment.get("NOTIFY_SOCKET", "")
        self._socket: socket.socket | None = None
        self._address = "\0" + address[1:] if address.startswith("@") else address
        if address[:1] in ("/", "@"):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        self.watchdog_s = None if self._socket is None else _watchdog_s(environment)
        """Seconds after which the manager takes this process for hung; None: it never does."""

    def ready(self, status: str) -> None:
        """Say that the service is up (again, after a reload)."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Say in a line what it is doing."""
        self._send(f"STATUS={status}")

    def reloading(self) -> None:
        """Say that settings are being read again; `ready` ends that."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self, status: str) -> None:
        """Say that the service is going down."""
        self._send("STOPPING=1", f"STATUS={status}")

    def alive(self) -> None:
        """Say that whoever calls this is not hung."""
        self._send("WATCHDOG=1")

    def extend(self, seconds: float) -> None:
        """Say that starting or stopping may take so many seconds more from now on."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    def close(self) -> None:
        """Tell nothing any more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> None:
        if self._socket is not None:
            # Full, gone, refused: the manager's loss, and no reason to hold up a token.
            with suppress(OSError):
                self._socket.sendto("\n".join(lines).encode(), self._address)


def _watchdog_s(environment: Mapping[str, str]) -> float | None:
    """Return the watchdog's seconds, when it watches this process."""
    text, owner = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        return None
    return int(text) / 1e6 if owner in ("", str(os.getpid())) else None
