"""Reading log lines back, slotd's own and journald's."""

import json

import pytest

from slotd.logs.records import read_record, timestamp


def test_a_time_is_utc_with_milliseconds() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_700_000_000.0625) == "2023-11-14T22:13:20.062Z"


def test_a_log_line_is_its_record() -> None:
    line = b'{"ts":"t","level":"info","event":"place","slot":2,"table":{"slots":[]}}\n'
    assert read_record(line) == json.loads(line)


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"engine: loading", b'{"ts":"t"}', b"[1,2]", b"\xff\xfe", b'{"event":3}', b"7"],
)
def test_anything_else_is_no_record(line: bytes) -> None:
    assert read_record(line) is None


def test_a_bottomless_line_is_no_record() -> None:
    assert read_record(b"[" * 200_000) is None


def test_fields_of_the_journal_are_the_records_fields() -> None:
    entry = {
        "__REALTIME_TIMESTAMP": "1700000000000000",
        "_SOURCE_REALTIME_TIMESTAMP": "1700000000062500",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "slotd",
        "MESSAGE": "drift",
        "SLOTD_EVENT": "drift",
        "SLOTD_SLOT": "2",
        "SLOTD_REASON": "least_loss",
        "SLOTD_TABLE": '{"slots": []}',
        "SLOTD_SCORE": "null",
    }
    assert read_record(json.dumps(entry).encode()) == {
        "ts": "2023-11-14T22:13:20.062Z",
        "level": "warning",
        "event": "drift",
        "slot": 2,
        "reason": "least_loss",
        "table": {"slots": []},
        "score": None,
    }


def test_a_json_line_in_the_journal_is_its_record() -> None:
    entry = {"MESSAGE": '{"ts":"t","level":"info","event":"parked","slot":1}', "PRIORITY": "6"}
    record = read_record(json.dumps(entry).encode())
    assert record == {"ts": "t", "level": "info", "event": "parked", "slot": 1}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("CUDA out of memory", "CUDA out of memory"),
        ([67, 85, 68, 65, 0xFF], "CUDA\ufffd"),
        (["first", "second"], "second"),
        (None, ""),
        ([], ""),
        ('{"no": "event"}', '{"no": "event"}'),
    ],
)
def test_what_somebody_else_said_is_a_message(message: object, shown: str) -> None:
    entry = {"MESSAGE": message, "PRIORITY": "3", "__REALTIME_TIMESTAMP": "0"}
    assert read_record(json.dumps(entry).encode()) == {
        "ts": "1970-01-01T00:00:00.000Z",
        "level": "error",
        "event": "message",
        "message": shown,
    }


@pytest.mark.parametrize("moment", ["", "soon", "9" * 40, None])
def test_a_journal_entry_without_a_time_has_none(moment: str | None) -> None:
    record = read_record(json.dumps({"MESSAGE": "x", "__REALTIME_TIMESTAMP": moment}).encode())
    assert record is not None
    assert record["ts"] == ""
