import os
from pathlib import Path
from threading import Event as Flag
from threading import Thread

import pytest

from slotd.config.configuration import Sources
from slotd.core.events import Event
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.daemon.keeper import Keeper
from slotd.daemon.learned import read_learned, write_learned
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.returns import ReturnModel
from slotd.policy.adaptive.state import dump
from slotd.record.files import RecordFiles
from slotd.record.lines import MARK, Entry
from slotd.record.reader import read_record
from slotd.record.tap import RecordingSidecar
from tests.daemon.processes import HANGS_AFTER

INFO = b"INFO batch_slots=2 slot_cache=1\nREADY 1000 stop\n"


def solo_request(sidecar: Sidecar) -> None:
    sidecar.from_engine(INFO, 0.0)
    sidecar.from_client(b"GEN 2 5,6,7,8\n", 1.0)
    sidecar.from_engine(b"RESUME 0\nT 9\nT 10\nDONE 2 4 1.0 2.0 length 0 0 0\n", 2.0)


def keeper_of(events: list[Event], **values: str) -> Keeper:
    configuration = Sources(environment=values, default_file="/nowhere.toml").load()
    return Keeper(configuration, events.append, lambda: 0.0)


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    keeper = keeper_of([])
    assert type(keeper.sidecar(SidecarSettings())) is Sidecar
    keeper.close()


def test_requests_are_in_the_record_once_it_is_closed(tmp_path: Path) -> None:
    keeper = keeper_of([], SLOTD_RECORD_FILE=str(tmp_path / "record"))
    sidecar = keeper.sidecar(SidecarSettings())
    assert isinstance(sidecar, RecordingSidecar)
    solo_request(sidecar)
    keeper.close()
    (request,) = read_record(tmp_path / "record").requests
    assert (request.prompt_length, request.output_length) == (4, 2)


def test_a_record_that_cannot_be_opened_costs_one_event(tmp_path: Path) -> None:
    events: list[Event] = []
    keeper = keeper_of(events, SLOTD_RECORD_FILE=str(tmp_path / "none" / "record"))
    assert type(keeper.sidecar(SidecarSettings())) is Sidecar
    assert [event.name for event in events] == ["error"]
    keeper.close()


def test_what_was_learned_outlives_engines_and_slotd(tmp_path: Path) -> None:
    path = tmp_path / "learned"
    settings = SidecarSettings(policy_name="adaptive")
    for days in (1, 2):
        keeper = keeper_of([], SLOTD_LEARNED_FILE=str(path))
        first = keeper.sidecar(settings).decider
        second = keeper.sidecar(settings).decider
        assert isinstance(first, AdaptiveDecider)
        assert isinstance(second, AdaptiveDecider)
        assert second.model is first.model
        assert second is not first  # what the first waited for went with its engine's slots
        second.model.seen += 1
        keeper.close()
        model = read_learned(path)
        assert model is not None
        assert model.seen == days


def test_settings_read_again_take_up_and_keep_what_was_learned(tmp_path: Path) -> None:
    path = tmp_path / "learned"
    settings = SidecarSettings(policy_name="adaptive")
    earlier = ReturnModel()
    earlier.seen = 7
    write_learned(path, earlier)
    keeper = keeper_of([], SLOTD_LEARNED_FILE=str(path))
    sidecar = keeper.sidecar(SidecarSettings())
    for seen in (8, 9):
        sidecar.replace_settings(settings)
        assert isinstance(sidecar.decider, AdaptiveDecider)
        sidecar.decider.model.seen += 1
        assert sidecar.decider.model.seen == seen
        sidecar.replace_settings(SidecarSettings())
    keeper.close()
    model = read_learned(path)
    assert model is not None
    assert model.seen == 9


def test_a_policy_that_was_off_begins_to_watch_anew() -> None:
    settings = SidecarSettings(policy_name="adaptive")
    keeper = keeper_of([])
    sidecar = keeper.sidecar(settings)
    before = sidecar.decider
    sidecar.replace_settings(settings)
    assert sidecar.decider is before
    sidecar.replace_settings(SidecarSettings(policy_name="off"))
    sidecar.replace_settings(settings)
    assert sidecar.decider is not before
    keeper.close()


def told_of_learning_in(path: Path) -> list[Event]:
    """Let the adaptive policy keep what it learns in a file, and end: that tries to write twice."""
    events: list[Event] = []
    keeper = keeper_of(events, SLOTD_LEARNED_FILE=str(path))
    keeper.sidecar(SidecarSettings(policy_name="adaptive"))
    keeper.close()
    return events


BROKEN = {
    "torn": dump(ReturnModel()).encode()[:40],
    "garbage": b'{"slotd_adaptive":\xff\x00',
    "deep": b'{"slotd_adaptive":' + b"[" * 100_000,
    "of another version": dump(ReturnModel()).replace(":1,", ":2,", 1).encode(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_was_learned_and_is_not_understood_is_told_and_begun_anew(
    what: str, tmp_path: Path
) -> None:
    path = tmp_path / "learned"
    path.write_bytes(BROKEN[what])
    events = told_of_learning_in(path)
    assert [event.fields["message"] for event in events] == [
        f"{path}: what it holds is not understood; learning begins anew"
    ]
    assert read_learned(path) is not None


def test_a_first_or_empty_file_of_what_is_learned_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        assert told_of_learning_in(tmp_path / name) == []


def test_a_file_that_cannot_be_written_costs_one_event(tmp_path: Path) -> None:
    events = told_of_learning_in(tmp_path / "none" / "learned")
    assert [event.name for event in events] == ["error"]


def test_a_disk_that_hangs_does_not_keep_slotd_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, writing = Flag(), Flag()

    def hang(path: Path, model: ReturnModel) -> None:
        writing.set()
        hangs.wait()

    monkeypatch.setattr("slotd.daemon.keeper.write_learned", hang)
    monkeypatch.setattr("slotd.daemon.keeper.CLOSE_S", 0.01)
    keeper = keeper_of([], SLOTD_LEARNED_FILE=str(tmp_path / "learned"))
    keeper.sidecar(SidecarSettings(policy_name="adaptive"))
    assert writing.wait(HANGS_AFTER)
    closing = Thread(target=keeper.close)
    closing.start()
    try:
        closing.join(HANGS_AFTER)
        assert not closing.is_alive()
    finally:
        hangs.set()


def other_things(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """What may lie where slotd is told to put a file of its own, and what is said of it."""
    directory, text, pipe = (tmp_path / name for name in ("directory", "text", "pipe"))
    directory.mkdir()
    text.write_text("important\n")
    os.mkfifo(pipe)
    return {
        "directory": (directory, "Is a directory"),
        "text": (text, "there is something else of that name"),
        "pipe": (pipe, "No such device or address"),
    }


@pytest.mark.parametrize("what", ["directory", "text", "pipe"])
def test_a_record_moves_nothing_away_that_is_no_record(what: str, tmp_path: Path) -> None:
    path, why = other_things(tmp_path)[what]
    events: list[Event] = []
    keeper = keeper_of(events, SLOTD_RECORD_FILE=str(path))
    assert type(keeper.sidecar(SidecarSettings())) is Sidecar
    keeper.close()
    told = [event.fields["message"] for event in events]
    assert told == [f"{path}: the record cannot be written: {why}"]
    assert sorted(left.name for left in tmp_path.iterdir()) == ["directory", "pipe", "text"]
    assert (tmp_path / "text").read_text() == "important\n"


@pytest.mark.parametrize("what", ["directory", "text", "pipe"])
def test_what_was_learned_replaces_nothing_else(what: str, tmp_path: Path) -> None:
    path, _ = other_things(tmp_path)[what]
    events = told_of_learning_in(path)
    assert [event.fields["where"] for event in events] == ["learned"]
    assert sorted(left.name for left in tmp_path.iterdir()) == ["directory", "pipe", "text"]
    assert (tmp_path / "text").read_text() == "important\n"


def test_nor_what_lies_beside_it_under_the_name_it_is_written_to_first(tmp_path: Path) -> None:
    path, beside = tmp_path / "learned", tmp_path / "learned.new"
    beside.write_text("important\n")
    events = told_of_learning_in(path)
    assert [event.fields["message"] for event in events] == [
        f"{beside}: cannot be written: there is something else of that name"
    ]
    assert beside.read_text() == "important\n"
    beside.write_bytes(BROKEN["torn"])
    write_learned(path, ReturnModel())
    beside.symlink_to(tmp_path / "elsewhere")
    write_learned(path, ReturnModel())
    assert [left.name for left in tmp_path.iterdir()] == ["learned"]


def test_a_full_record_moves_nothing_away_either(tmp_path: Path) -> None:
    path, in_its_way = tmp_path / "record", tmp_path / "record.1"
    files = RecordFiles(path)
    files.write([Entry(1, 0.0, "GEN", 10, 3, None, (b"12345678",))])
    files.close()
    in_its_way.mkdir()
    with pytest.raises(OSError, match="something else of that name"):
        RecordFiles(path)
    assert path.is_file()
    assert in_its_way.is_dir()


def test_a_record_that_was_cut_off_in_its_first_line_is_one(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_bytes(MARK[:5])
    RecordFiles(path).close()
    assert path.read_bytes().startswith(MARK)
