import errno
from collections.abc import Iterable
from pathlib import Path

from slotd.core.events import Event
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.record.files import RecordFiles
from slotd.record.lines import Entry
from slotd.record.reader import read_record
from slotd.record.recorder import RequestRecorder
from slotd.record.sink import RecordSink
from slotd.record.tap import RecordingSidecar

INFO = b"INFO batch_slots=2 slot_cache=1\nREADY 1000 stop\n"


def test_every_byte_passes_as_without_a_record_and_requests_are_noted() -> None:
    entries: list[Entry] = []
    plain = Sidecar(SidecarSettings())
    tapped = RecordingSidecar(SidecarSettings(), RequestRecorder(b"s"), entries.extend)
    steps = [
        ("engine", INFO),
        ("client", b"GEN 2 5,6,7,8\n"),
        ("engine", b"RESUME 0\nT 9\nT 10\nDONE 2 4 1.0 2.0 length 0 0 0\n"),
        ("client", b"BGEN 0 1 5,6,7,8,9,11\n"),
        ("engine", b"RESUME 5\nT 12\nDONE 1 6 1.0 2.0 length 0 0 5\nBADM 0 0\n"),
    ]
    for now, (side, data) in enumerate(steps):
        if side == "client":
            assert tapped.from_client(data, now) == plain.from_client(data, now)
        else:
            assert tapped.from_engine(data, now) == plain.from_engine(data, now)
    assert tapped.engine_eof(9.0) == plain.engine_eof(9.0)
    assert [(one.number, one.prompt, one.out, one.reused) for one in entries] == [
        (1, 4, 2, 0),
        (2, 6, 1, 5),
    ]


def test_a_record_that_fails_ends_and_says_so() -> None:
    class Broken(RequestRecorder):
        def sent(self, *_: object) -> None:
            raise ValueError("no")

    tapped = RecordingSidecar(SidecarSettings(), Broken(b"s"), lambda entries: None)
    tapped.from_engine(INFO, 0.0)
    output = tapped.from_client(b"GEN 2 5,6,7,8\n", 1.0)
    assert output.to_engine
    assert [event.name for event in output.events][-1] == "error"
    assert "error" not in [event.name for event in tapped.from_client(b"GEN 2 5\n", 2.0).events]


def test_the_sink_writes_what_it_was_given(tmp_path: Path) -> None:
    sink = RecordSink(RecordFiles(tmp_path / "r"), lambda event: None)
    sink.put([Entry(1, 0.0, "GEN", 10, 3, None, (b"12345678",))])
    sink.close()
    assert len(read_record(tmp_path / "r").requests) == 1


def test_a_disk_that_is_full_is_told_once_with_the_files_name(tmp_path: Path) -> None:
    class Full(RecordFiles):
        def write(self, entries: Iterable[Entry]) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            super().close()
            raise OSError(errno.ENOSPC, "No space left on device")

    told: list[Event] = []
    sink = RecordSink(Full(tmp_path / "r"), told.append)
    for _ in range(3):
        sink.put([])
    sink.close()
    assert [event.fields["message"] for event in told] == [
        f"{tmp_path / 'r'}: the record cannot be written: No space left on device"
    ]
    assert sink.dropped == 2
