"""How `slotd run` ends: exit statuses, last words, ends of streams."""

import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.daemon.processes import (
    HANGS_AFTER,
    Process,
    behind_slotd,
    hear,
    outcome,
    python_engine,
    say,
    started,
)
from tests.paths import REFENGINE


def test_a_session_with_the_reference_engine_ends_when_its_input_does() -> None:
    engine = [sys.executable, str(REFENGINE), "--serve", "--batch", "2"]
    with started(behind_slotd(engine), stderr=subprocess.PIPE) as slotd:
        assert [hear(slotd).split()[0] for _ in range(2)] == [b"INFO", b"READY"]
        out, err = slotd.communicate(b"GEN 2 1,2,3\nBGEN 1 1 4,5", HANGS_AFTER)
        assert slotd.wait(HANGS_AFTER) == 0
    lines = out.decode().splitlines()
    assert " ".join(line.split()[0] for line in lines) == "RESUME PP T T DONE RESUME PP T DONE BADM"
    assert lines[-1] == "BADM 1 0"  # the client's own number, whatever slot was chosen
    assert b'"event":"place"' in err


@pytest.mark.parametrize("status", [0, 3, 255])
def test_the_exit_status_is_the_engines(tmp_path: Path, status: int) -> None:
    assert outcome(behind_slotd(python_engine(tmp_path, f"sys.exit({status})")))[0] == status


def test_a_signal_death_is_128_more_than_the_signal(tmp_path: Path) -> None:
    engine = python_engine(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert outcome(behind_slotd(engine))[0] == 128 + 9


def _script(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("engine", "status", "said"),
    [
        ("no-such-engine", 127, "there is none in PATH"),
        ("{tmp}/missing", 127, "there is no such file"),
        ("{tmp}", 126, "is a directory"),
        ("{tmp}/data", 126, "you may not execute it"),
        ("{tmp}/text", 126, "is not a program this system can run"),
        ("{tmp}/orphan", 126, "the interpreter or loader it names is missing"),
    ],
)
def test_an_engine_that_cannot_be_started_is_one_line(
    tmp_path: Path, engine: str, status: int, said: str
) -> None:
    _script(tmp_path / "data", "", 0o644)
    _script(tmp_path / "text", "no program\n", 0o755)
    _script(tmp_path / "orphan", "#!/no/such/interpreter\n", 0o755)
    name = engine.format(tmp=tmp_path)
    got, out, err = outcome(behind_slotd([name]))
    assert (got, out) == (status, b"")
    assert err.decode() == (
        f"slotd: engine {name}: {'' if status == 127 else 'cannot be executed: '}{said}: "
        "give the path of the engine's executable\n"
    )


def test_everything_a_dying_engine_printed_arrives(tmp_path: Path) -> None:
    words = b"T 1\n" * 50_000 + b"ERR unfinished"
    engine = python_engine(
        tmp_path, 'sys.stdout.write("T 1\\n" * 50_000 + "ERR unfinished"); sys.exit(4)'
    )
    status, out, _ = outcome(behind_slotd(engine))
    assert status == 4
    assert out == words


@pytest.mark.parametrize("policy", ["retention", "off"])
def test_what_a_client_leaves_unfinished_reaches_the_engine(policy: str) -> None:
    data = b"VRAM\n" + b"7," * 900_000 + b"7\nGEN 1 5"
    assert outcome(behind_slotd(["cat"], "--policy", policy), data)[:2] == (0, data)


def test_with_the_policy_off_any_bytes_pass_both_ways() -> None:
    data = bytes(range(256)) * 3000 + b"BGEN 1 5 1,2\nGENG1 99\nBT 1 2\n\0\r\n" * 2000 + b"\xff"
    assert outcome(behind_slotd(["cat"], "--policy", "off"), data)[:2] == (0, data)


def test_a_client_that_stops_reading_is_to_the_engine_what_it_would_have_been(
    tmp_path: Path,
) -> None:
    engine = python_engine(
        tmp_path,
        """
try:
    while True:
        os.write(1, b"T 1\\n")
except BrokenPipeError:
    sys.exit(7)
""",
    )
    with started(behind_slotd(engine)) as slotd:
        assert hear(slotd) == b"T 1\n"
        assert slotd.stdout is not None
        slotd.stdout.close()
        assert slotd.wait(HANGS_AFTER) == 7


def test_an_engine_that_closes_its_output_lives_on(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
os.write(1, b"READY 9\\n")
os.close(1)
sys.exit(9 if sys.stdin.readline() == "QUIT\\n" else 8)
""",
    )
    with started(behind_slotd(engine)) as slotd:
        assert hear(slotd) == b"READY 9\n"
        assert hear(slotd) == b""
        say(slotd, b"QUIT\n")
        assert slotd.wait(HANGS_AFTER) == 9


def _say_for_ever(slotd: Process) -> None:
    while True:
        say(slotd, b"GEN 1 5\n")


def test_an_engine_that_closes_its_input_goes_on_printing(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.close(0)
os.write(1, b"closed\\n")
signal.sigwait([signal.SIGTERM])
os.write(1, b"bye\\n")
""",
    )
    with started(behind_slotd(engine), bufsize=0) as slotd:
        assert hear(slotd) == b"closed\n"
        with pytest.raises(BrokenPipeError):
            _say_for_ever(slotd)
        slotd.terminate()
        assert hear(slotd) == b"bye\n"
        assert slotd.wait(HANGS_AFTER) == 0


def test_a_process_the_engine_leaves_behind_does_not_keep_slotd(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
held, release = os.pipe()
if not os.fork():
    os.close(release)
    os.read(held, 1)  # until its parent's end is closed, and that end is inherited by nobody
    signal.pause()
os.write(1, b"T 1\\nunfinished")
os._exit(5)
""",
    )
    with started(behind_slotd(engine)) as slotd:
        out, _ = slotd.communicate(timeout=HANGS_AFTER)
        assert out == b"T 1\nunfinished"
        assert slotd.returncode == 5


def _as_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("command", [["cat"], behind_slotd(["cat"])], ids=["bare", "slotd"])
def test_files_and_dev_null_serve_as_streams(tmp_path: Path, command: Sequence[str]) -> None:
    data = b"BT 0 1\n" * 100_000
    source = _as_file(tmp_path / "in", data)
    with source.open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        assert outcome(command, stdin=stdin, stdout=stdout)[0] == 0
    assert (tmp_path / "out").read_bytes() == data
    assert outcome(command, stdin=subprocess.DEVNULL)[:2] == (0, b"")


def test_a_named_pipe_of_both_ways_never_ends_by_itself(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    both = os.open(fifo, os.O_RDWR)
    engine = python_engine(tmp_path, 'sys.exit(6 if sys.stdin.readline() == "QUIT\\n" else 1)')
    try:
        with started(behind_slotd(engine), stdin=both) as slotd:
            os.write(both, b"QUIT\n")
            assert slotd.wait(HANGS_AFTER) == 6
    finally:
        os.close(both)
