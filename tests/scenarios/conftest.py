"""Every scenario is played by each policy that promises the published figures.

Here: which policy a stage has whose test names none. Not here: the stage.
"""

import pytest

from tests.scenarios import stage

PROMISING = ("retention", "adaptive")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let the tests that are played on stages run once for each policy."""
    if "every_policy" in metafunc.fixturenames:
        played = getattr(metafunc.module, "Stage", None) is stage.Stage
        metafunc.parametrize("every_policy", PROMISING if played else PROMISING[:1], indirect=True)


@pytest.fixture(autouse=True)
def every_policy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put the policy on the stages of a test that brings no slotd of its own."""
    name: str = request.param
    monkeypatch.setattr(stage.Stage, "policy_name", name)
    return name
