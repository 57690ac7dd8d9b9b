"""`slotd replay`: a traffic under one or several policies, in virtual time.

Here: the command. Not here: the replay (`slotd.replay`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from slotd.cli.numbers import FiniteRange
from slotd.cli.replay_options import engine, engine_options, traffic_named
from slotd.cli.sources import Refusal
from slotd.replay.drive import Row, Run, replay
from slotd.replay.outcome import Outcome, earlier_uses, outcome
from slotd.replay.policies import POLICIES
from slotd.replay.show import check_plot, table_of
from slotd.replay.show import plot as draw
from slotd.workload.traffic import thin as thinned


@click.command("replay")
@click.argument("trace")
@click.option(
    "--policy",
    "names",
    multiple=True,
    type=click.Choice([*POLICIES, "all"]),
    help="A policy to run; more than one is fine. Without it: serve-groups, retention, adaptive.",
)
@click.option(
    "--thin",
    type=FiniteRange(min=0, max=1, min_open=True),
    default=1.0,
    show_default=True,
    help="Keep a random share of the conversations.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which share.")
@engine_options
@click.option("--by-clock", is_flag=True, help="Send by arrival times though gaps are known.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a policy.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw reuse by policy and over time into this image file.",
)
def replay_command(
    trace: str,
    names: tuple[str, ...],
    thin: float,
    seed: int,
    slots: int,
    groups: int,
    prompt_rate: float,
    solo_rate: float,
    copy_ms: float,
    by_clock: bool,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Run TRACE against the simulated engine under one or several policies.

    TRACE is a record slotd wrote, a trace in the Mooncake or the Bailian format, or "agents" (or
    "agents:SEED") for a generated working day.

    \b
    serve         the serve process's own table
    serve-groups  the serve process with pipelined groups
    lru, llama.cpp, value, retention (the default policy), adaptive
    clairvoyant   knows the future: a greedy bound

    The table has prompt tokens in all and reused, those read again though an earlier history held
    them - because a slot with it was given to something else (replaced), the main session's was
    lost (never parked), or its end is no longer in the prompt (rewritten) -, the seconds to the
    first token, and how often slots were chosen and parks made for which reason.
    """  # noqa: D301 - the backspace itself is what keeps click from joining the lines
    if plot is not None:
        _drawing(plot, partial(check_plot, plot))
    options = engine(slots, groups, prompt_rate, solo_rate, copy_ms)
    traffic = thinned(traffic_named(trace, options), thin, seed)
    chosen = names or ("serve-groups", "retention", "adaptive")
    wanted = [name for name in POLICIES if name in chosen or "all" in chosen]
    earlier = earlier_uses(traffic)
    runs: list[Run] = []
    outcomes: list[Outcome] = []
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        for name in wanted:
            task = progress.add_task(name, total=len(traffic.requests))

            def ended(row: Row, task: object = task) -> None:
                progress.advance(task)  # type: ignore[arg-type]  # TaskID is a NewType of int

            runs.append(replay(traffic, POLICIES[name], options, by_clock=by_clock, on_end=ended))
            outcomes.append(outcome(runs[-1], earlier))
    if as_json:
        for found in outcomes:
            click.echo(json.dumps(found.as_json()))
    else:
        title = f"{traffic.name}: {len(traffic.requests)} requests, {traffic.seconds / 3600:.2f} h"
        console = Console()
        if not console.is_terminal:
            console = Console(width=220)
        console.print(table_of(outcomes, title))
    if plot is not None:
        _drawing(plot, partial(draw, runs, outcomes, traffic.name, plot))


def _drawing(file: Path, work: Callable[[], None]) -> None:
    try:
        work()
    except ImportError as error:
        raise Refusal("--plot needs matplotlib: install slotd with the extra plot") from error
    except OSError as error:
        raise Refusal(f"--plot {file}: cannot be written: {error.strerror}") from error
    except ValueError as error:
        raise Refusal(f"--plot {file}: cannot be written: {error}") from error
