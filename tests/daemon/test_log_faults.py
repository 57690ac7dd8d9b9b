"""What happens to the log never happens to the tokens."""

import json
import os
from pathlib import Path

import pytest

from tests.daemon.processes import behind_slotd, hear, outcome, say, started

TALK = b"INFO batch_slots=2 slot_cache=1\nREADY 9999 stop\n" + b"BT 1 5\n" * 1000


def test_the_log_is_json_lines_on_standard_error() -> None:
    status, out, err = outcome(behind_slotd(["cat"]), TALK)
    assert (status, out) == (0, TALK)
    records = [json.loads(line) for line in err.splitlines()]
    assert [record["event"] for record in records[:2]] == ["engine_start", "settings"]
    assert {"event": "engine_exit", "status": 0}.items() <= next(
        record.items() for record in records if record["event"] == "engine_exit"
    )


def test_a_log_file_is_appended_to_and_standard_error_stays_the_engines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for level in ("info", "error"):
        engine = ["sh", "-c", "echo loading >&2; cat"]
        options = ["--log-file", str(log), "--log-level", level]
        assert outcome(behind_slotd(engine, *options), TALK) == (0, TALK, b"loading\n")
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events.count("engine_start") == 1  # the second run had nothing to say


def test_text_is_for_people() -> None:
    _, _, err = outcome(behind_slotd(["cat"], "--log-format", "text"), TALK)
    assert b" engine_start " in err
    assert b"\x1b" not in err


def test_a_full_disk_does_not_matter() -> None:
    assert outcome(behind_slotd(["cat"], "--log-file", "/dev/full"), TALK) == (0, TALK, b"")


def test_a_standard_error_nobody_reads_does_not_matter() -> None:
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with pytest.raises(BlockingIOError):
        _fill(writes)
    os.set_blocking(writes, True)
    with started(behind_slotd(["cat"]), stderr=writes) as slotd:
        for _ in range(100):
            say(slotd, b"VRAM\n")
            assert hear(slotd) == b"VRAM\n"
        out, _ = slotd.communicate(TALK)
        assert (slotd.returncode, out) == (0, TALK)
    os.close(reads)
    os.close(writes)


def _fill(descriptor: int) -> None:
    while True:
        os.write(descriptor, bytes(4096))


def test_a_standard_error_whose_reader_has_gone_does_not_matter() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with started(behind_slotd(["cat"]), stderr=writes) as slotd:
        os.close(writes)
        out, _ = slotd.communicate(TALK)
        assert (slotd.returncode, out) == (0, TALK)
