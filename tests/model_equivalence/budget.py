"""How long the equivalence is tried: a fixed number of plays, or as long as is asked for.

Lives here: the environment variable SLOTD_FUZZ_SECONDS, for which every test then goes on with
new plays; without it the plays are the same each time. Must not live here: what is played.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import SystemRandom

from hypothesis import HealthCheck, settings

FUZZ_SECONDS = float(os.environ.get("SLOTD_FUZZ_SECONDS", "0"))


def rounds(examples: int, steps: int) -> Iterator[settings]:
    """Give the settings of each round of a machine."""
    same = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    if not FUZZ_SECONDS:
        yield same
    end = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        yield settings(same, derandomize=False, print_blob=True)


def seeds(count: int) -> Iterator[int]:
    """Give the seeds to play: the first `count`, or new ones until the time is over."""
    if not FUZZ_SECONDS:
        yield from range(count)
    end = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        yield SystemRandom().randrange(1 << 40)


@contextmanager
def of_seed(seed: int) -> Iterator[None]:
    """Name the seed of a play that fails."""
    try:
        yield
    except Exception as failure:
        failure.add_note(f"seed {seed}")
        raise
