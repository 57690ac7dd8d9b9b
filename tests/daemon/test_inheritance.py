"""What the engine inherits, and what is left behind on descriptors others share."""

import fcntl
import json
import os
import pty
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.clients.slotd import SLOTD_ENGINE
from tests.daemon.processes import behind_slotd, hear, outcome, python_engine, say, started

REPORTING = """
import json, stat
with open("/proc/self/environ", "rb") as file:
    environment = sorted(file.read().decode("latin-1").split("\\0"))
with open("/proc/self/status") as file:
    signals = [line for line in file if line.startswith(("SigBlk", "SigIgn"))]
descriptors = {}
for name in os.listdir("/proc/self/fd"):
    try:
        status = os.fstat(int(name))
    except OSError:
        continue  # the one that was the listing itself
    descriptors[name] = [stat.S_IFMT(status.st_mode), status.st_ino if int(name) > 1 else None]
report = {
    "arguments": sys.argv[1:],
    "environment": environment,
    "directory": os.getcwd(),
    "signals": signals,
    "descriptors": descriptors,
    "umask": os.umask(0),
}
print(json.dumps(report))
"""


def report(command: Sequence[str], **options: Any) -> dict[str, Any]:
    status, out, err = outcome(command, **options)
    assert status == 0, err.decode()
    whole: dict[str, Any] = json.loads(out)
    return whole


def test_the_engine_has_what_it_would_have_had(tmp_path: Path) -> None:
    engine = [*python_engine(tmp_path, REPORTING), "--serve", "a b", ""]
    # Without a locale Python would add one to the environment of its own and of its children.
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C", "ODD": "\udcff=\n"}
    extra = os.open(os.devnull, os.O_RDONLY)
    try:
        options = {
            "cwd": tmp_path,
            "env": environment,
            "pass_fds": [extra],
            "stderr": subprocess.PIPE,
        }
        direct = report(engine, **options)
        behind = report(behind_slotd(engine), **options)
        in_place = report(
            [*SLOTD_ENGINE, *engine[1:]],
            **{**options, "env": {**environment, "SLOTD_ENGINE": engine[0]}},
        )
    finally:
        os.close(extra)
    assert str(extra) in direct["descriptors"]
    standard_error = [run["descriptors"].pop("2") for run in (direct, behind, in_place)]
    assert {kind for kind, _ in standard_error} == {standard_error[0][0]}  # a pipe of each run's
    in_place["environment"].remove(f"SLOTD_ENGINE={engine[0]}")
    assert behind == direct
    assert in_place == direct


def test_a_closed_standard_error_is_closed_for_the_engine(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
try:
    os.fstat(2)
    sys.exit(1)
except OSError:
    os.write(1, sys.stdin.readline().encode())
    sys.exit(3)
""",
    )
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *behind_slotd(engine)]
    assert outcome(command, b"VRAM\n") == (3, b"VRAM\n", b"")


def test_closed_standard_input_and_output_are_empty(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, 'os.write(1, b"READY\\n"); sys.exit(len(sys.stdin.read()))')
    command = ["sh", "-c", 'exec "$@" <&- >&-', "sh", *behind_slotd(engine)]
    status, out, err = outcome(command)
    assert (status, out) == (0, b"")
    assert b'"event":"engine_exit","status":0' in err


ECHO = """
for line in sys.stdin.buffer:
    os.write(1, line)
os.write(2, b"engine done\\n")
"""


def blocks(descriptor: int) -> bool:
    return not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK


def test_pipes_stay_blocking_for_whoever_shares_them(tmp_path: Path) -> None:
    reads, we_write = os.pipe()
    we_read, writes = os.pipe()
    engine = python_engine(tmp_path, ECHO)
    with started(behind_slotd(engine), stdin=reads, stdout=writes, stderr=writes) as slotd:
        os.write(we_write, b"VRAM\n")
        with os.fdopen(we_read, "rb") as out:
            while b"VRAM" not in out.readline():
                pass  # slotd's log, on the same pipe
            assert blocks(reads)
            assert blocks(writes)
            os.close(we_write)
            os.close(reads)
            slotd.wait()
            assert blocks(writes)
            os.close(writes)
            assert b"engine done\n" in out.read()


def test_one_terminal_for_all_three_stays_blocking(tmp_path: Path) -> None:
    mine, terminal = pty.openpty()
    engine = python_engine(tmp_path, ECHO)
    everything = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
    with started(behind_slotd(engine, "--policy", "off"), **everything) as slotd:
        os.write(mine, b"VRAM\n")
        seen = b""
        while seen.count(b"VRAM") < 2:  # the terminal's echo, and the engine's
            seen += os.read(mine, 4096)
        assert blocks(terminal)
        os.write(mine, b"\x04")
        while b"engine done" not in seen:
            seen += os.read(mine, 4096)
        slotd.wait()
    assert blocks(terminal)
    assert b"engine_start" in seen
    assert b'{"ts"' not in seen  # for a person: text
    os.close(terminal)
    os.close(mine)


def test_sockets_stay_blocking_and_work_both_ways(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    data = b"BT 0 1\n" * 50_000
    with ours, theirs:
        everything = {"stdin": theirs, "stdout": theirs}
        with started(behind_slotd(["cat"], "--policy", "off"), **everything) as slotd:
            ours.sendall(b"VRAM\n")
            assert ours.recv(5, socket.MSG_WAITALL) == b"VRAM\n"
            assert blocks(theirs.fileno())
            theirs.close()
            got = bytearray()
            for start in range(0, len(data), 7000):
                ours.sendall(data[start : start + 7000])
                got += ours.recv(7000, socket.MSG_WAITALL)
            ours.shutdown(socket.SHUT_WR)
            while more := ours.recv(1 << 16):
                got += more
            assert slotd.wait() == 0
    assert got == data


def test_slotd_keeps_no_copy_of_what_the_engine_writes_to(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path, 'os.write(1, b"READY\\n"); sys.stdin.readline(); os.close(1); sys.stdin.read()'
    )
    with started(behind_slotd(engine)) as slotd:
        assert hear(slotd) == b"READY\n"
        say(slotd, b"go on\n")
        assert hear(slotd) == b""
