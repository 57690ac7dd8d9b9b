"""`slotd top`: a running slotd, live on a full screen.

Here: the command. Not here: the screen (`slotd.eyes.screen`, which needs the extra `top`).
"""

from functools import partial

import click

from slotd.cli.control import control_option, extra_missing
from slotd.cli.numbers import FiniteRange
from slotd.eyes.ask import ask


@click.command()
@control_option
@click.option(
    "--every",
    metavar="SECONDS",
    type=FiniteRange(min=0.1),
    default=1.0,
    show_default=True,
    help="Look again after so long.",
)
def top(control: str, every: float) -> None:
    """Watch a running slotd: its engine, slots and last events, full screen.

    q ends it, space holds it still, home and end go through the events. It only looks: nothing it
    does reaches slotd or the engine.
    """
    try:
        from slotd.eyes.screen import TopScreen
    except ImportError as missing:
        raise extra_missing("top", missing) from None
    TopScreen(partial(ask, control), every).run()
