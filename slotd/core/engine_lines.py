"""What each line of the engine changes in the model: the table of all of them.

Here: the transition of every kind of line, and those of lines that belong to no request and no
slot. Not here: lines of a request on the control lines (`request_lines`), lines of slots
(`slot_lines`), rewriting lines for the client (`rewriting`).

The facts are those of ENGINE.md, "What the caches hold".
"""

from collections.abc import Callable
from typing import Any

from protocol import (
    Admitted,
    Answer,
    BatchDone,
    BatchToken,
    CacheSource,
    Checks,
    Done,
    EngineError,
    EngineLine,
    EngineOpaque,
    Info,
    Parked,
    Progress,
    Ready,
    Resume,
    Token,
    Yielded,
)
from slotd.core import request_lines, slot_lines
from slotd.core.flight import Beyond, Question
from slotd.core.model import Model

_LOSES_MAIN = frozenset({"RESTORED", "SESSION", "RELEASED", "FATAL"})
"""Answers after which the main session may be another one, or none: a file's, or its memory given
back. Nothing is believed of it then. Wrongly so costs one conversation its park; wrongly believing
in it would park and protect what is not there. (`SERR` and `VRAM` leave it alone.)"""


_WINDOW_LINES = frozenset({BatchToken, BatchDone})
"""The lines a window of decoding prints; any other line ends it."""


def observe(model: Model, line: EngineLine, now: float) -> None:
    """Take in one line of the engine, printed at `now` (seconds)."""
    kind = type(line)
    if model.pad_rows is not None and kind not in _WINDOW_LINES:
        model.pad_rows.end()
    TRANSITIONS[kind](model, line, now)


def info(model: Model, line: Info, now: float) -> None:
    """Learn capabilities; INFO may come in several lines."""
    model.describe(model.capabilities.with_info(line.fields))
    known = model.capabilities
    model.tell(
        "engine_info",
        "info",
        batch_slots=known.batch_slots,
        batch_groups=known.batch_groups,
        slot_cache=known.slot_cache,
        slot_padding_safe=known.slot_padding_safe,
        slot_park=known.slot_park,
        turn_token=known.turn_token,
        context=known.context,
        engine=known.engine,
    )


def ready(model: Model, line: Ready, now: float) -> None:
    """Serve from here on."""
    model.describe(model.capabilities.with_ready(line.context, line.stop))
    model.tell("engine_ready", "info", context=line.context, stop=line.stop)


def answer(model: Model, line: Answer, now: float) -> None:
    """End an exchange, unless a request is answered next."""
    if line.verb in _LOSES_MAIN:
        model.main.forget()
    if isinstance(model.flight.head, Question):
        model.flight.pop(now)
    else:
        model.flight.end_untracked(Beyond.QUESTION)


def opaque(model: Model, line: EngineOpaque, now: float) -> None:
    """Take a line that says nothing known for the answer to a line that asked nothing known."""
    head = model.flight.head
    if isinstance(head, Question) and head.any_answer:
        model.flight.pop(now)
    else:
        model.flight.end_untracked(Beyond.QUESTION)


TRANSITIONS: dict[type[EngineLine], Callable[[Model, Any, float], None]] = {
    Info: info,
    Ready: ready,
    Parked: request_lines.parked,
    CacheSource: request_lines.cache_source,
    Resume: request_lines.resume,
    Progress: request_lines.progress,
    Token: request_lines.token,
    Yielded: request_lines.yielded,
    Done: request_lines.done,
    Admitted: request_lines.admitted,
    EngineError: request_lines.error,
    BatchToken: slot_lines.batch_token,
    BatchDone: slot_lines.batch_done,
    Checks: slot_lines.checks,
    Answer: answer,
    EngineOpaque: opaque,
}
"""The transition of every kind of line: (model, the line, seconds) -> None."""
