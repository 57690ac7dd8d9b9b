from pathlib import Path

from slotd.config.configuration import Sources
from slotd.core.events import Event
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.daemon.keeper import Keeper
from slotd.daemon.learned import read_learned
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.record.reader import read_record
from slotd.record.tap import RecordingSidecar

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
        first = keeper.sidecar(settings)
        second = keeper.sidecar(settings, first.decider)
        assert second.decider is first.decider
        assert isinstance(second.decider, AdaptiveDecider)
        second.decider.model.seen += 1
        keeper.close()
        assert read_learned(path).model.seen == days


def test_a_file_that_cannot_be_written_costs_one_event(tmp_path: Path) -> None:
    events: list[Event] = []
    keeper = keeper_of(events, SLOTD_LEARNED_FILE=str(tmp_path / "none" / "learned"))
    keeper.sidecar(SidecarSettings(policy_name="adaptive"))
    keeper.close()
    assert [event.name for event in events] == ["error"]
