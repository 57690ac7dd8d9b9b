"""`python -m tests.fuzz.alone TARGET SECONDS FINDINGS`: the fuzzer of its own on one target.

Prints how many runs there were and how many different things happened; on a fault it leaves the
input in the directory FINDINGS and ends with status 1.
"""

import random
import sys
from pathlib import Path

from tests.fuzz.blind import search
from tests.fuzz.targets import TARGETS, corpus


def main() -> int:
    """Search; return the exit status."""
    target, seconds, findings = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    seeds = [path.read_bytes() for path in corpus(target)]
    found = search(TARGETS[target], seeds, seconds, seed=random.SystemRandom().randrange(1 << 32))
    print(found.runs, len(found.features))  # noqa: T201 - for the command
    (findings / target).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(found.kept):
        (findings / target / f"kept-{number}").write_bytes(data)
    if found.fault is not None:
        data, how = found.fault
        (findings / f"{target}-fault").write_bytes(data)
        print(f"{how}\nthe input is {findings / f'{target}-fault'}", file=sys.stderr)  # noqa: T201
    return 0 if found.fault is None else 1


if __name__ == "__main__":
    sys.exit(main())
