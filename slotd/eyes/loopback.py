"""An address to listen on that nobody outside this machine can reach.

Here: reading one, and refusing what is not. Not here: listening.
"""

import ipaddress

from attrs import frozen


class NotLoopbackError(ValueError):
    """The text is no address on loopback; the message is one line."""


@frozen
class Address:
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as it is written in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def loopback_address(text: str) -> Address:
    """Read `127.0.0.1:PORT` or `[::1]:PORT`. Raises NotLoopbackError.

    Names are not looked up: what they stand for can change.
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        fits = bool(colon) and ipaddress.ip_address(host).is_loopback
    except ValueError:
        fits = False
    if not fits or not (port.isascii() and port.isdigit() and 0 <= int(port) < 1 << 16):
        raise NotLoopbackError(
            f"{text!r} is no address on loopback: give 127.0.0.1:PORT or [::1]:PORT"
        )
    return Address(host, int(port))
