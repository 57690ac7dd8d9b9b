"""What a signal to slotd means for the engine.

Here: the table, taking signals from the moment the engine is started, and the asynchronous loop
that obeys them. `slotd run` knows these:

    signal              first                               again
    TERM                passed on to the engine             the engine is killed
    INT, QUIT (*)       passed on to the engine             the engine is killed
    INT, QUIT, typed    nothing: the terminal has sent it   the engine is killed
                        to the engine as well
    USR1, USR2          passed on to the engine             passed on again
    HUP                 the settings are read again         and again
    TERM, INT, QUIT once the engine has ended (the client is slow to take its last lines):
                        slotd stops delivering and exits with the engine's status

(*) sent by a process rather than typed at a terminal slotd and the engine share. What is passed on
does what it would have done without slotd; slotd itself goes on relaying until the engine has
ended. A signal that slotd was started with as ignored (nohup, a shell's background job) stays so.
KILL and STOP cannot be handled: when slotd is killed, the engine sees the end of its input.

`slotd host` knows the same, but that TERM, INT and QUIT ask slotd itself to end: it stops what
runs, and asks the engine to end by `QUIT`. A typed one reaches the engine as well.

Signals are blocked in slotd and taken with sigwaitinfo, as only that tells a typed INT from a sent
one. The engine is started before they are blocked, and so does not inherit that.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from types import FrameType

ASK_TO_END = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
PASSED_ON = frozenset({signal.SIGUSR1, signal.SIGUSR2})
RELOADS = frozenset({signal.SIGHUP})
SENT_BY_KERNEL = 0x80
"""si_code of a signal a terminal sends (SI_KERNEL of Linux's siginfo)."""


class Action(Enum):
    """What is done about a signal."""

    PASS_ON = auto()
    LEAVE = auto()
    KILL = auto()
    GIVE_UP = auto()
    RELOAD = auto()
    NOTHING = auto()


def action(number: int, *, typed: bool, asked: int, engine_ended: bool) -> Action:
    """Return what signal `number` asks for; the module's docstring has the table.

    `typed`: a terminal sent it to the engine as well. `asked`: how often the engine has been asked
    to end before.
    """
    if number in RELOADS:
        return Action.NOTHING if engine_ended else Action.RELOAD
    if number not in ASK_TO_END:
        return Action.NOTHING if engine_ended else Action.PASS_ON
    if engine_ended:
        return Action.GIVE_UP
    if asked:
        return Action.KILL
    return Action.LEAVE if typed else Action.PASS_ON


class TakenSignals:
    """The signals slotd handles, recorded from now on and, once blocked, kept for sigwaitinfo."""

    def __init__(self) -> None:
        """Record them. Those that are ignored stay ignored."""
        self.early: list[int] = []
        """What arrived before they were blocked, in order."""
        self.numbers = frozenset(
            number
            for number in ASK_TO_END | PASSED_ON | RELOADS
            if signal.getsignal(number) is not signal.SIG_IGN
        )
        for number in self.numbers:
            signal.signal(number, self._record)

    def block(self) -> None:
        """Block them in this thread and in those it starts: they wait for sigwaitinfo."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self.numbers)

    @contextmanager
    def unblocked(self) -> Iterator[None]:
        """Let what is started inside not inherit the block; what arrives meanwhile is recorded."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self.numbers)
        try:
            yield
        finally:
            self.block()

    def _record(self, number: int, _frame: FrameType | None) -> None:
        self.early.append(number)
