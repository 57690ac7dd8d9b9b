"""The metrics of a status, and how they are had."""

import re
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from slotd.eyes.ask import NoAnswerError, ask
from slotd.eyes.loopback import NotLoopbackError, loopback_address
from slotd.eyes.metrics import metrics_text, registry
from tests.clients.slotd import SLOTD
from tests.daemon.processes import HANGS_AFTER, outcome, started
from tests.eyes.statuses import answering, busy

Samples = dict[tuple[str, str], float]
"""Values by name and by the labels' values."""


def samples(text: str) -> Samples:
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_was_asked_for_is_there() -> None:
    told = samples(metrics_text(busy()))
    assert told["slotd_up", ""] == 1
    assert told["slotd_prompt_tokens_total", "reused"] == 1_204_000
    assert told["slotd_prompt_tokens_total", "read"] == 301_000
    assert told["slotd_placements_total", "continue"] == 7
    assert told["slotd_parks_total", "failed"] == 1
    assert told["slotd_errors_total", ""] == 2
    assert told["slotd_drifts_total", ""] == 1
    assert told["slotd_engine_state", "serving"] == 1
    assert told["slotd_engine_starts_total", ""] == 2
    assert told["slotd_client_attached", ""] == 1
    assert told["slotd_main_tokens", ""] == 52_007


def test_slots_are_counted_by_state_and_told_one_by_one() -> None:
    told = samples(metrics_text(busy()))
    assert {state: count for (name, state), count in told.items() if name == "slotd_slots"} == {
        "idle": 3,
        "reading": 1,
        "decoding": 1,
        "yielded": 1,
        "reserved": 0,
        "parking": 0,
    }
    assert told["slotd_slot_tokens", "4"] == 120_000
    assert told["slotd_slot_age_seconds", "1"] == 812
    assert told["slotd_slot_protection_seconds", "0"] == 64.9


def test_the_added_latency_is_a_histogram() -> None:
    told = samples(metrics_text(busy()))
    assert told["slotd_added_latency_seconds_bucket", "0.0005"] == 985
    assert told["slotd_added_latency_seconds_bucket", "+Inf"] == 1000
    assert told["slotd_added_latency_seconds_count", ""] == 1000
    assert told["slotd_added_latency_seconds_sum", ""] == 0.12


@pytest.mark.parametrize("cut", [*busy(), "all"])
def test_a_status_that_lacks_something_has_metrics_all_the_same(cut: str) -> None:
    status: dict[str, Any] = {} if cut == "all" else {**busy(), cut: None}
    assert samples(metrics_text(status))["slotd_up", ""] == 1


def test_every_collection_asks_again_and_no_answer_is_down() -> None:
    answers: list[dict[str, Any]] = [busy()]

    def ask_once() -> dict[str, Any]:
        if not answers:
            raise NoAnswerError("gone")
        return answers.pop()

    collected = registry(ask_once)
    assert collected.get_sample_value("slotd_up") == 1
    assert [metric.name for metric in collected.collect()] == ["slotd_up"]
    assert collected.get_sample_value("slotd_up") == 0


def test_the_command_prints_them(tmp_path: Path) -> None:
    with answering(tmp_path / "control", busy()) as asked:
        status, out, err = outcome([*SLOTD, "metrics", "--control", str(tmp_path / "control")])
    assert (status, out.decode(), err) == (0, metrics_text(busy()), b"")
    assert asked == [b'{"ask":"status"}\n']


def test_nobody_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none"
    status, out, err = outcome([*SLOTD, "metrics", "--control", str(path)])
    assert (status, out) == (1, b"")
    assert err.decode() == (
        f"slotd: socket {path}: nobody listens there: start slotd, or name its control socket\n"
    )


def test_they_are_served_on_loopback_until_told_to_end(tmp_path: Path) -> None:
    control = tmp_path / "control"
    command = [*SLOTD, "metrics", "--control", str(control), "--listen", "127.0.0.1:0"]
    with started(command, stderr=subprocess.PIPE) as serving:
        assert serving.stderr is not None
        said = re.search(rb"http://127\.0\.0\.1:\d+/metrics", serving.stderr.readline())
        assert said is not None
        assert samples(got(said[0].decode()))["slotd_up", ""] == 0
        with answering(control, busy()):
            assert samples(got(said[0].decode()))["slotd_requests_total", ""] == 13
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(HANGS_AFTER) == 0


def got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=HANGS_AFTER) as answer:
        text: bytes = answer.read()
    return text.decode()


@pytest.mark.parametrize(
    "text", ["0.0.0.0:9", "10.0.0.1:9", "[::]:9", "localhost:9", "127.0.0.1", ":9", "127.0.0.1:x"]
)
def test_an_address_others_can_reach_is_refused(text: str) -> None:
    with pytest.raises(NotLoopbackError, match=re.escape(repr(text))):
        loopback_address(text)
    status, _, err = outcome([*SLOTD, "metrics", "--listen", text])
    assert status == 2
    assert b"give 127.0.0.1:PORT" in err


def test_both_kinds_of_loopback_are_taken() -> None:
    assert str(loopback_address("127.0.0.2:9464")) == "127.0.0.2:9464"
    assert str(loopback_address("[::1]:0")) == "[::1]:0"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400\r\n\r\n", b'{"error":"what?"}', b"[" * 9000]
)
def test_an_answer_that_is_no_status_is_refused(answer: bytes, tmp_path: Path) -> None:
    path = tmp_path / "control"
    with answering(path, answer), pytest.raises(NoAnswerError, match="no slotd") as refusal:
        ask(str(path))
    assert "\n" not in str(refusal.value)


def test_a_slotd_that_hangs_is_not_waited_for_longer_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "control"
    with answering(path), pytest.raises(NoAnswerError, match=r"no answer within 0\.05 s"):
        ask(str(path), wait_s=0.05)
