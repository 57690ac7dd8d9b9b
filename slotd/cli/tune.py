"""`slotd tune`: the settings that fit one's own traffic.

Here: the command. Not here: the search (`slotd.replay.tune`).
"""

from __future__ import annotations

import sys

import click
from attrs import asdict
from rich.console import Console
from rich.progress import Progress

from slotd.cli.numbers import FiniteRange
from slotd.cli.replay_options import engine, engine_options, traffic_named
from slotd.policy.settings import ENVIRONMENT_NAMES, PolicySettings
from slotd.replay.tune import Part, TooLittleTrafficError, Tuned, runs_needed
from slotd.replay.tune import tune as search
from slotd.sim.options import SimOptions
from slotd.workload.traffic import Traffic


@click.command("tune")
@click.argument("trace")
@click.option(
    "--thin",
    type=FiniteRange(min=0, max=1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="The share of the conversations in each thinning.",
)
@click.option(
    "--thinnings",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="How many thinnings of each half.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the first thinning.")
@engine_options
def tune_command(
    trace: str,
    thin: float,
    thinnings: int,
    seed: int,
    slots: int,
    groups: int,
    prompt_rate: float,
    solo_rate: float,
    copy_ms: float,
) -> None:
    """Search the policy's settings on the first half of TRACE and report on the second.

    TRACE is what `slotd replay` takes. Tried are values of ttl_max_s, idle_value_zero_s,
    park_value_ratio, expired_keep_score and park_min_value, one setting after the other, for the
    tokens they reuse. The report is on the half of the time that was not searched, never on the
    same requests. Its confidence interval is over thinnings of that half, which have conversations
    in common: another day may differ by more.
    """
    options = engine(slots, groups, prompt_rate, solo_rate, copy_ms)
    traffic = traffic_named(trace, options)
    try:
        tuned = _searched(traffic, options, thin, thinnings, seed)
    except TooLittleTrafficError as error:
        raise click.ClickException(str(error)) from error
    click.echo(report_of(tuned))


def _searched(
    traffic: Traffic, options: SimOptions, thin: float, thinnings: int, seed: int
) -> Tuned:
    """Search, with a progress bar on a terminal."""
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("replays", total=runs_needed(thinnings))
        return search(
            traffic,
            options,
            share=thin,
            thinnings=thinnings,
            seed=seed,
            on_run=lambda: progress.advance(task),
        )


def report_of(tuned: Tuned) -> str:
    """Write what a search found, with the settings to paste."""
    first, second = tuned.first, tuned.second
    lines = [
        f"Searched: {tuned.tried} settings on the first half, {_traffic(first)}.",
        f"Judged on the second half, {_traffic(second)}.",
    ]
    defaults = asdict(PolicySettings())
    changed = {
        name: value for name, value in asdict(tuned.settings).items() if value != defaults[name]
    }
    if not changed:
        nothing = "None of the settings tried beats the defaults on the first half,"
        if tuned.first_tokens:
            return "\n".join([*lines, f"{nothing} which reuse {tuned.first_tokens:,.0f} tokens."])
        return "\n".join(
            [*lines, f"{nothing} where none reuses anything: it is no measure of them."]
        )
    names = " ".join(f"{ENVIRONMENT_NAMES[name]}={value:g}" for name, value in changed.items())
    measured = _measured(tuned)
    if not tuned.beats:
        lines.append("Nothing beats the defaults beyond noise.")
        lines.append(f"The best on the first half ({names}): {measured}")
        return "\n".join(lines)
    settings = (f"{name} = {value:g}" for name, value in changed.items())
    return "\n".join(
        [*lines, f"The best: {measured}", "", "[policy]", *settings, "", f"or: {names}"]
    )


def _traffic(part: Part) -> str:
    return (
        f"{part.requests:,} requests of {part.conversations:,} conversations in"
        f" {len(part.thinnings)} thinnings"
    )


def _measured(tuned: Tuned) -> str:
    gain, defaults = tuned.gain, tuned.default_tokens
    share = f" ({gain.mean / defaults:+.1%})" if defaults else ""
    return (
        f"{gain.mean:+,.0f} tokens reused{share} on the second half, 95% confidence"
        f" {gain.low:+,.0f} to {gain.high:+,.0f}; the defaults reuse {defaults:,.0f}"
    )
