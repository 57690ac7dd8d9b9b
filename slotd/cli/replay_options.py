"""Options that the commands about replays share, and what they are turned into.

Here: the simulated engine's options and the traffic. Not here: any command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import click

from slotd.cli.numbers import FiniteRange
from slotd.core.capabilities import MAX_SLOTS
from slotd.replay.load import fitting, load_traffic
from slotd.sim.options import SimOptions
from slotd.sim.timing import SOLO_TOK_S, Timing
from slotd.workload.fields import TraceError
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
            default=SOLO_TOK_S,
            show_default=True,
            help="Tokens a second of one request that decodes alone; more at a time go on being"
            " as much faster together as published.",
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
            type=click.IntRange(1, MAX_SLOTS),
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
        window_ms=tuple(ms * (SOLO_TOK_S / solo_rate) for ms in _DEFAULTS.timing.window_ms),
        solo_step_ms=1000 / solo_rate,
        copy_ms_per_1k=copy_ms,
        restore_ms_per_1k=copy_ms,
    )
    try:
        return SimOptions(batch_slots=slots, batch_groups=groups, timing=timing)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def traffic_named(name: str, options: SimOptions) -> Traffic:
    """Load a traffic for an engine; say in one line why it cannot be, or what is left out."""
    try:
        whole = load_traffic(name)
    except TraceError as error:
        raise click.UsageError(str(error)) from error
    traffic = fitting(whole, options)
    left_out = len(whole.requests) - len(traffic.requests)
    if left_out:
        why = f"too long for the engine's context of {options.context:,} tokens"
        said = f"{left_out} of {len(whole.requests)} requests left out: {why}"
        click.echo(f"slotd: {name}: {said}", err=True)
    if not traffic.requests:
        raise click.UsageError(f"{name}: there is no request in it")
    return traffic
