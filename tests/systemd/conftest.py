"""Tests marked `systemd` run beside a real systemd, booted once for all of them.

Outside, the first of them boots it in namespaces of its own and runs all that were selected there,
by a pytest of its own; each then has the result it had there. Inside, they simply run. So such a
test takes no fixtures: they would be set up outside.
"""

import os
import subprocess
import tempfile
from xml.etree import ElementTree

import pytest

from tests.paths import PROJECT
from tests.systemd import boot, machine

INSIDE = "SLOTD_TESTS_INSIDE_SYSTEMD"
BOOT_S = 1800
"""Seconds after which everything inside is taken for hanging."""
_results = pytest.StashKey[dict[str, str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Outside, give a test the result it had inside."""
    if pyfuncitem.get_closest_marker("systemd") is None or os.environ.get(INSIDE):
        return None
    reason = boot.missing()
    if reason is not None:
        pytest.skip(reason)
    session = pyfuncitem.session
    if _results not in session.stash:
        session.stash[_results] = _run_inside(session)
    trouble = session.stash[_results].get(pyfuncitem.name, "it did not run")
    if trouble:
        pytest.fail(trouble, pytrace=False)
    return True


def pytest_sessionfinish() -> None:
    """Inside, stop what the tests have left to each other."""
    if os.environ.get(INSIDE):
        machine.left_running.close()


def _run_inside(session: pytest.Session) -> dict[str, str]:
    """Return what went wrong with each test, by its name; nothing: it passed."""
    selected = [item for item in session.items if item.get_closest_marker("systemd") is not None]
    root = session.config.rootpath
    tests = [f"{item.path.relative_to(root)}::{item.name}" for item in selected]
    with tempfile.TemporaryFile() as report:
        command = boot.command(tests, report.fileno())
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[report.fileno()],
            env={**boot.environment(), INSIDE: "1"},
            cwd=PROJECT,
        )
        try:
            said, _ = process.communicate(timeout=BOOT_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # it takes everything inside with it
            said, _ = process.communicate()
        report.seek(0)
        text = report.read().decode()
    last_words = said.decode(errors="replace")[-4000:]
    if not text:
        return {item.name: f"nothing was reported:\n{last_words}" for item in selected}
    return {
        str(case.get("name")): _trouble(case)
        for case in ElementTree.fromstring(text).iter("testcase")
    }


def _trouble(case: ElementTree.Element) -> str:
    return "\n".join(
        f"{found.get('message')}\n{found.text}"
        for kind in ("failure", "error", "skipped")
        for found in case.iter(kind)
    )
