"""Events as entries of systemd's journal, with their fields, by its native protocol.

Here: what an entry holds, and the socket it is sent on. Not here: when the journal is chosen
(`slotd.logs.opening`) and the thread that sends (`slotd.logs.writer`).

An entry has MESSAGE (the line `slotd tail` would show, without its time), PRIORITY,
SYSLOG_IDENTIFIER=slotd, SLOTD_EVENT, and one SLOTD_ field for every field of the event, its name in
upper case. Text stands as it is; everything else, and text that could be taken for something else,
is JSON. `slotd.logs.records` reads it back.

The protocol (systemd's "Native Journal Protocol"): one datagram an entry; a field is `NAME=value`
and a newline, or, when its value has a newline, `NAME`, a newline, the length in eight bytes,
little-endian, the value and a newline. What does not fit a datagram is written to a sealed memory
file whose descriptor is sent instead. That is little enough that a library is not worth what it
asks for: the ones that exist need a C compiler and systemd's headers, or are handlers of
`logging` with fields of their own.
"""

import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

from slotd.logs.destination import Destination
from slotd.logs.json_text import json_text
from slotd.logs.person import line_of

SOCKET = "/run/systemd/journal/socket"
IDENTIFIER = "slotd"
"""What `journalctl -t` knows slotd's entries by."""
PREFIX = "SLOTD_"
LONGEST_WAIT_S = 1.0
"""For a journal that does not take entries; only the log's own thread waits."""

_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""syslog's numbers."""
_OWN = frozenset({"ts", "level"})
"""The journal has fields of its own for these."""
_TOO_LONG = frozenset({errno.EMSGSIZE, errno.ENOBUFS})
"""What the system says of a datagram beyond its size."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def entry_of(record: Mapping[str, object]) -> bytes:
    """Return a record (`ts`, `level`, `event`, then its fields) as one entry."""
    message = line_of({name: value for name, value in record.items() if name != "ts"}).plain.strip()
    parts = [
        _field("MESSAGE", message),
        _field("PRIORITY", str(_PRIORITY.get(str(record.get("level")), 6))),
        _field("SYSLOG_IDENTIFIER", IDENTIFIER),
    ]
    parts += [
        _field(PREFIX + name.upper(), _text(value))
        for name, value in record.items()
        if name not in _OWN
    ]
    return b"".join(parts)


def journal_entry(
    _logger: object, _method: str, fields: MutableMapping[str, Any]
) -> bytes:  # a processor: the last of structlog's chain
    """Turn what the chain has made of an event into an entry."""
    return entry_of(fields)


def _field(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "replace")
    if b"\n" in data:
        return b"%s\n%s%s\n" % (name.encode(), len(data).to_bytes(8, "little"), data)
    return b"%s=%s\n" % (name.encode(), data)


def _text(value: object) -> str:
    if isinstance(value, str) and not _reads_as_json(value):
        return value
    return json_text(value)


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Journal(Destination):
    """The journal as a destination of entries."""

    def __init__(self, address: str = SOCKET) -> None:
        """Send to the socket at `address`, looked up anew for every entry: journald restarts."""
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(LONGEST_WAIT_S)
        super().__init__(self._socket.fileno())

    def write(self, line: bytes) -> None:
        """Send one entry, waiting a little for a journal that is busy.

        Raises OSError when it is not taken (no journal, one that hangs, no memory): it is lost.
        """
        try:
            self._socket.sendto(line, self._address)
        except OSError as error:
            if error.errno not in _TOO_LONG:
                raise
            self._send_as_file(line)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _send_as_file(self, entry: bytes) -> None:
        descriptor = os.memfd_create("slotd-journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            rest = memoryview(entry)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor.to_bytes(4, sys.byteorder))
            self._socket.sendmsg([], [rights], 0, self._address)
        finally:
            os.close(descriptor)
