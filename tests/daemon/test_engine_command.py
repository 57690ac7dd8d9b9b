"""`slotd-engine` and the shims that start it."""

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from slotd.cli.shim import shim
from slotd.cli.sources import Refusal
from tests.clients.slotd import SLOTD_ENGINE
from tests.daemon.processes import outcome

ENGINE = f"""#!{sys.executable}
import json, os, sys
print(json.dumps([sys.argv, {{k: v for k, v in os.environ.items() if k.startswith("SLOTD_")}}]))
"""


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """An engine in a directory whose name a shell could trip over."""
    directory = tmp_path / "an 'odd' \"$HOME\" `x` \\ directory"
    directory.mkdir()
    path = directory / "the engine"
    path.write_text(ENGINE)
    path.chmod(0o755)
    return path


ARGUMENTS = ["--serve", "--config", "x", "--", "", "a b", "--help"]


def heard(command: list[str], **environment: str) -> tuple[list[str], dict[str, str]]:
    """The arguments and SLOTD_ variables an engine got."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("SLOTD_")}
    status, out, err = outcome(command, env={**inherited, **environment})
    assert status == 0, err.decode()
    arguments, variables = json.loads(out)
    return arguments, variables


def test_every_argument_is_the_engines(engine: Path) -> None:
    arguments, variables = heard([*SLOTD_ENGINE, *ARGUMENTS], SLOTD_ENGINE=str(engine))
    assert arguments == [str(engine), *ARGUMENTS]
    assert variables == {"SLOTD_ENGINE": str(engine)}


def test_the_engine_can_be_named_in_the_file(engine: Path, tmp_path: Path) -> None:
    path = tmp_path / "slotd.toml"
    path.write_text(f"[slotd]\nengine = {json.dumps(str(engine))}\n")
    arguments, _ = heard([*SLOTD_ENGINE, "--serve"], SLOTD_CONFIG=str(path))
    assert arguments == [str(engine), "--serve"]


@pytest.mark.parametrize(
    ("environment", "status", "said"),
    [
        ({}, 2, "slotd-engine: no engine is named: set SLOTD_ENGINE, or engine in [slotd] of "),
        ({"SLOTD_ENGINE": "/x/slotd-engine"}, 2, "which is slotd itself: name the engine's"),
        ({"SLOTD_ENGINE": "/nonexistent"}, 127, "slotd-engine: engine /nonexistent: there is no"),
        ({"SLOTD_ENGINE": "/"}, 126, "slotd-engine: engine /: cannot be executed: is a directory"),
    ],
)
def test_without_an_engine_to_start_it_says_the_way_out(
    environment: dict[str, str], status: int, said: str
) -> None:
    got, out, err = outcome([*SLOTD_ENGINE, "--serve"], env={"PATH": "/usr/bin", **environment})
    assert (got, out) == (status, b"")
    assert said in err.decode()
    assert err.count(b"\n") == 1


def make(*arguments: object) -> str:
    """Run `slotd shim` and return what it prints."""
    result = CliRunner().invoke(shim, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refusal(*arguments: object) -> str:
    """Run `slotd shim` and return what it refuses."""
    result = CliRunner().invoke(shim, [str(a) for a in arguments], standalone_mode=False)
    assert isinstance(result.exception, Refusal), result
    assert "\n" not in result.exception.message
    return result.exception.message


def test_a_shim_starts_the_engine_as_if_it_were_the_engine(engine: Path, tmp_path: Path) -> None:
    (engine.parent / "BUILD.json").write_text('{"version": "0.2.7"}')
    target = tmp_path / "shims" / "the engine"
    assert make(tmp_path / "shims", "--engine", engine) == f'"exe": {json.dumps(str(target))}\n'
    arguments, variables = heard([str(target), *ARGUMENTS])
    assert arguments == [str(engine), *ARGUMENTS]
    assert variables == {}
    assert (tmp_path / "shims" / "BUILD.json").read_text() == '{"version": "0.2.7"}'
    assert sorted(path.name for path in target.parent.iterdir()) == ["BUILD.json", "the engine"]


def test_modules_in_the_working_directory_are_not_taken_for_slotds(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "shims", "--engine", engine, "--name", "e")
    for module in ("attrs", "trio", "slotd"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    assert heard([str(tmp_path / "shims" / "e")])[0] == [str(engine)]


def test_a_relative_engine_is_found_from_anywhere(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(engine.parent)
    make(tmp_path / "shims", "--engine", engine.name)
    monkeypatch.chdir("/")
    assert heard([str(tmp_path / "shims" / engine.name)])[0] == [str(engine)]


def test_a_shim_is_renewed_with_its_build_file(engine: Path, tmp_path: Path) -> None:
    build, shims = engine.parent / "BUILD.json", tmp_path / "shims"
    build.write_text("1")
    make(shims, "--engine", engine)
    build.write_text("2")
    make(shims, "--engine", engine)
    assert (shims / "BUILD.json").read_text() == "2"


def test_no_version_is_left_beside_a_shim_whose_engine_says_none(
    engine: Path, tmp_path: Path
) -> None:
    build, shims = engine.parent / "BUILD.json", tmp_path / "shims"
    build.write_text("1")
    make(shims, "--engine", engine)
    build.unlink()
    make(shims, "--engine", engine)
    assert [path.name for path in shims.iterdir()] == [engine.name]
    (shims / "BUILD.json").write_text("theirs")
    said = refusal(shims, "--engine", engine, "--name", "other")
    assert "BUILD.json: is there and the engine has none: give --force" in said
    assert (shims / "BUILD.json").read_text() == "theirs"
    make(shims, "--engine", engine, "--name", "other", "--force")
    assert not (shims / "BUILD.json").exists()


@pytest.mark.parametrize("is_file", [True, False])
def test_a_shim_beside_its_engine_leaves_the_build_file_alone(engine: Path, is_file: bool) -> None:
    build = engine.parent / "BUILD.json"
    if is_file:
        build.write_text("1")
    else:
        build.symlink_to("nowhere")
    for _ in range(2):
        make(engine.parent, "--engine", engine, "--name", "placed")
    assert build.is_symlink() or build.read_text() == "1"


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_the_engine_itself_is_never_written_over(
    engine: Path, tmp_path: Path, force: list[str]
) -> None:
    assert "is the engine itself" in refusal(engine.parent, "--engine", engine, *force)
    links = tmp_path / "links"
    links.mkdir()
    (links / "e").symlink_to(engine)
    assert "is the engine itself" in refusal(links, "--engine", engine, "--name", "e", *force)
    (links / "hard").hardlink_to(engine)
    assert "is the engine itself" in refusal(links, "--engine", engine, "--name", "hard", *force)
    assert engine.read_text() == ENGINE


def test_what_is_no_shim_is_written_over_only_by_force(engine: Path, tmp_path: Path) -> None:
    other = tmp_path / "the engine"
    other.write_text("somebody's work\n")
    assert "is there and is no shim: give --force" in refusal(tmp_path, "--engine", engine)
    assert other.read_text() == "somebody's work\n"
    make(tmp_path, "--engine", engine, "--force")
    assert heard([str(other)])[0] == [str(engine)]


def test_somebody_elses_build_file_is_written_over_only_by_force(
    engine: Path, tmp_path: Path
) -> None:
    (engine.parent / "BUILD.json").write_text("ours")
    theirs = tmp_path / "BUILD.json"
    theirs.write_text("theirs")
    assert "is there and differs from" in refusal(tmp_path, "--engine", engine)
    assert theirs.read_text() == "theirs"
    assert not (tmp_path / "the engine").exists()
    make(tmp_path, "--engine", engine, "--force")
    assert theirs.read_text() == "ours"


def test_a_build_file_that_cannot_be_read_or_written_over_is_told(
    engine: Path, tmp_path: Path
) -> None:
    shims, build = tmp_path / "shims", engine.parent / "BUILD.json"
    build.write_text("1")
    (shims / "BUILD.json").mkdir(parents=True)
    assert "BUILD.json: is there and differs from" in refusal(shims, "--engine", engine)
    assert "BUILD.json: cannot be written: Is a directory" in refusal(
        shims, "--engine", engine, "--force"
    )
    (shims / "BUILD.json").rmdir()
    (shims / "BUILD.json").symlink_to(tmp_path / "nowhere")
    assert "BUILD.json: is there and differs from" in refusal(shims, "--engine", engine)
    build.unlink()
    build.symlink_to("/proc/self/mem")  # a file that nobody can read from its begin
    assert "BUILD.json: cannot be read: Input/output error: make" in refusal(
        shims, "--engine", engine
    )


def test_what_cannot_be_a_shim_is_refused(engine: Path, tmp_path: Path) -> None:
    make(tmp_path / "shims", "--engine", engine)
    (tmp_path / "dir" / "the engine").mkdir(parents=True)
    (tmp_path / "data").write_text("")
    for arguments, said in {
        (tmp_path, "--engine", tmp_path / "none"): "No such file or directory",
        (tmp_path, "--engine", tmp_path): "cannot be executed",
        (tmp_path, "--engine", tmp_path / "data"): "cannot be executed",
        (tmp_path, "--engine", tmp_path / "shims" / "the engine"): "is a shim of slotd's",
        (tmp_path / "data", "--engine", engine): "File exists",
        (tmp_path / "data" / "x", "--engine", engine): "Not a directory",
        (tmp_path / "dir", "--engine", engine): "is a directory",
        (tmp_path, "--engine", engine, "--name", "a/b"): "give a file name without a directory",
        (tmp_path, "--engine", engine, "--name", ""): "give a file name without a directory",
    }.items():
        assert said in refusal(*arguments)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be misled this way")
def test_root_does_not_start_what_others_can_write(engine: Path, tmp_path: Path) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    shims.chmod(0o777)
    assert f"directory {shims} can be written by everybody" in refusal(shims, "--engine", engine)
    shims.chmod(0o755)
    engine.chmod(0o777)
    assert f"engine {engine} can be written by everybody" in refusal(shims, "--engine", engine)
    engine.chmod(0o755)
    engine.parent.chmod(0o777)
    assert "lies in a directory that can be written by" in refusal(shims, "--engine", engine)
    assert list(shims.iterdir()) == []
