"""Events as the journal's entries, and what a journal that is slow or not there costs."""

import json
import os
import socket
import string
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotd.core.events import Event
from slotd.logs.chain import Chain
from slotd.logs.destination import STANDARD_ERROR, Destination
from slotd.logs.journal import Journal
from slotd.logs.opening import log_writer
from slotd.logs.records import read_record
from slotd.logs.settings import FormatSetting
from slotd.logs.writer import LogWriter
from slotd.policy.json_fields import JsonValue


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "journal"))
        listening.settimeout(60)
        yield listening


def address(journald: socket.socket) -> str:
    return str(journald.getsockname())


def entry(event: Event) -> bytes:
    return Chain("journal", colours=False).line(event, 1.5)


def fields(datagram: bytes) -> dict[str, str]:
    """Read a datagram of the native protocol."""
    found = {}
    while datagram:
        head, _, datagram = datagram.partition(b"\n")
        name, is_short, value = head.partition(b"=")
        if not is_short:
            length = int.from_bytes(datagram[:8], "little")
            value, datagram = datagram[8 : 8 + length], datagram[8 + length + 1 :]
        found[name.decode()] = value.decode()
    return found


def received(journald: socket.socket) -> dict[str, str]:
    data, rights, _, _ = socket.recv_fds(journald, 1 << 20, 1)
    if rights:
        with open(rights[0], "rb") as file:  # noqa: PTH123 - a descriptor
            file.seek(0)
            data = file.read()
            with pytest.raises(PermissionError):
                os.ftruncate(file.fileno(), 0)
    return fields(data)


def test_an_entry_has_the_journals_fields_and_the_events_own() -> None:
    event = Event("parked", "warning", {"request": 3, "slot": 1, "tokens": 37359, "how": "native"})
    assert fields(entry(event)) == {
        "MESSAGE": "parked       slot 1   request=3 tokens=37359 how=native",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "slotd",
        "SLOTD_EVENT": "parked",
        "SLOTD_REQUEST": "3",
        "SLOTD_SLOT": "1",
        "SLOTD_TOKENS": "37359",
        "SLOTD_HOW": "native",
    }


def test_every_level_has_its_priority() -> None:
    priorities = [
        fields(entry(Event("e", level, {})))["PRIORITY"]
        for level in ("debug", "info", "warning", "error")
    ]
    assert priorities == ["7", "6", "4", "3"]


def test_nothing_an_event_holds_can_add_a_field() -> None:
    event = Event("error", "error", {"where": "a\nPRIORITY=0\n", "message": "b\nMESSAGE=c"})
    told = fields(entry(event))
    assert (told["PRIORITY"], told["SLOTD_WHERE"]) == ("3", "a\nPRIORITY=0\n")
    assert told["SLOTD_MESSAGE"] == "b\nMESSAGE=c"
    assert "\n" not in told["MESSAGE"]


json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["null", "1", '"', "[", "true", "0.2", "NaN"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(string.ascii_letters), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["slot", "table", "engine", "score"]), json_values))
def test_an_event_is_read_back_from_the_export_as_it_was(values: dict[str, JsonValue]) -> None:
    exported = {"__REALTIME_TIMESTAMP": "1500000", **fields(entry(Event("e", "info", values)))}
    record = read_record(json.dumps(exported).encode())
    assert record == {"ts": "1970-01-01T00:00:01.500Z", "level": "info", "event": "e", **values}


def test_standard_error_that_is_the_journals_becomes_entries(journald: socket.socket) -> None:
    with writer(journald) as log:
        log.log(Event("place", "info", {"slot": 4, "table": {"slots": [1, 2]}}))
        log.log(Event("checks", "debug", {}))
        log.log(Event("admitted", "info", {}))
    told = received(journald)
    assert (told["SLOTD_SLOT"], told["SLOTD_TABLE"]) == ("4", '{"slots":[1,2]}')
    assert received(journald)["SLOTD_EVENT"] == "admitted"


def writer(
    journald: socket.socket,
    setting: FormatSetting = "auto",
    descriptor: int = STANDARD_ERROR,
    stream: str | None = None,
) -> LogWriter:
    return log_writer(
        Destination(descriptor),
        setting,
        "info",
        environment={"JOURNAL_STREAM": stream or stream_of(descriptor)},
        journal=address(journald),
    )


def stream_of(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{status.st_dev}:{status.st_ino}"


def test_another_stream_or_a_journal_out_of_sight_or_a_wish_for_lines_gives_lines(
    journald: socket.socket, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    lines = 0
    cases: tuple[tuple[FormatSetting, str | None, bool], ...] = (
        ("auto", "1:1", False),
        ("auto", None, True),
        ("json", None, False),
        ("text", None, False),
    )
    for setting, stream, hidden in cases:
        reads, writes = os.pipe()
        if hidden:
            Path(address(journald)).rename(tmp_path / "gone" / "journal")
        with writer(journald, setting, writes, stream) as log:
            log.log(Event("place", "info", {}))
        if hidden:
            (tmp_path / "gone" / "journal").rename(address(journald))
        os.close(writes)
        with open(reads, "rb") as given:  # noqa: PTH123 - a descriptor
            lines += given.read().count(b"place")
    assert lines == 4
    journald.settimeout(0)
    with pytest.raises(BlockingIOError):
        journald.recv(1)


def test_a_table_beyond_a_datagrams_size_arrives_whole_and_sealed(journald: socket.socket) -> None:
    table = "x" * (4 << 20)
    with closing(Journal(address(journald))) as journal:
        journal.write(entry(Event("place", "info", {"table": table})))
    assert received(journald)["SLOTD_TABLE"] == table


def test_a_journal_that_is_gone_costs_entries_and_takes_them_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "journal")
    with closing(Journal(path)) as journal:
        with pytest.raises(FileNotFoundError):
            journal.write(entry(Event("a", "info", {})))
        for name in ("b", "c"):  # it restarts in between
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
                listening.bind(path)
                journal.write(entry(Event(name, "info", {})))
                assert received(listening)["SLOTD_EVENT"] == name
            with pytest.raises(ConnectionRefusedError):
                journal.write(entry(Event("a", "info", {})))
            Path(path).unlink()


def test_a_journal_that_hangs_is_not_waited_for_longer_than_the_bound(
    journald: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slotd.logs.journal.LONGEST_WAIT_S", 0.01)
    with closing(Journal(address(journald))) as journal, pytest.raises(TimeoutError):
        write_for_ever(journal)  # it takes a few, which nobody reads


def write_for_ever(journal: Journal) -> None:
    while True:
        journal.write(entry(Event("a", "info", {})))
