"""`slotd tail` as a command."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from slotd.cli.sources import Refusal
from slotd.cli.tail import tail

LINES = (
    b'{"ts":"2026-01-31T12:00:00.250Z","level":"info","event":"parked","slot":1,"tokens":37359}\n'
    b"engine: loading \x1b[31mmodel\n"
    b"\n"
    b'{"MESSAGE":"yielded","SLOTD_EVENT":"yielded","SLOTD_SLOT":"2","SLOTD_TOKENS":"2048"}\n'
)
SHOWN = [
    "12:00:00.250 parked       slot 1   tokens=37359",
    "engine: loading \\x1b[31mmodel",
    "             yielded      slot 2   tokens=2048",
]


def test_a_file_is_printed_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LINES)
    result = CliRunner().invoke(tail, ["--no-follow", str(tmp_path / "log")])
    assert result.output.splitlines() == SHOWN


@pytest.mark.parametrize("arguments", [[], ["-"], ["-", "--no-follow"]])
def test_standard_input_is_read_to_its_end(arguments: list[str]) -> None:
    result = CliRunner().invoke(tail, arguments, input=LINES)
    assert result.output.splitlines() == SHOWN


@pytest.mark.parametrize("arguments", [["{tmp}/none"], ["{tmp}"], ["{tmp}/none", "--no-follow"]])
def test_what_cannot_be_read_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    result = CliRunner().invoke(tail, given, standalone_mode=False)
    assert isinstance(result.exception, Refusal)
    assert result.exception.exit_code == 2
    assert given[0] in result.exception.message


def on_terminal(log: Path, **environment: str) -> str:
    """What `slotd tail` prints on a terminal."""
    mine, terminal = pty.openpty()
    command = [sys.executable, "-m", "slotd", "tail", "--no-follow", str(log)]
    kept = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    environment = {**kept, "TERM": "xterm-256color", **environment}
    subprocess.run(command, stdout=terminal, env=environment, check=True)
    os.close(terminal)
    shown = b""
    try:
        while True:
            shown += os.read(mine, 1 << 16)
    except OSError:  # how a terminal that nobody has open any more ends
        os.close(mine)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_has_colours_unless_they_are_not_wanted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINES)
    coloured = on_terminal(log)
    assert "\x1b[32m slot 1" in coloured
    assert "\x1b[35m slot 2" in coloured
    assert on_terminal(log, NO_COLOR="1").splitlines() == SHOWN


def test_it_goes_on_with_what_is_appended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINES)
    command = [sys.executable, "-m", "slotd", "tail", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in SHOWN:
            assert process.stdout.readline().decode().rstrip("\n") == line
        with log.open("ab") as file:
            file.write(json.dumps({"event": "late", "slot": 0}).encode() + b"\n")
        assert b"late         slot 0" in process.stdout.readline()
        process.kill()
