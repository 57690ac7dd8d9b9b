"""Options that the commands about replays share, and what they are turned into.

Here: the simulated engine's options and the traffic. Not here: any command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import click

from slotd.cli.numbers import FiniteRange
from slotd.replay.load import load_traffic
from slotd.sim.options import SimOptions
from slotd.sim.timing import Timing
from slotd.workload.traces import TraceError
from slotd.workload.traffic import Traffic

P = ParamSpec("P")
R = TypeVar("R")

_DEFAULTS = SimOptions()
_MOST: Final = 1e6
"""No engine is faster, in tokens a second, or takes longer to copy 1,000 tokens, in ms."""


def engine_options(command: Callable[P, R]) -> Callable[P, R]:
    """Add the options that describe the simulated engine."""
    for option in (
        click.option(
            "--copy-ms",
            type=FiniteRange(min=0, max=_MOST),
            default=_DEFAULTS.timing.copy_ms_per_1k,
            show_default=True,
            help="Milliseconds to copy 1,000 tokens.",
        ),
        click.option(
            "--solo-rate",
            type=FiniteRange(min=1 / _MOST, max=_MOST),
            default=round(1000 / _DEFAULTS.timing.solo_step_ms, 1),
            show_default=True,
            help="Tokens a second of one request that decodes alone.",
        ),
        click.option(
            "--prompt-rate",
            type=FiniteRange(min=1 / _MOST, max=_MOST),
            default=_DEFAULTS.timing.prompt_tok_s,
            show_default=True,
            help="Prompt tokens read a second.",
        ),
        click.option(
            "--groups",
            type=click.IntRange(min=1),
            default=_DEFAULTS.batch_groups,
            show_default=True,
            help="Pipelined groups; must divide the slots.",
        ),
        click.option(
            "--slots",
            type=click.IntRange(min=1),
            default=_DEFAULTS.batch_slots,
            show_default=True,
            help="Batch slots.",
        ),
    ):
        command = option(command)
    return command


def engine(
    slots: int, groups: int, prompt_rate: float, solo_rate: float, copy_ms: float
) -> SimOptions:
    """Return the engine the options describe; refuse one that cannot be."""
    timing = Timing(
        prompt_tok_s=prompt_rate,
        solo_step_ms=1000 / solo_rate,
        copy_ms_per_1k=copy_ms,
        restore_ms_per_1k=copy_ms,
    )
    try:
        return SimOptions(batch_slots=slots, batch_groups=groups, timing=timing)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def traffic_named(name: str) -> Traffic:
    """Load a traffic; say in one line why it cannot be."""
    try:
        traffic = load_traffic(name)
    except TraceError as error:
        raise click.UsageError(str(error)) from error
    if not traffic.requests:
        raise click.UsageError(f"{name}: there is no request in it")
    return traffic
