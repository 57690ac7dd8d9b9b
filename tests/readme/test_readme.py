"""What the README says is so: its commands run, its tables are complete, its links lead on."""

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from slotd.cli.demo import demo
from slotd.cli.main import COMMANDS, slotd
from slotd.config.configuration import Sources
from slotd.config.kinds import Choice
from slotd.config.options import OPTIONS
from slotd.policy.settings import DEFAULTS, ENVIRONMENT_NAMES
from tests.paths import PROJECT
from tests.readme import readme
from tests.readme.emitted import emitted

CHECKED = ("sim", "run", "park", "engine", "shim", "look", "measure", "decide")
KINDS = {"run", "check", "output", "file", "table"}

ENGINE = f"""#!/bin/sh
exec {shlex.quote(sys.executable)} -m slotd.sim --speeds instant "$@"
"""
REQUESTS = b"GEN 3 1,2,3\nBGEN 2 3 4,5,6\nQUIT\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give what the README takes for granted: an engine with its BUILD.json, and a log."""
    place = tmp_path_factory.mktemp("place")
    engine = place / "strata"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    (place / "BUILD.json").write_text('{"version": "0.2.7"}')
    command = "slotd run --log-file slotd.log -- ./strata --serve --batch 6"
    assert shell(command, place, REQUESTS).returncode == 0
    return place


def shell(text: str, place: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    # The commands of the installation that runs the tests come first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("SLOTD_")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=place,
        input=given,
        capture_output=True,
        env={**outside, "PATH": path, "SLOTD_CONFIG": ""},
        timeout=60,
    )


def test_every_mark_is_of_a_kind_that_is_tested() -> None:
    assert {block.kind for block in readme.blocks()} == KINDS
    assert {block.name for block in readme.blocks() if block.kind == "check"} == set(CHECKED)


@pytest.mark.parametrize("name", CHECKED)
def test_every_command_to_check_runs(name: str, place: Path) -> None:
    (block,) = readme.named("check", name)
    assert block.language == "sh"
    ran = shell(block.text, place)
    assert (ran.returncode, ran.stderr) == (0, logged_to_stderr(name, ran.stderr))
    assert ran.stdout


def logged_to_stderr(name: str, said: bytes) -> bytes:
    """Give what may be on standard error: the log, where no file was named for it."""
    if name != "engine":
        return b""
    assert all("event" in json.loads(line) for line in said.splitlines())
    return said


def test_slotd_starts_the_engine_in_each_of_the_ways_shown(place: Path) -> None:
    for name in ("run", "park", "engine"):
        (block,) = readme.named("check", name)
        ran = shell(block.text, place, REQUESTS)
        assert b"\nREADY " in ran.stdout
        assert ran.stdout.count(b"\nBADM ") == 1
    (block,) = readme.named("check", "shim")
    printed = shell(block.text, place).stdout.decode()
    written = json.loads("{" + printed + "}")["exe"]
    assert (Path(written).parent / "BUILD.json").read_text() == '{"version": "0.2.7"}'
    assert Path(written).stat().st_mode & stat.S_IXUSR
    served = shell(f"{shlex.quote(written)} --serve --batch 6", place, REQUESTS)
    assert b"\nREADY " in served.stdout


def test_the_decision_shown_is_the_one_made(place: Path) -> None:
    (question,), (answer,) = readme.named("check", "decide"), readme.named("output", "decide")
    assert shell(question.text, place).stdout.decode() == answer.text


def test_the_set_up_commands_name_what_there_is() -> None:
    (tests,), (demo_block,) = readme.named("run", "tests"), readme.named("run", "demo")
    # One command each, on a machine that has just Python with venv and pip.
    assert [step.strip() for step in tests.text.split("&&")] == [
        "python3 -m venv .venv",
        ".venv/bin/pip install -q -e '.[dev]'",
        ".venv/bin/python -m pytest -n auto --dist loadfile",
    ]
    assert [step.strip() for step in demo_block.text.split("&&")] == [
        "python3 -m venv .venv",
        ".venv/bin/pip install -q .",
        ".venv/bin/slotd demo",
    ]
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert "dev" in project["optional-dependencies"]
    assert project["scripts"]["slotd"] == "slotd.cli.main:main"
    assert all(parameter.required is False for parameter in demo.params)


def test_the_table_of_settings_is_the_options_and_their_defaults() -> None:
    shown = [
        (readme.ticked(name)[0], readme.ticked(variable)[0], default)
        for name, variable, default, _ in readme.rows("settings")
    ]
    there = [(option.name, option.environment, as_shown(option.default)) for option in OPTIONS]
    assert shown == there
    policy = {name: variable for name, variable, _ in shown if name.startswith("policy.")}
    assert policy == {f"policy.{name}": ENVIRONMENT_NAMES[name] for name in DEFAULTS}


def as_shown(value: float | bool | str | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else value


def test_the_words_a_setting_takes_are_named_with_it() -> None:
    told = {readme.ticked(row[0])[0]: row[2] + " " + row[3] for row in readme.rows("settings")}
    for option in OPTIONS:
        if isinstance(option.kind, Choice):
            for word in option.kind.words:
                assert re.search(rf"\b{word}\b", told[option.name]), (option.name, word)


def test_the_table_of_commands_is_the_commands() -> None:
    shown = [readme.ticked(name)[0] for name, _ in readme.rows("commands")]
    assert sorted(shown) == sorted(f"slotd {name}" for name in COMMANDS)


def test_the_table_of_events_is_what_the_code_can_emit() -> None:
    described, there = readme.events(), emitted()
    assert set(described) == set(there)
    for name, event in there.items():
        told = described[name]
        assert told.levels == event.levels, name
        assert told.fields | told.optional >= event.sure, name
        assert told.fields | told.optional >= event.added, name
        assert told.fields | told.optional <= event.possible, name


def test_the_files_shown_are_accepted(tmp_path: Path) -> None:
    (settings,), (serve,) = readme.named("file", "slotd.toml"), readme.named("file", "serve.json")
    path = tmp_path / "slotd.toml"
    path.write_text(settings.text)
    in_force = Sources(environment={}, file=str(path)).load()
    given = {name for name, setting in in_force.settings.items() if setting.origin != "default"}
    assert given == {"policy.ttl_max_s", "slotd.engine", "log.file"}
    environment = json.loads(serve.text)["env"]
    ours = Sources(environment=environment, default_file=str(tmp_path / "none")).load()
    used = {
        setting.option.environment
        for setting in ours.settings.values()
        if setting.origin != "default"
    }
    assert used == set(environment) - {"STRATA_PIPELINE_ACTIVE_ROWS"}


def test_every_command_and_option_named_in_the_text_exists() -> None:
    text = readme.README.read_text()
    context = click.Context(slotd)
    for name, arguments in re.findall(r"\bslotd ([a-z]+)((?: [^\n`]*)?)", command_text(text)):
        command = slotd.get_command(context, name)
        if isinstance(command, click.Group) and arguments:
            name, _, arguments = arguments.strip().partition(" ")
            command = command.get_command(context, name)
        assert command is not None, f"slotd {name}"
        options = {option for parameter in command.params for option in parameter.opts}
        for option in re.findall(r"(?:^| )(--[a-z][a-z-]*)", arguments.partition(" -- ")[0]):
            assert option in options | {"--help"}, f"slotd {name} {option}"


def command_text(text: str) -> str:
    """Return what is written as code: fenced shell blocks and code in the text."""
    fenced = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return "\n".join([*fenced, *re.findall(r"`(slotd [^`\n]+)`", text)])


def test_every_link_leads_to_a_file_of_the_project() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", readme.README.read_text())
    assert len(targets) >= 5
    for target in targets:
        assert (PROJECT / target.partition("#")[0]).exists(), target


def test_every_folder_named_exists() -> None:
    named = re.findall(r"`((?:slotd|protocol)/[a-z]*/?)`", readme.README.read_text())
    assert len(named) > 5
    assert all((PROJECT / folder).is_dir() for folder in named)
