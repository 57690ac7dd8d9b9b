"""The whole demo, played once, as a newcomer would: real processes and pipes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from slotd.demo.columns import COLUMNS
from slotd.policy.settings import DEFAULTS
from tests.readme import readme

FAST = "200"
DEMO = (sys.executable, "-m", "slotd", "demo")


class Played:
    """What `slotd demo --json` printed."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.columns = {column["name"]: column for column in answer["columns"]}

    def reused(self, column: str, what: str) -> list[int]:
        return self.of(column, what, "reused")

    def of(self, column: str, what: str, figure: str) -> list[int]:
        turns = self.columns[column]["turns"]
        return [turn[figure] for turn in turns if re.fullmatch(what, turn["what"])]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def played(logs: Path) -> Played:
    # Settings of whoever runs the tests must not reach slotd or the engine.
    misleading = {"STRATA_SLOT_PARK_MIN_VALUE": "1000", "SLOTD_POLICY": "off", "SLOTD_ENGINE": "x"}
    ran = subprocess.run(
        [*DEMO, "--json", "--speed", FAST, "--keep-logs", str(logs)],
        capture_output=True,
        env={**os.environ, **misleading},
        timeout=240,
        check=True,
    )
    assert ran.stderr == b""
    answer: dict[str, Any] = json.loads(ran.stdout)
    return Played(answer)


def test_every_column_plays_the_same_requests_and_gets_the_same_answers(played: Played) -> None:
    assert list(played.columns) == [column.name for column in COLUMNS]
    asked = ("scene", "who", "what", "conversation", "prompt", "known")
    first, *others = (
        [tuple(turn[name] for name in asked) for turn in column["turns"]]
        for column in played.columns.values()
    )
    assert len(first) == 22
    assert all(other == first for other in others)
    assert played.answer["same_answers"] is True


def test_a_side_request_takes_the_long_conversation_only_without_slotd(played: Played) -> None:
    # 37,001 tokens and an answer of 358, whose last token is in no state.
    assert played.reused("without", "next turn")[0] == 0
    assert played.reused("with", "next turn")[0] == 37_358


def test_a_side_request_takes_the_conversations_slot_only_without_slotd(played: Played) -> None:
    known = played.of("with", "next turn", "known")
    assert played.reused("without", "next turn")[-1] == 0
    assert played.reused("with", "next turn")[-1] == known[-1]


def test_a_classifiers_queries_and_the_agents_steps_leave_each_other_alone(played: Played) -> None:
    assert played.reused("without", "safety check .") == [0, 0, 0, 0]
    # A checkpoint every 16,384 tokens; from the second query on one where the queries part.
    assert played.reused("with", "safety check .") == [0, 16_384, 24_000, 24_000]
    assert played.reused("without", "agent's step")[1:] == [0, 0, 0]
    assert min(played.reused("with", "agent's step")) >= 37_358


def test_two_chats_that_take_turns_keep_what_they_have(played: Played) -> None:
    assert played.reused("without", "chat ., turn [23]") == [0, 0, 0, 0]
    assert played.reused("with", "chat 1, turn [23]") == [9_065, 9_065]
    assert played.reused("with", "chat 2, turn [23]") == [7_965, 7_965]


def test_what_is_not_reused_is_read(played: Played) -> None:
    for column in played.columns.values():
        for turn in column["turns"]:
            # An answer that moves into a slot is admitted there with one more token to read.
            assert turn["prompt"] - turn["reused"] <= turn["read"] <= turn["prompt"] + 1
            assert turn["read_again"] == max(0, turn["known"] - turn["reused"])
        assert column["read"] == sum(turn["read"] for turn in column["turns"])
        assert column["read_again"] == sum(turn["read_again"] for turn in column["turns"])


def test_waits_are_the_published_14_seconds_and_one(played: Played) -> None:
    without = played.of("without", "next turn", "first_token_ms")
    with_slotd = played.of("with", "next turn", "first_token_ms")
    assert all(14_000 < ms < 15_000 for ms in without)
    assert all(500 < ms < 1_000 for ms in with_slotd)
    # What it costs: 37,358 tokens are copied at 13.2 ms per 1,000 before the side request is read.
    before, after, by_own_request = (
        played.of(name, "side request", "first_token_ms")[0] for name in played.columns
    )
    assert after - before == pytest.approx(37_358 * 0.0132, abs=1)
    # A request of slotd's own has a request's fixed time and one window besides.
    assert by_own_request - after == pytest.approx(100 + 15, abs=1)


def test_an_engine_without_a_park_keeps_the_conversation_up_to_its_last_turn(
    played: Played,
) -> None:
    # The first turn begins after 36,998 tokens and three of the reply's header.
    assert played.reused("emulated", "next turn")[0] == 36_998
    assert min(played.reused("emulated", "agent's step")) == 36_998
    assert played.reused("emulated", "chat 1, turn [23]") == [9_003, 9_003]
    with_slotd, released = (
        played.of(name, "next turn", "first_token_ms")[0] for name in ("with", "emulated")
    )
    assert released - with_slotd < 200


def test_the_logs_are_where_it_says_and_tell_of_the_park(played: Played, logs: Path) -> None:
    log = Path(played.columns["with"]["log"])
    assert log.parent == logs
    records = [json.loads(line) for line in log.read_text().splitlines()]
    parks = [record for record in records if record["event"] == "park"]
    assert parks[0]["main_tokens"] == 37_358
    settings = next(record for record in records if record["event"] == "settings")
    assert settings["ttl_max_s"] == pytest.approx(120 / float(FAST))
    assert settings["park_min_value"] == 0.01
    relayed = Path(played.columns["without"]["log"]).read_text()
    assert '"event":"park"' not in relayed.replace(" ", "")


def test_every_event_logged_has_the_fields_the_readme_gives_it(played: Played) -> None:
    described = readme.events()
    logged = set()
    for column in played.columns.values():
        for line in Path(column["log"]).read_text().splitlines():
            record = json.loads(line)
            told = described[record["event"]]
            logged.add(record["event"])
            fields = set(record) - {"ts", "level", "event"}
            if record["event"] == "settings":
                fields -= set(DEFAULTS)
            assert told.fields <= fields <= told.fields | told.optional, record["event"]
            assert record["level"] in told.levels
    assert logged >= {"place", "park", "park_skip", "parked", "admitted", "solo_done", "slot_done"}


def test_the_readme_shows_what_the_demo_prints(played: Played) -> None:
    (table, conclusion) = (block.text for block in readme.named("output", "demo"))
    shown = [
        re.findall(r"[\d,.]+(?= s|  )", line[FIRST_FIGURE:] + " ")
        for line in table.splitlines()
        if line.startswith(("  Ann  ", "  Ben  "))
    ]
    turns = zip(*(column["turns"] for column in played.columns.values()), strict=True)
    for figures, row in zip(shown, turns, strict=True):
        for turn, (reused, read, wait) in zip(row, batches_of_three(figures), strict=True):
            assert (reused, read) == (f"{turn['reused']:,}", f"{turn['read']:,}")
            assert float(wait) == pytest.approx(turn["first_token_ms"] / 1000, abs=0.2)
    phrases = {column.name: column.phrase for column in COLUMNS}
    again = [f"{column['read_again']:,} {phrases[name]}" for name, column in played.columns.items()]
    assert ", ".join(again) in " ".join(conclusion.split())


FIRST_FIGURE = 25


def batches_of_three(figures: list[str]) -> list[tuple[str, str, str]]:
    assert len(figures) % 3 == 0
    return list(zip(figures[::3], figures[1::3], figures[2::3], strict=True))


def test_an_interrupt_ends_everything_it_started(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [*DEMO, "--keep-logs", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        pids = [_engine_pid(tmp_path / f"{column.name}.log") for column in COLUMNS]
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate(timeout=30)
    finally:
        demo.kill()
        demo.wait()
    assert (demo.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def _engine_pid(log: Path) -> int:
    """Wait until slotd has started its engine; return the engine's pid from the log."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if log.exists():
            for line in log.read_text().splitlines():
                record = json.loads(line)
                if record["event"] == "engine_start":
                    pid: int = record["pid"]
                    return pid
        time.sleep(0.05)
    raise AssertionError(f"no engine was started: {log}")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--speed", "nan"), "nan"),
        (("--speed", "0"), "0: give a number from 1"),
        (("--seed", "-1"), "-1"),
        (("--keep-logs", f"{__file__}/logs"), "cannot be made"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments: tuple[str, ...], named: str) -> None:
    ran = subprocess.run([*DEMO, *arguments], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert named in ran.stderr
