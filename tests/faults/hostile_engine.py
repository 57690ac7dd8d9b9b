"""The reference engine, but that it says something wrong once: a script of its own.

    hostile_engine.py REFENGINE AFTER LIES --serve ...

Right after its first line that begins with AFTER it prints the bytes of the file LIES. It is the
reference engine otherwise, loaded by its path.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    """Run it; return its exit status."""
    path, after, lies = sys.argv[1:4]
    del sys.argv[1:4]
    spec = importlib.util.spec_from_file_location("refengine", path)
    assert spec is not None
    assert spec.loader is not None
    reference: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    honest = reference.Engine.say
    lied = False

    def say(engine: Any, text: str) -> None:
        nonlocal lied
        honest(engine, text)
        if not lied and text.startswith(after):
            lied = True
            sys.stdout.flush()
            sys.stdout.buffer.write(Path(lies).read_bytes())
            sys.stdout.buffer.flush()

    reference.Engine.say = say
    status: int = reference.main()
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    # The engine's reader thread may still sit in a read.
    os._exit(main())
