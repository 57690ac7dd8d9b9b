from pathlib import Path

from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.daemon.learned import read_learned, write_learned
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.returns import ReturnModel, kind_of
from slotd.policy.named import decider_named


def test_what_was_learned_is_there_after_a_restart(tmp_path: Path) -> None:
    model = ReturnModel()
    for _ in range(30):
        model.watched(kind_of(3, 20, 30.0, 9000), 0.0, 20.0, 1.0)
    path = tmp_path / "learned.json"
    write_learned(path, AdaptiveDecider(model))
    write_learned(path, AdaptiveDecider(model))
    again = read_learned(path)
    assert again.learned
    assert again.model.seen == 30
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["learned.json"]


def test_a_file_that_is_not_there_or_broken_costs_the_learning_only(tmp_path: Path) -> None:
    assert not read_learned(tmp_path / "none").learned
    broken = tmp_path / "broken"
    broken.write_bytes(b"\xff{")
    assert not read_learned(broken).learned


def test_a_sidecar_decides_by_the_policy_its_settings_name() -> None:
    assert decider_named("adaptive").name == "adaptive"
    assert decider_named("retention").name == "retention"
    assert Sidecar(SidecarSettings(policy_name="adaptive")).model.recall is not None
    assert Sidecar(SidecarSettings()).model.recall is None
