"""A client that does not read: the engine's output waits, and nothing else does."""

import os
from pathlib import Path

from tests.daemon.processes import HANGS_AFTER, behind_slotd, python_engine, started

MOST_ON_THE_WAY = 1 << 20
"""Bytes: both pipes and what slotd holds are less; a buffer without bound would be more."""

ENGINE = """
import select

def listen():
    for line in sys.stdin:
        if line == "STOP\\n":
            stopped.set()
            os.write(2, b"stopped after %d\\n" % printed)

stopped = threading.Event()
printed = 0
held_up = False
threading.Thread(target=listen, daemon=True).start()
os.set_blocking(1, False)
room = select.poll()
room.register(1, select.POLLOUT)
while not stopped.is_set():
    # A second without room is taken for being held up. (On a machine slow enough to take that long
    # by itself the test shows less, and fails no sooner.)
    if not room.poll(1000) and not held_up:
        held_up = True
        os.write(2, b"held up\\n")
    elif printed > 64 << 20:
        os.write(2, b"not held up\\n")
        break
    else:
        try:
            printed += os.write(1, b"BT 1 1234567\\n"[printed % 13:])
        except BlockingIOError:
            pass
os.set_blocking(1, True)
os.write(1, b"BT 1 1234567\\n"[printed % 13:] + b"DONE %d\\n" % printed)
sys.exit(3)
"""


def test_stop_gets_through_to_an_engine_nobody_listens_to(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    command = behind_slotd(python_engine(tmp_path, ENGINE), "--log-file", str(tmp_path / "log"))
    with os.fdopen(reads, "rb") as said, started(command, stderr=writes, bufsize=0) as slotd:
        os.close(writes)
        assert said.readline() == b"held up\n"
        assert slotd.stdin is not None
        assert slotd.stdout is not None
        slotd.stdin.write(b"STOP\n")
        *words, printed = said.readline().split()
        assert words == [b"stopped", b"after"]
        assert int(printed) < MOST_ON_THE_WAY
        # Nothing was lost, and everything comes in order once somebody reads.
        *tokens, done = slotd.stdout.read().splitlines()
        assert slotd.wait(HANGS_AFTER) == 3
    assert set(tokens) == {b"BT 1 1234567"}
    assert len(tokens) == int(done.split()[1]) // 13 + 1
