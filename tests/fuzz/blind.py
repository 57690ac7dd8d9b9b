"""The fuzzer of its own: mutations of what made something new happen.

Lives here: the search, guided by what the targets say happened (events, reasons, states), for where
no coverage-guided fuzzer is installed. Must not live here: the targets.
"""

import random
import time
from collections.abc import Callable, Sequence

from attrs import frozen

from tests.fuzz.reading import Features

MOST_BYTES = 2048


@frozen
class Searched:
    """What a search came to."""

    runs: int
    features: Features
    kept: Sequence[bytes]
    """Inputs that made something happen that no earlier one had."""
    fault: tuple[bytes, str] | None
    """The input a target failed on, and how; it ended the search."""


def search(
    target: Callable[[bytes], Features], seeds: Sequence[bytes], seconds: float, seed: int = 0
) -> Searched:
    """Try inputs for so many seconds, or until one fails."""
    rng = random.Random(seed)
    kept, seen, runs = list[bytes](), set[str](), 0
    until = time.monotonic() + seconds
    waiting = [b"", *seeds]
    while waiting or time.monotonic() < until:
        data = waiting.pop() if waiting else mutated(rng, kept)
        runs += 1
        try:
            features = target(data)
        except Exception as error:  # noqa: BLE001 - whatever a target raises is what is looked for
            return Searched(runs, frozenset(seen), kept, (data, f"{type(error).__name__}: {error}"))
        if not kept or features - seen:
            kept.append(data)
            seen |= features
    return Searched(runs, frozenset(seen), kept, None)


def mutated(rng: random.Random, kept: Sequence[bytes]) -> bytes:
    """Change one of the inputs a little, or join two, or make a new one."""
    data = bytearray(rng.choice(kept))
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at:at] = rng.randbytes(rng.choice([1, 2, 8, 32, 128]))
            case 1:
                data[at : at + rng.choice([1, 2, 8, 32])] = b""
            case 2:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                other = rng.choice(kept)
                data[at:] = other[rng.randrange(len(other) + 1) :]
            case 4:
                data += rng.randbytes(64)
    return bytes(data[:MOST_BYTES])
