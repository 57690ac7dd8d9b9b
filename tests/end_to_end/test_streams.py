"""Whole streams through `slotd run`, byte for byte."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command
from tests.clients.slotd import behind_slotd

ECHO = [
    sys.executable,
    "-c",
    "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)",
]
NASTY = [
    b"GEN 5 1,2,3\r\nBGEN 1 5  temperature=0.1  1,2\nBT 0\nBT 0 1 2\n\n \nQUIT\n",
    b"BGEN 99 5 1\nBSTOP 99\nBSTOP -1\nBYIELD x\nDONE\nBADM 0 1\nBDONE 0 5 stop\nPARKED 0 0\n",
    b"GENG1 12\nGEN 1 1\nQUIT\nGEN 1 5\nGENG2 4 1 0\n\n\n\n\n\nCHECKG\n",
    b"\xff\xfe\x00GEN 5 1\nINFO batch_slots=4\nREADY 100 stop\nINFO batch_slots=x\nT \xff\nno end",
]


def through(command: list[str], data: bytes, environment: dict[str, str]) -> bytes:
    done = subprocess.run(
        command, input=data, stdout=subprocess.PIPE, env=environment, check=True, timeout=300
    )
    return done.stdout


@pytest.mark.parametrize("policy", ["off", "retention"])
def test_what_is_no_decision_of_slotds_comes_out_as_it_went_in(policy: str, tmp_path: Path) -> None:
    rng = random.Random(9)
    alphabet = b"\n\n\n \r,=0123456789BGENTIDO\x00\xff"
    noise = bytes(rng.choice(alphabet) for _ in range(200_000)) + rng.randbytes(200_000)
    data = noise + (b"\n" + b"\n".join(NASTY) if policy == "off" else b"")
    command = behind_slotd(ECHO, tmp_path / "slotd.log", "--policy", policy)
    assert through(command, data, clean_environment()) == data


def test_every_exchange_between_requests_passes_as_without_slotd(tmp_path: Path) -> None:
    script = (
        b"VRAM 512\nGEN 5 temperature=0.5 unknown=1 1,2,3\r\nSAVE /nowhere\nRESTORE /nowhere\n"
        b"GEN 0 1\nBGEN 9 5 1,2\nBSTOP 3\nBYIELD 2\nGEN 3 1,2,3,4,5\nRELEASE\nGENI 4 file 5,6\n"
        b"BGEN 1 1 7,8,9\nNONSENSE\nGEN 2 8"
    )
    engine = engine_command("--batch", "4")
    environment = clean_environment()
    direct = through(engine, script, environment)
    passed = through(behind_slotd(engine, tmp_path / "log", "--policy", "off"), script, environment)
    assert _without_times(passed) == _without_times(direct)
    assert direct.count(b"DONE") >= 4


def _without_times(output: bytes) -> bytes:
    """The output without its milliseconds and speeds, which differ from run to run."""
    output = re.sub(rb"(?m)^(PP \d+ \d+) .*$", rb"\1", output)
    output = re.sub(rb"(?m)^(DONE \d+ \d+) [\d.]+ [\d.]+", rb"\1", output)
    return re.sub(rb"(?m)^(BDONE .*) [\d.]+$", rb"\1", output)
