"""`python -m tests.fuzz.guided TARGET SECONDS FINDINGS [LIBFUZZER OPTIONS]`: atheris on one target.

Lives here: everything that knows atheris, which is used where it is installed. It ends the process
by itself; on a fault the input is left in the directory FINDINGS.
"""

import importlib
import sys
from typing import Any

MOST_BYTES = 2048


def main() -> None:
    """Fuzz until the time is over or something fails."""
    target, seconds, findings, *options = sys.argv[1:]
    # Without type information, and not installed everywhere.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["protocol", "slotd"]):
        targets: Any = importlib.import_module("tests.fuzz.targets")
    run = targets.TARGETS[target]

    def one(data: bytes) -> None:
        run(data)

    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        f"-artifact_prefix={findings}/{target}-",
        "-print_final_stats=1",
        "-timeout=60",
        *options,
        f"{findings}/{target}",
        str(targets.CORPUS / target),
    ]
    atheris.Setup(arguments, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
