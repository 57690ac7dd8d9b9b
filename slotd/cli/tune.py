"""`slotd tune`: the settings that fit one's own traffic.

Here: the command. Not here: the search (`slotd.replay.tune`).
"""

from __future__ import annotations

import sys

import click
from attrs import asdict
from rich.console import Console
from rich.progress import Progress

from slotd.cli.replay_options import engine, engine_options, traffic_named
from slotd.policy.settings import ENVIRONMENT_NAMES, PolicySettings
from slotd.replay.tune import Tuned, runs_needed
from slotd.replay.tune import tune as search


@click.command("tune")
@click.argument("trace")
@click.option(
    "--thin",
    type=click.FloatRange(min=0, max=1, min_open=True),
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

    TRACE is what `slotd replay` takes. The settings are searched for the tokens they reuse; the
    report is on the half that was not searched, never on the same requests.
    """
    options = engine(slots, groups, prompt_rate, solo_rate, copy_ms)
    traffic = traffic_named(trace)
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("replays", total=runs_needed(thinnings))
        tuned = search(
            traffic,
            options,
            share=thin,
            thinnings=thinnings,
            seed=seed,
            on_run=lambda: progress.advance(task),
        )
    click.echo(report_of(tuned, thinnings))


def report_of(tuned: Tuned, thinnings: int) -> str:
    """Write what a search found, with the settings to paste."""
    gain = tuned.gain
    share = gain.mean / tuned.default_tokens if tuned.default_tokens else 0.0
    measured = (
        f"{gain.mean:+,.0f} tokens reused ({share:+.1%}) on the second half, 95% confidence"
        f" {gain.low:+,.0f} to {gain.high:+,.0f}, over {thinnings} thinnings"
    )
    defaults = asdict(PolicySettings())
    changed = {
        name: value for name, value in asdict(tuned.settings).items() if value != defaults[name]
    }
    if not changed:
        return f"None of the {tuned.tried} settings tried beats the defaults on the first half."
    lines = ["[policy]", *(f"{name} = {value:g}" for name, value in changed.items())]
    names = " ".join(f"{ENVIRONMENT_NAMES[name]}={value:g}" for name, value in changed.items())
    if not tuned.beats:
        return "\n".join(
            [
                "Nothing beats the defaults beyond noise.",
                f"The best of {tuned.tried} on the first half ({names}):",
                measured,
            ]
        )
    return "\n".join([f"The best of {tuned.tried}: {measured}", "", *lines, "", f"or: {names}"])
