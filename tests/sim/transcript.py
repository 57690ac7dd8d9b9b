"""Conversations with a simulated engine, written down.

`>> line` is sent as soon as everything above it was printed; `<< line` must be printed next. An
expected line that ends in ` ...` gives only the line's start. Replies are 101, 102, 103, ...
"""

from collections.abc import Sequence

from attrs import evolve

from protocol.tokens import TokenIds
from slotd.sim.engine import SimEngine
from slotd.sim.options import END_TOKEN, SimOptions
from slotd.sim.timing import Timing
from slotd.sim.token_model import ScriptedModel

SMALL = SimOptions(context=1000, chunk=4, checkpoint_every=0, timing=Timing.instant())
BATCH = evolve(SMALL, batch_slots=4, batch_groups=1, active_rows=False)


def counting(prompt: TokenIds) -> Sequence[int]:
    return range(101, 200)


def ends_after(tokens: int) -> ScriptedModel:
    """Replies of so many tokens, then the end token, then tokens nobody should see."""
    reply = [*range(101, 101 + tokens), END_TOKEN, 901, 902, 903]
    return ScriptedModel(lambda prompt: reply)


def engine_with(options: SimOptions = SMALL, model: ScriptedModel | None = None) -> SimEngine:
    return SimEngine(options, model or ScriptedModel(counting))


def play(engine: SimEngine, transcript: str) -> None:
    """Check one conversation, at whose end the engine has nothing more to do."""
    printed = list[str]()
    for line in filter(None, map(str.strip, transcript.splitlines())):
        direction, text = line[:2], line[3:]
        if direction == ">>":
            assert printed == []
            engine.from_client(text.encode() + b"\n")
            continue
        assert direction == "<<"
        while not printed:
            step = engine.step()
            assert step is not None, f"idle instead of {text!r}"
            printed += step.output.decode().splitlines()
        said = printed.pop(0)
        if text.endswith(" ..."):
            assert said.startswith(text[:-3])
        else:
            assert said == text
    assert printed == []
    assert engine.step() is None


def holds_slot(engine: SimEngine, slot: int) -> list[int] | None:
    """The tokens of a slot whose state is valid, else None."""
    held = engine.holds().slots[slot]
    return held.tokens.tolist() if held.valid else None


def holds_main(engine: SimEngine) -> list[int] | None:
    """The tokens of the main session where it can be continued, else None."""
    held = engine.holds().main
    return held.tokens.tolist() if held.valid else None
