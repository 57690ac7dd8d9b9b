"""The page of a status, in 80 columns."""

from typing import Any

import pytest

from slotd.eyes.page import main_line, page, slot_line, summary
from slotd.eyes.part import Part
from slotd.eyes.words import bar, counted, duration, quantile, share, tokens
from tests.eyes.statuses import busy, slot

WIDTH = 80


def test_the_summary_says_what_matters_first() -> None:
    assert [line.plain for line in summary(Part(busy()))] == [
        "slotd 0.1.0 host  pid 4711  up 3h07m  policy retention  park auto",
        "engine 0.2.7  serving  pid 4712  starts 2  slots 6 in 3  client attached 2m05s",
        "requests 13  reused 1.2M (80%)  read 301,000  errors 2  drifts 1",
        "placed continue 7, spread 3, least_loss 2, reclaim 1",
        "parks parked 4, kept 2, failed 1  added latency p50 <0.1ms  p99 <1ms",
        "now request 13 reading 32,768/91,000 for 13s",
    ]


def test_a_slot_is_a_row() -> None:
    rows = [slot_line(Part(row)).plain for row in busy()["slots"]]
    assert rows[0].split() == (
        "0 1 decoding 37,359 0.0s 1m05s 0.978 █████████▊ 12 411".split()  # noqa: SIM905 - a row
    )
    assert rows[1].split() == ["1", "2", "idle", "500", "13m32s", "no", "0.000", "3", "-"]
    assert "superseded" in rows[2]
    assert rows[5].split() == ["5", "0", "idle", *"-----" + "-"]


def test_the_main_session_is_a_row_too() -> None:
    assert main_line(Part(busy())).plain.split()[:3] == ["main", "holds", "52,007"]
    assert main_line(Part({"main": None})).plain.split() == ["main", "nothing"]


def test_slots_and_summary_fit_80_columns_whatever_the_figures() -> None:
    status: dict[str, Any] = busy()
    status["slots"] = [
        slot(
            1023,
            state,
            262_144,
            client_slot=1023,
            age=86_400.0,
            request=9_999_999,
            generated=99_999,
        )
        for state in ("decoding", "reserved", "parking", "yielded")
    ]
    lines = [*map(slot_line, map(Part, status["slots"])), main_line(Part(status))]
    assert max(line.cell_len for line in lines) <= WIDTH
    assert max(line.cell_len for line in summary(Part(status))) <= WIDTH


@pytest.mark.parametrize("cut", [*busy(), "all"])
def test_a_status_that_lacks_something_is_shown_all_the_same(cut: str) -> None:
    status: dict[str, Any] = {} if cut == "all" else {**busy(), cut: None}
    assert len(list(page(Part(status)))) > len(summary(Part(status)))


def test_settings_and_the_last_events_are_on_the_page() -> None:
    text = "\n".join(line.plain for line in page(Part(busy()), events=2))
    assert "  ttl_max_s               120\n" in text
    assert "request=93" not in text
    assert text.index("request=94") < text.index("request=95")


def test_nothing_in_a_status_reaches_the_terminal_raw() -> None:
    status = busy()
    status["engine"]["capabilities"]["engine"] = "\x1b[2J\n"
    status["events"][-1]["finish"] = "\x1b[2J"
    assert "\x1b" not in "\n".join(line.plain for line in page(Part(status)))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.6, "1m00s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (360_000, "4d"),
    ],
)
def test_lengths_of_time(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (999_999, "999,999"), (1e6, "1.0M"), (1.2e9, "1.2G")]
)
def test_counts(count: float, shown: str) -> None:
    assert tokens(count) == shown


def test_shares_bars_and_counts_by_name() -> None:
    assert (share(1, 3), share(0, 0)) == ("33%", "-")
    assert [bar(value, 2) for value in (-1, 0, 0.5, 0.53, 1, 7)] == ["", "", "█", "█", "██", "██"]
    assert counted(Part({"a": 1, "b": 3, "c": 3, "d": 0}), most=2) == "b 3, c 3"
    assert counted(Part({})) == "none"


def test_a_quantile_is_the_bound_it_stays_below() -> None:
    buckets = [("0.001", 50.0), ("0.01", 99.0), ("+Inf", 100.0)]
    assert [quantile(buckets, at) for at in (0.5, 0.51, 0.99, 0.999)] == [
        "<1ms",
        "<10ms",
        "<10ms",
        ">10ms",
    ]
    assert quantile([], 0.5) == quantile([("+Inf", 0.0)], 0.5) == "-"
