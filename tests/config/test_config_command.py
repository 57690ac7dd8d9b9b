"""`slotd config`, and refusals before an engine is started."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from slotd.cli.config import config
from slotd.cli.main import COMMANDS
from slotd.config.options import OPTIONS
from tests.clients.slotd import SLOTD, SLOTD_ENGINE
from tests.daemon.processes import outcome


def test_every_setting_is_listed_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTD_LOG_LEVEL", "debug")
    result = CliRunner().invoke(config, ["--policy", "off", "--no-slot-key", "--set", "park=off"])
    assert result.exit_code == 2  # a bare key names a number of the policy only
    result = CliRunner().invoke(
        config, ["--policy", "off", "--no-slot-key", "--set", "slotd.park=off"]
    )
    rows = {line.split()[0]: line.split()[1:] for line in result.output.splitlines()}
    assert list(rows) == [option.name for option in OPTIONS]
    assert rows["policy.ttl_max_s"] == ["120", "default"]
    assert rows["slotd.policy"] == ["off", "command", "line"]
    assert rows["slotd.slot_key"] == ["false", "command", "line"]
    assert rows["slotd.park"] == ["off", "command", "line"]
    assert rows["slotd.engine"] == ["-", "default"]
    assert rows["log.level"] == ["debug", "environment", "SLOTD_LOG_LEVEL"]


def test_the_same_as_json(tmp_path: Path) -> None:
    path = tmp_path / "slotd.toml"
    path.write_text("[slotd]\nengine = '/opt/engine'\n")
    result = CliRunner().invoke(config, ["--json", "--config", str(path)])
    whole = json.loads(result.output)
    assert list(whole) == [option.name for option in OPTIONS]
    assert whole["slotd.engine"] == {
        "value": "/opt/engine",
        "origin": f"file {path}",
        "environment": "SLOTD_ENGINE",
        "default": None,
    }
    assert whole["policy.sibling_share"]["value"] == 0.98


def test_set_counts_over_an_option_with_a_name_of_its_own() -> None:
    result = CliRunner().invoke(config, ["--set", "slotd.policy=retention", "--policy", "off"])
    (row,) = (line for line in result.output.splitlines() if line.startswith("slotd.policy "))
    assert row.split() == ["slotd.policy", "retention", "command", "line"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--policy", "lru"],
            "slotd: command line: policy is 'lru': give one of retention, adaptive, off\n",
        ),
        (
            ["--set", "ttl_max_s"],
            "slotd run: --set 'ttl_max_s': write it as NAME=VALUE ('slotd run --help' explains)\n",
        ),
        (
            ["--config", "/nonexistent"],
            "slotd: /nonexistent: no such configuration file: give --config one that exists\n",
        ),
        (
            ["--log-file", "/nonexistent/log"],
            "slotd: log file /nonexistent/log: cannot be opened for appending: No such file or "
            "directory: give --log-file a path that can be written\n",
        ),
        (["--nonsense"], "slotd run: No such option '--nonsense'. ('slotd run --help' explains)\n"),
    ],
)
def test_a_mistake_is_one_line_and_the_engine_is_not_started(
    tmp_path: Path, options: list[str], said: str
) -> None:
    mark = tmp_path / "started"
    status, out, err = outcome([*SLOTD, "run", *options, "--", "touch", str(mark)])
    assert (status, out, err.decode()) == (2, b"", said)
    assert not mark.exists()


def test_a_bad_variable_is_refused_by_slotd_engine_too(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    environment = {"SLOTD_ENGINE": "touch", "STRATA_SLOT_SIBLING_SHARE": "2", "PATH": "/usr/bin"}
    status, out, err = outcome([*SLOTD_ENGINE, str(mark)], env=environment)
    assert (status, out) == (2, b"")
    assert err.decode().startswith(
        "slotd-engine: environment: STRATA_SLOT_SIBLING_SHARE is '2': give a share from 0 to 1"
    )
    assert err.count(b"\n") == 1
    assert not mark.exists()


def test_without_a_command_the_commands_are_named() -> None:
    status, _, err = outcome(SLOTD)
    assert status == 2
    assert err.startswith(b"slotd: name a command: ")
    assert all(command.encode() in err for command in COMMANDS)
    assert err.count(b"\n") == 1


def test_the_version_is_told() -> None:
    status, out, _ = outcome([*SLOTD, "--version"])
    assert status == 0
    assert out.startswith(b"slotd ")


LATE = ("trio", "numpy", "structlog", "rich", "pathlib", "slotd.core.sidecar", "protocol")
"""Modules that take longer to import than the engine may have to wait."""


@pytest.mark.parametrize(
    ("module", "late"), [("slotd.cli.run", LATE), ("slotd.cli.engine", (*LATE, "click"))]
)
def test_what_is_slow_is_not_imported_before_the_engine_is_started(
    module: str, late: tuple[str, ...]
) -> None:
    program = f"import sys, {module}; print([m for m in {late} if m in sys.modules])"
    assert outcome([sys.executable, "-c", program])[:2] == (0, b"[]\n")
