"""Signals: the table by itself, and what a real engine gets to see of them."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotd.daemon.signals import ASK_TO_END, PASSED_ON, RELOADS, Action, action
from tests.daemon.processes import (
    HANGS_AFTER,
    Process,
    behind_slotd,
    hear,
    python_engine,
    say,
    started,
)

COUNTING = """
counts = {}

def count(number, frame):
    counts[number] = counts.get(number, 0) + 1
    os.write(1, b"got %s\\n" % signal.Signals(number).name.encode())

for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), count)
os.write(1, b"READY 9\\n")
for line in sys.stdin:
    os.write(1, b"%d\\n" % sum(counts.values()))
sys.exit(11)
"""
"""An engine that says which signals it gets, and at every line how many it has had."""


@pytest.mark.parametrize("number", sorted(PASSED_ON))
def test_what_does_not_ask_to_end_is_always_passed_on(number: int) -> None:
    for asked in (0, 1, 5):
        assert action(number, typed=False, asked=asked, engine_ended=False) is Action.PASS_ON
    assert action(number, typed=False, asked=0, engine_ended=True) is Action.NOTHING


@pytest.mark.parametrize("number", sorted(RELOADS))
def test_a_hang_up_is_no_business_of_the_engines(number: int) -> None:
    for asked in (0, 1, 5):
        assert action(number, typed=False, asked=asked, engine_ended=False) is Action.RELOAD
    assert action(number, typed=False, asked=0, engine_ended=True) is Action.NOTHING


@pytest.mark.parametrize("number", sorted(ASK_TO_END))
def test_what_asks_to_end_is_passed_on_once_and_kills_then(number: int) -> None:
    assert action(number, typed=False, asked=0, engine_ended=False) is Action.PASS_ON
    assert action(number, typed=True, asked=0, engine_ended=False) is Action.LEAVE
    for typed in (False, True):
        assert action(number, typed=typed, asked=1, engine_ended=False) is Action.KILL
        assert action(number, typed=typed, asked=0, engine_ended=True) is Action.GIVE_UP


@contextmanager
def counting(tmp_path: Path) -> Iterator[Process]:
    with started(behind_slotd(python_engine(tmp_path, COUNTING))) as slotd:
        assert hear(slotd) == b"READY 9\n"
        yield slotd


@pytest.mark.parametrize("name", ["TERM", "INT", "QUIT", "USR1", "USR2"])
def test_a_signal_is_passed_on_and_the_relay_goes_on(tmp_path: Path, name: str) -> None:
    with counting(tmp_path) as slotd:
        slotd.send_signal(getattr(signal, f"SIG{name}"))
        assert hear(slotd) == f"got SIG{name}\n".encode()
        say(slotd, b"how many?\n")
        assert hear(slotd) == b"1\n"
        assert slotd.stdin is not None
        slotd.stdin.close()
        assert slotd.wait(HANGS_AFTER) == 11


def test_what_does_not_ask_to_end_is_passed_on_every_time(tmp_path: Path) -> None:
    with counting(tmp_path) as slotd:
        for _ in range(3):
            slotd.send_signal(signal.SIGUSR1)
            assert hear(slotd) == b"got SIGUSR1\n"


@pytest.mark.parametrize("names", [("TERM", "TERM"), ("TERM", "INT"), ("INT", "TERM")])
def test_asking_twice_kills_the_engine(tmp_path: Path, names: tuple[str, str]) -> None:
    with counting(tmp_path) as slotd:
        slotd.send_signal(getattr(signal, f"SIG{names[0]}"))
        assert hear(slotd) == f"got SIG{names[0]}\n".encode()
        slotd.send_signal(getattr(signal, f"SIG{names[1]}"))
        assert slotd.wait(HANGS_AFTER) == 128 + 9


def test_an_engine_that_ends_by_the_signal_gives_its_status(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, 'os.write(1, b"READY 9\\n")\nsignal.pause()')
    with started(behind_slotd(engine)) as slotd:
        assert hear(slotd) == b"READY 9\n"
        slotd.terminate()
        assert slotd.wait(HANGS_AFTER) == 128 + 15


def test_a_signal_that_was_ignored_stays_so(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
os.write(1, b"ignored\\n" if ignored else b"not ignored\\n")
for line in sys.stdin:
    os.write(1, line.encode())
""",
    )
    deaf = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *behind_slotd(engine)]
    with started(deaf) as slotd:
        assert hear(slotd) == b"ignored\n"
        slotd.send_signal(signal.SIGHUP)
        say(slotd, b"still there\n")
        assert hear(slotd) == b"still there\n"


def test_once_the_engine_has_ended_a_signal_ends_slow_delivery(tmp_path: Path) -> None:
    # More than one pipe holds, and less than would keep the engine from ending.
    engine = python_engine(
        tmp_path,
        """
os.write(1, b"T 1\\n" * 30_000)
sys.exit(6)
""",
    )
    with started(behind_slotd(engine), stderr=subprocess.PIPE) as slotd:
        assert slotd.stderr is not None
        for line in slotd.stderr:
            if b'"engine_exit"' in line:
                break
        slotd.terminate()
        assert slotd.wait(HANGS_AFTER) == 6


ON_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(2), os.O_RDWR))  # the first one a session opens becomes its own
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def on_terminal(command: list[str]) -> Iterator[tuple[Process, int]]:
    """Start `command` as a terminal's foreground process group; yield the terminal's other end."""
    mine, terminal = pty.openpty()
    try:
        with started([sys.executable, "-c", ON_TERMINAL, *command], stderr=terminal) as slotd:
            os.close(terminal)
            yield slotd, mine
    finally:
        os.close(mine)


def test_a_typed_interrupt_reaches_the_engine_once(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, COUNTING)
    with on_terminal(behind_slotd(engine)) as (slotd, keyboard):
        assert hear(slotd) == b"READY 9\n"
        os.write(keyboard, b"\x03")
        assert hear(slotd) == b"got SIGINT\n"
        # A second one by slotd would be sent before slotd looked at another signal.
        slotd.send_signal(signal.SIGUSR1)
        assert hear(slotd) == b"got SIGUSR1\n"
        say(slotd, b"how many?\n")
        assert hear(slotd) == b"2\n"
        os.write(keyboard, b"\x03")
        assert slotd.wait(HANGS_AFTER) == 128 + 9


def test_a_sent_interrupt_reaches_the_engine_also_on_a_terminal(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, COUNTING)
    with on_terminal(behind_slotd(engine)) as (slotd, _):
        assert hear(slotd) == b"READY 9\n"
        slotd.send_signal(signal.SIGINT)
        assert hear(slotd) == b"got SIGINT\n"
