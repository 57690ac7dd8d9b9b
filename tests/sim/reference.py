"""Both engines under one script: the simulated one and the reference engine, loaded by path.

A script says what the client sends: when nothing is left to do, and right after the engine printed
something. The reference engine runs in this process without its reader thread, so that input meets
it at exactly the same points as the simulated one.
"""

import importlib.util
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Protocol
from unittest import mock

from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.token_model import HashModel
from tests.paths import REFENGINE


class Script(Protocol):
    """What a client does."""

    def idle(self) -> bytes | None:
        """The next line when the engine has nothing to do; None: the input ends."""

    def after(self, lines: list[str]) -> list[bytes]:
        """The lines sent right after the engine printed these."""


@cache
def reference_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_engine", REFENGINE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def environment(options: SimOptions) -> dict[str, str]:
    """The engine's switches that give these options."""
    return {
        "STRATA_PIPELINE_ACTIVE_ROWS": str(int(options.active_rows)),
        "STRATA_SLOT_CHECKPOINTS": str(options.slot_checkpoints),
        "STRATA_BRANCH_CHECKPOINT": str(options.branch_margin),
    }


def comparable(line: str) -> str:
    """A line without its times; of a refusal only its verb, of INFO only the capabilities."""
    fields = line.split(" ")
    if fields[0] in ("PP", "DONE"):
        fields[3:5] = ["-", "-"]
    elif fields[0] == "BDONE":
        fields[4] = "-"
    elif fields[0] in ("ERR", "SERR"):
        fields = fields[:1]
    elif fields[0] == "INFO":
        known = ("context", "batch", "slot", "turn", "engine=")
        fields = ["INFO", *(field for field in fields if field.startswith(known))]
    return " ".join(fields)


def comparable_row(row: dict[str, object]) -> dict[str, object]:
    """A ledger row without the words of why a park was not used."""
    parked = row["parked"]
    if isinstance(parked, dict):
        row = row | {"parked": {key: parked[key] for key in parked if key != "why"}}
    return row


def run_simulated(
    options: SimOptions, end_every: int, script: Script, watch: Callable[[SimEngine], None]
) -> tuple[list[str], list[dict[str, object]]]:
    """Run the simulated engine to its end: (lines, ledger rows)."""
    engine = SimEngine(options, HashModel(end_every))
    lines = engine.start().decode().splitlines()
    while True:
        step = engine.step()
        if step is not None:
            printed = step.output.decode().splitlines()
            lines += printed
            watch(engine)
            for each in script.after(printed):
                engine.from_client(each)
        elif engine.ended:
            return lines, [row.as_json() for row in engine.ledger]
        elif (line := script.idle()) is not None:
            engine.from_client(line)
        else:
            engine.eof()


def run_reference(
    options: SimOptions, end_every: int, script: Script
) -> tuple[list[str], list[dict[str, object]]]:
    """Run the reference engine to its end: (lines, ledger rows)."""
    arguments = Namespace(
        batch=options.batch_slots,
        batch_groups=options.batch_groups,
        max_context=options.context,
        prompt_cache=int(options.main_cache),
        chunk=options.chunk,
        ckpt_every=options.checkpoint_every,
        read_tok_s=0,
        step_ms=0,
        copy_ms_per_1k=0,
        eos_every=end_every,
        die_after=0,
        stall_after=0,
        slot_cache=options.slot_cache,
        no_stop=not options.stop,
        ledger=None,
        version=options.version,
    )
    with mock.patch.dict("os.environ", environment(options)):
        engine = reference_module().Engine(arguments)
    lines, unflushed, rows = list[str](), list[str](), list[dict[str, object]]()

    def keep(line: bytes) -> None:
        text = line.decode().rstrip("\r\n")
        if text == "STOP":
            engine.stop_req = engine.stop_req or options.stop
        else:
            engine.lines.append(text)

    def flush() -> None:
        printed = unflushed.copy()
        unflushed.clear()
        lines.extend(printed)
        for each in script.after(printed):
            keep(each)

    def next_line(block: bool) -> str | None:
        if not engine.lines and block:
            line = script.idle()
            if line is None:
                engine.eof = True
            else:
                keep(line)
        return str(engine.lines.popleft()) if engine.lines else None

    engine.say, engine.flush, engine.next_line = unflushed.append, flush, next_line
    engine.reader = engine.note = lambda *_: None
    engine.book = lambda **row: rows.append(row)
    assert engine.serve() == 0
    return lines, rows
