from pathlib import Path

import pytest

from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.daemon.learned import read_learned, write_learned
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.returns import ReturnModel, kind_of
from slotd.policy.adaptive.state import MARK
from slotd.policy.named import decider_named


def test_what_was_learned_is_there_after_a_restart(tmp_path: Path) -> None:
    model = ReturnModel()
    for _ in range(30):
        model.watched(kind_of(3, 20, 30.0, 9000), 0.0, 20.0, 1.0)
    path = tmp_path / "learned.json"
    write_learned(path, model)
    write_learned(path, model)
    again = read_learned(path)
    assert again is not None
    assert AdaptiveDecider(again).learned
    assert again.seen == 30
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["learned.json"]


def test_a_file_that_is_not_there_is_nothing_learned_and_a_broken_one_an_error(
    tmp_path: Path,
) -> None:
    assert read_learned(tmp_path / "none") is None
    broken = tmp_path / "broken"
    broken.write_bytes(MARK + b"\xff{")
    with pytest.raises(OSError, match="not understood"):
        read_learned(broken)


def test_a_sidecar_decides_by_the_policy_its_settings_name() -> None:
    assert decider_named("adaptive").name == "adaptive"
    assert decider_named("retention").name == "retention"
    assert Sidecar(SidecarSettings(policy_name="adaptive")).model.recall is not None
    assert Sidecar(SidecarSettings()).model.recall is None
