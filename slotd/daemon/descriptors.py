"""The three standard descriptors of a process that may have been started without them.

Here: that rule. Not here: what flows through them. Light, as it is imported before the engine is
started, and by `slotd attach`.
"""

import os


def occupy_standard_descriptors() -> None:
    """Put /dev/null where standard input, output or error was closed.

    Otherwise the next descriptor opened would be taken for it. It is close-on-exec: in the engine,
    that descriptor is closed again, as it would have been.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest one that is free: this one
