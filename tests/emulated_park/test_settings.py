"""The settings of parks by slotd's own requests, and what keeps its own requests out of sight."""

from pathlib import Path

import pytest

from slotd.config.configuration import Sources
from slotd.config.errors import ConfigurationError
from slotd.core.settings import SidecarSettings
from slotd.daemon.reload import settings_event, sidecar_settings
from slotd.record.lines import Entry
from slotd.record.recorder import RequestRecorder
from slotd.record.tap import RecordingSidecar
from tests.core.transcript import spelled
from tests.emulated_park.transcript import EMULATED, HELD, LONG


def test_they_come_from_a_file_the_environment_or_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "slotd.toml"
    file.write_text("[slotd]\npark = 'emulated'\npad_rows = 'low'\nturn_token = 7\n")
    sources = Sources(
        environment={"SLOTD_TURN_TOKEN": "248045"},
        file=str(file),
        command_line=(("slotd.pad_rows", "any"),),
    )
    settings = sidecar_settings(sources.load(), hosted=False)
    assert settings == SidecarSettings(park="emulated", pad_rows="any", turn_token=248_045)
    told = settings_event(settings).fields
    assert (told["park"], told["pad_rows"], told["turn_token"]) == ("emulated", "any", 248_045)


def test_nothing_of_it_is_on_by_itself() -> None:
    settings = sidecar_settings(Sources(environment={}, default_file="").load(), hosted=False)
    assert (settings.park, settings.pad_rows, settings.turn_token) == ("auto", "any", None)


@pytest.mark.parametrize("text", ["-1", "2.5", "", " 7", "2147483648", "9" * 30, "turn"])
def test_what_is_no_token_is_refused_in_one_line(text: str) -> None:
    refusal = "turn_token is .*: give a token's id, a whole number, without quotes"
    with pytest.raises(ConfigurationError, match=refusal):
        Sources(environment={}, command_line=(("slotd.turn_token", text),)).load()


@pytest.mark.parametrize("value", ["'7'", "true", "7.0", "-1"])
def test_in_a_file_it_is_a_whole_number(value: str, tmp_path: Path) -> None:
    file = tmp_path / "slotd.toml"
    file.write_text(f"[slotd]\nturn_token = {value}\n")
    with pytest.raises(ConfigurationError, match="turn_token is"):
        Sources(environment={}, file=str(file)).load()


def test_slotds_own_requests_are_in_no_record() -> None:
    entries: list[Entry] = []
    recording = RecordingSidecar(EMULATED, RequestRecorder(b"salt"), entries.extend)
    recording.from_engine(b"INFO batch_slots=4 slot_cache=1\nREADY 270000 stop\n", 0.0)
    recording.from_client(spelled(f"GEN 9 {LONG}\n").encode(), 1.0)
    recording.from_engine(b"RESUME 0\nT 500\nDONE 1 %d 1 1 length 0 0 0\n" % HELD, 2.0)
    sent = recording.from_client(b"GEN 5 1,2,3\n", 3.0).to_engine
    assert b"".join(sent).startswith(b"BGEN 0 2 ")
    own = b"RESUME %d\nT 6\nDONE 1 %d 1 1 length 0 0 %d\n" % (HELD, HELD + 1, HELD)
    recording.from_engine(own + b"BADM 0 1\nBT 0 7\nBDONE 0 2 length 3\n", 4.0)
    recording.from_engine(b"RESUME 0\nT 7\nDONE 1 3 1 1 stop 0 0 0\n", 5.0)
    recording.engine_eof(6.0)
    noted = [(entry.number, entry.prompt, entry.reused) for entry in entries]
    assert noted == [(1, HELD, 0), (2, 3, 0)]
