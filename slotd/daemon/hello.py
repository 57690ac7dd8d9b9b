"""The words of the host's socket, known to both ends. Light: `slotd attach` is a thin process."""

HELLO = b"SLOTD ATTACH 1\n"
OK = b"SLOTD OK\n"
REFUSED = b"SLOTD REFUSED "
MOST_ANSWER = 1024
"""Bytes of the host's answer at most."""
