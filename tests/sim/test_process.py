import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotd.sim.arguments import read_arguments
from slotd.sim.options import SimOptions
from slotd.sim.timing import Timing
from slotd.sim.token_model import HashModel
from tests.paths import PROJECT, REFENGINE
from tests.sim.reference import comparable, comparable_row, environment
from tests.sim.test_equals_reference import LEVELS, Client

SIMULATED = [sys.executable, "-m", "slotd.sim", "--serve", "--speeds", "instant"]
REFERENCE = [sys.executable, str(REFENGINE), "--serve"]
WAIT_S = 60.0


class Engine:
    """An engine process, driven one line after the other."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line.endswith("\n"), f"the engine ended after {line!r}"
        return line[:-1]

    def until(self, *verbs: str) -> list[str]:
        """Everything up to a line with one of these verbs."""
        lines = [self.line()]
        while lines[-1].split(" ")[0] not in verbs:
            lines.append(self.line())
        return lines

    def request(self, line: bytes) -> list[str]:
        """Send a line; read to the end of everything that it starts."""
        self.send(line)
        if line.split(b" ")[0].strip() in (b"BSTOP", b"BYIELD"):
            return []
        lines = self.until("ERR", "SERR", "DONE")
        if line.startswith(b"BGEN") and lines[-1].startswith("DONE"):
            lines += self.until("BADM")
            if lines[-1].endswith(" 1"):
                lines += self.until("BDONE")
        return lines

    def end(self) -> tuple[int, str]:
        """End its input: (exit status, what it still printed)."""
        rest, _ = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, rest.decode()


@contextmanager
def started(command: list[str], switches: dict[str, str] | None = None) -> Iterator[Engine]:
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=PROJECT,
        env=os.environ | (switches or {}),
    ) as process:
        # An engine that says nothing ends too, so that no test waits for it for ever.
        watchdog = threading.Timer(WAIT_S, process.kill)
        watchdog.start()
        try:
            yield Engine(process)
        finally:
            watchdog.cancel()
            process.kill()


@pytest.mark.parametrize("level", ["no batch", "pad rows", "branches"])
def test_process_speaks_as_the_reference_engine_process(level: str, tmp_path: Path) -> None:
    options = LEVELS[level]
    sizes = (
        f"--batch {options.batch_slots} --batch-groups {options.batch_groups} --max-context 400"
        f" --chunk 7 --ckpt-every 16 --eos-every 9"
    ).split()
    said, booked = [], []
    for name, command in (("simulated", SIMULATED), ("reference", REFERENCE)):
        ledger = tmp_path / name
        client = Client(5, options, 9, requests=60)
        command = [*command, *sizes, "--ledger", str(ledger)]
        with started(command, environment(options)) as engine:
            lines = engine.until("READY")
            while (line := client.idle()) is not None:
                # A last BCHECKS of a yield or admission comes with the next request's lines.
                lines += engine.request(line)
            status, rest = engine.end()
        assert status == 0
        said.append([comparable(line) for line in lines + rest.splitlines()])
        rows = [json.loads(row) for row in ledger.read_text().splitlines()]
        booked.append([comparable_row(row) for row in rows])
    assert said[0] == said[1]
    assert booked[0] == booked[1]


def test_stop_reaches_a_request_that_is_running() -> None:
    command = [*SIMULATED, "--chunk", "1000", "--read-tok-s", "10000", "--max-context", "300000"]
    with started(command) as engine:
        engine.until("READY")
        engine.send(b"GEN 5 " + b",".join([b"7"] * 200_000) + b"\n")
        engine.until("PP")
        engine.send(b"STOP\n")
        done = engine.until("DONE")[-1].split()
        assert done[1] == "0"
        assert done[5] == "cancel"
        assert engine.request(b"GEN 2 1,2\n")[-1].startswith("DONE 2 ")
        assert engine.end() == (0, "")


def test_real_time_passes_as_fast_as_asked() -> None:
    with started([*SIMULATED, "--step-ms", "1000", "--speed", "20"]) as engine:
        engine.until("READY")
        done = engine.request(b"GEN 5 1,2\n")[-1].split()
        # The engine's own clock is not divided: four steps of a second.
        assert float(done[4]) == 4000.0
        engine.send(b"QUIT\n")
        assert engine.end()[0] == 0


def test_dies_after_so_many_lines() -> None:
    with started([*SIMULATED, "--die-after", "5"]) as engine:
        lines = engine.until("READY")
        engine.send(b"GEN 9 1,2\n")
        status, rest = engine.end()
    assert status == 1
    assert len(lines + rest.splitlines()) == 5
    assert rest.endswith("\n")


def test_stalls_after_so_many_lines_and_goes_on_reading() -> None:
    with started([*SIMULATED, "--stall-after", "4"]) as engine:
        engine.until("READY")
        engine.send(b"GEN 9 1,2\n")
        assert engine.until("PP")[-1].startswith("PP ")
        engine.send(b"STOP\n" * 100_000)
        assert engine.process.poll() is None


@pytest.mark.parametrize(
    ("arguments", "switches", "words"),
    [
        ([], {}, "without --serve"),
        (["--serve", "--batch", "5", "--batch-groups", "2"], {}, "batch_groups=2"),
        (["--serve", "--batch", "many"], {}, "'many'"),
        (["--serve", "--speed", "0"], {}, "--speed 0"),
        (["--serve"], {"STRATA_SLOT_CHECKPOINTS": "two"}, "STRATA_SLOT_CHECKPOINTS=two"),
    ],
)
def test_usage_errors_are_one_line_and_status_2(
    arguments: list[str],
    switches: dict[str, str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(arguments, switches)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error


def test_ledger_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    command = [*SIMULATED, "--ledger", str(tmp_path / "none" / "ledger")]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_arguments_and_switches_make_the_options() -> None:
    switches = {
        "STRATA_PIPELINE_ACTIVE_ROWS": "1",
        "STRATA_SLOT_CHECKPOINTS": "2",
        "STRATA_BRANCH_CHECKPOINT": "1024",
    }
    line = "--serve --slots 6 --batch-groups 3 --model x.gguf --read-tok-s 500 --drafts 3:2,1"
    settings = read_arguments(line.split(), switches)
    assert settings.ignored == ("--model", "x.gguf")
    assert settings.options == SimOptions(
        slot_checkpoints=2,
        branch_margin=1024,
        drafts_offered=3,
        drafts_accepted=(2, 1),
        timing=Timing(prompt_tok_s=500),
    )
    instant = read_arguments(["--serve", "--speeds", "instant"], {})
    assert instant.options.timing == Timing.instant()
    assert HashModel(instant.end_every) == HashModel()
