"""Commands whose standard streams are closed, full or in a poor locale, and odd arguments."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m slotd"
TABLE = {
    "now": 1,
    "engine": {"batch_slots": 1, "slot_cache": 1},
    "request": {"verb": "BGEN", "prompt": [1, 2]},
    "slots": [{}],
}
EVENT = '{"ts":"2026-01-31T12:00:00Z","level":"info","event":"engine_info","engine":"é"}\n'


def shell(text: str, place: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell, with the place's files in the working directory."""
    (place / "tables").write_text(json.dumps(TABLE) + "\n")
    (place / "log").write_text(EVENT)
    # A BOM, as some editors put in front of what they write.
    (place / "bom.toml").write_bytes(b"\xef\xbb\xbf[policy]\r\nttl_max_s = 5\r\n")
    return subprocess.run(
        ["bash", "-c", text],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "SLOTD_CONFIG": "", **environment},
        timeout=60,
    )


@pytest.mark.parametrize(
    ("arguments", "status"), [("decide <&-", 0), ("tail <&-", 0), ("explain - <&-", 1)]
)
def test_a_closed_standard_input_is_an_empty_one(
    tmp_path: Path, arguments: str, status: int
) -> None:
    ran = shell(f"{COMMAND} {arguments}", tmp_path)
    assert ran.returncode == status
    assert ran.stdout == b""
    assert ran.stderr.count(b"\n") == status


@pytest.mark.parametrize("arguments", ["config", "tail --no-follow log", "decide tables"])
def test_a_closed_standard_output_takes_nothing(tmp_path: Path, arguments: str) -> None:
    ran = shell(f"{COMMAND} {arguments} >&-", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", ["config", "curves", "tail --no-follow log", "decide tables"])
def test_a_full_standard_output_is_told_in_one_line(tmp_path: Path, arguments: str) -> None:
    ran = shell(f"{COMMAND} {arguments} >/dev/full", tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == b"slotd: standard output cannot be written: No space left on device\n"


def test_a_locale_without_the_characters_has_them_escaped(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = shell(f"{COMMAND} tail --no-follow log", tmp_path, **plain)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"\\xe9" in ran.stdout


def test_a_mark_before_the_text_is_no_text(tmp_path: Path) -> None:
    ran = shell(f"{COMMAND} config --config bom.toml", tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[0].split() == [b"policy.ttl_max_s", b"5", b"file", b"bom.toml"]
    marked = shell(f"(printf '\\xef\\xbb\\xbf'; cat tables) | {COMMAND} decide", tmp_path)
    assert json.loads(marked.stdout)["slot"] == 0


def test_an_engine_without_a_name_is_named_as_such(tmp_path: Path) -> None:
    ran = shell(f"{COMMAND} run -- ''", tmp_path)
    assert ran.returncode == 127
    assert ran.stderr == b"slotd: engine '': give the path of the engine's executable\n"


def test_a_value_of_several_lines_is_listed_on_one(tmp_path: Path) -> None:
    ran = shell(f"{COMMAND} config", tmp_path, SLOTD_ENGINE="a\nb")
    assert rb"'a\nb'" in ran.stdout
    assert all(len(line.split()) >= 3 for line in ran.stdout.splitlines())


@pytest.mark.parametrize("arguments", ["explain none", "tail none", "config --config ."])
def test_what_cannot_be_read_is_refused_with_the_way_out(tmp_path: Path, arguments: str) -> None:
    ran = shell(f"{COMMAND} {arguments}", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.count(b"\n") == 1
    assert b": give the path of a " in ran.stderr


def test_no_color_is_heeded_by_explain(tmp_path: Path) -> None:
    log = tmp_path / "slotd.log"
    engine = [sys.executable, "-m", "slotd.sim", "--serve", "--speeds", "instant", "--batch", "2"]
    run = [sys.executable, "-m", "slotd", "run", "--log-file", str(log), "--", *engine]
    subprocess.run(run, input=b"BGEN 0 2 1,2,3\n", capture_output=True, check=True, timeout=60)
    mine, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "slotd", "explain", str(log)],
        stdout=terminal,
        env={**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color"},
        check=True,
        timeout=60,
    )
    os.close(terminal)
    shown = os.read(mine, 1 << 16)
    os.close(mine)
    assert b"Request 1" in shown
    assert b"\x1b" not in shown
