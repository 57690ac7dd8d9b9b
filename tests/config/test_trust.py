"""What root does not rely on."""

import os
from pathlib import Path

import pytest

from slotd.config.configuration import Sources
from slotd.config.errors import ConfigurationError
from slotd.config.trust import untrusted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be misled this way")

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    directory = tmp_path / "etc"
    directory.mkdir(mode=0o755)
    path = directory / "slotd.toml"
    path.write_text("[policy]\nttl_max_s = 60\n")
    path.chmod(0o644)
    return path


def refusal(path: Path) -> str | None:
    return untrusted(str(path), path.stat(), "configuration file")


def test_what_only_root_can_write_is_trusted(file: Path) -> None:
    assert refusal(file) is None
    file.chmod(0o664)  # the group is root's
    assert refusal(file) is None


def test_a_file_everybody_can_write_is_not(file: Path) -> None:
    file.chmod(0o666)
    message = refusal(file)
    assert message is not None
    assert message.startswith(f"configuration file {file} can be written by everybody: as root, ")
    with pytest.raises(ConfigurationError, match="can be written by everybody"):
        Sources(environment={}, file=str(file)).load()


def test_a_file_of_another_user_is_not(file: Path) -> None:
    os.chown(file, NOBODY, 0)
    assert f"by its owner (user {NOBODY})" in str(refusal(file))


def test_a_file_another_group_can_write_is_not(file: Path) -> None:
    os.chown(file, 0, NOBODY)
    assert refusal(file) is None
    file.chmod(0o664)
    assert f"by group {NOBODY}" in str(refusal(file))


def test_a_directory_others_can_write_lets_them_put_another_file_there(file: Path) -> None:
    file.parent.chmod(0o777)
    assert "lies in a directory that can be written by everybody" in str(refusal(file))
    file.parent.chmod(0o1777)  # as /tmp: only the owner of a file can replace it
    assert refusal(file) is None


def test_a_link_is_judged_by_what_it_leads_to(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    file.parent.chmod(0o777)
    assert "lies in a directory" in str(refusal(link))


def test_others_than_root_are_not_asked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert refusal(file) is None
