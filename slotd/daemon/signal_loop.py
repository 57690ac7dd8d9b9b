"""Taking blocked signals, one after the other, in trio.

Here: waiting for them. Not here: which are taken and what they mean (`slotd.daemon.signals`).
"""

import os
import signal
from collections.abc import Callable

import trio

from slotd.daemon.signals import SENT_BY_KERNEL, TakenSignals


async def obey_signals(signals: TakenSignals, obey: Callable[[int, bool], None]) -> None:
    """Call `obey` with every signal and whether a terminal has sent it, for ever."""
    for number in signals.early:
        obey(number, False)
    signals.early.clear()
    while signals.numbers:
        info = await trio.to_thread.run_sync(
            signal.sigwaitinfo, signals.numbers, abandon_on_cancel=True
        )
        obey(info.si_signo, info.si_code == SENT_BY_KERNEL)


def send_again(signals: TakenSignals) -> None:
    """Send what was recorded while the signals were not blocked to this process once more."""
    numbers, signals.early[:] = signals.early[:], []
    for number in numbers:
        os.kill(os.getpid(), number)
