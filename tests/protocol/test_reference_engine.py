"""The reference engine's own output, read: the tables beside this file are not only ours."""

import os
import subprocess
import sys

from protocol import (
    Admitted,
    BatchDone,
    BatchToken,
    CacheSource,
    Checks,
    Done,
    EngineError,
    EngineLine,
    EngineOpaque,
    Info,
    LineReader,
    Parked,
    Progress,
    Ready,
    Resume,
    Token,
    parse_engine_line,
)
from tests.paths import REFENGINE


def conversation(*lines: str) -> list[EngineLine]:
    """What the engine says to these lines, until it ends at their end."""
    pipelined = {"STRATA_PIPELINE_ACTIVE_ROWS": "1", "STRATA_SLOT_CHECKPOINTS": "3"}
    done = subprocess.run(
        [sys.executable, str(REFENGINE), "--serve", "--batch", "4", "--batch-groups", "2"],
        input="".join(line + "\n" for line in lines).encode(),
        stdout=subprocess.PIPE,
        env=os.environ | pipelined,
        timeout=60,
        check=True,
    )
    reader = LineReader(frames=False)
    return [parse_engine_line(item) for item in reader.feed(done.stdout) + reader.finish()]


def test_every_line_the_reference_engine_prints_is_known() -> None:
    first = ",".join(map(str, range(1000, 1100)))
    said = conversation(
        f"GEN 4 seed=1 {first}",
        f"BGEN 2 6 slot=2 park=1 {','.join(map(str, range(2000, 2050)))}",
        f"GEN 2 {first},7",
        "GEN 0 1",
    )
    assert [line.raw for line in said if isinstance(line, EngineOpaque)] == []
    assert {type(line) for line in said} == {
        Info,
        Ready,
        CacheSource,
        Resume,
        Progress,
        Token,
        Done,
        Parked,
        Checks,
        Admitted,
        BatchToken,
        BatchDone,
        EngineError,
    }
    info, ready = said[:2]
    assert isinstance(info, Info)
    assert {"batch_slots": "4", "slot_park": "1"}.items() <= info.fields.items()
    assert isinstance(ready, Ready)
    assert ready.stop
    done = [line for line in said if isinstance(line, Done)]
    assert [(line.generated, line.prompt, line.reused) for line in done[:2]] == [
        (4, 100, 0),
        (1, 50, 0),
    ]
    parked = [line for line in said if isinstance(line, Parked)]
    assert [(line.slot, line.tokens) for line in parked] == [(1, 103)]
