"""Starts, restarts and what comes between, under a real systemd."""

import os
import signal
from pathlib import Path

import pytest

from tests.systemd.machine import (
    LONG_S,
    SLOTD,
    attached,
    installed,
    journal,
    let_go,
    run,
    shown,
    status,
    wait_for,
)

pytestmark = pytest.mark.systemd


def test_a_relay_that_hangs_is_killed_and_serves_again() -> None:
    with installed(drop_in="WatchdogSec=5"):
        run("systemctl", "start", "slotd.service")
        before, engine = int(shown("MainPID")), status()["engine"]["pid"]
        os.kill(before, signal.SIGSTOP)
        wait_for(lambda: shown("MainPID") not in ("0", str(before)))
        wait_for(lambda: shown("ActiveState") == "active")
        assert "watchdog" in {entry.get("UNIT_RESULT") for entry in journal()}
        assert not Path(f"/proc/{engine}").exists()
        with attached() as client:
            client.hear_until("READY")
            client.say("GEN 1 1,2,3")
            client.hear_until("DONE")


def test_attaching_starts_the_service_by_its_socket() -> None:
    with installed(held=True):
        run("systemctl", "start", "slotd.socket")
        assert shown("ActiveState") == "inactive"
        with attached() as client:
            wait_for(lambda: shown("ActiveState") == "activating")
            let_go()
            client.hear_until("READY")
            assert client.process.poll() is None
            wait_for(lambda: shown("ActiveState") == "active")


@pytest.mark.parametrize(
    "units", ["slotd.service slotd.socket", "slotd.socket slotd.service", "slotd.socket", "slotd"]
)
def test_service_and_socket_restart_together_or_alone(units: str) -> None:
    with installed():
        run("systemctl", "start", "slotd.service")
        before = shown("MainPID")
        with attached() as client:
            client.hear_until("READY")
            run("systemctl", "restart", *units.split())
            assert client.process.wait(LONG_S) == 0
        # systemctl waits for what was named only.
        wait_for(lambda: shown("ActiveState") == shown("ActiveState", "slotd.socket") == "active")
        assert shown("MainPID") not in ("0", before)
        assert shown("NRestarts") == "0"
        with attached() as client:
            client.hear_until("READY")


def test_a_restart_while_the_engine_loads_and_a_client_waits() -> None:
    with installed(held=True):
        run("systemctl", "start", "--no-block", "slotd.service")
        wait_for(lambda: shown("StatusText").startswith("loading"))
        before = shown("MainPID")
        with attached() as client:
            run("systemctl", "restart", "--no-block", "slotd.service", "slotd.socket")
            wait_for(lambda: shown("MainPID") not in ("0", before))
            let_go()
            wait_for(lambda: shown("ActiveState") == "active")
            # It was in time for the old service and has ended with it, or is the new one's client.
            assert client.process.stdin is not None
            client.process.stdin.close()
            client.process.wait(LONG_S)
        assert shown("ActiveState") == shown("ActiveState", "slotd.socket") == "active"


def test_a_wrong_engine_is_not_tried_for_ever_and_the_socket_stays() -> None:
    with installed():
        Path("/etc/slotd/engine.env").write_text("ENGINE=/opt/engine/none\n")
        run("systemctl", "start", "slotd.service", status=1)
        assert shown("ActiveState") == "failed"
        assert shown("NRestarts") == "0"
        assert shown("ActiveState", "slotd.socket") == "active"
        assert any("there is no such file" in entry["MESSAGE"] for entry in journal())


def starts() -> list[str]:
    """Return what slotd has said of an engine that is not there."""
    said = [str(entry["MESSAGE"]) for entry in journal()]
    return [message for message in said if "there is no such file" in message]


def test_who_attaches_while_slotd_cannot_start_is_told_and_the_socket_stays() -> None:
    engine = Path("/etc/slotd/engine.env")
    with installed():
        right = engine.read_text()
        engine.write_text("ENGINE=/opt/engine/none\n")
        run("systemctl", "start", "slotd.socket")
        before = len(starts())
        for _ in range(6):  # oftener than systemd's usual limit
            said = run(SLOTD, "attach", status=75)
            assert said.endswith("refused: slotd cannot start: see its log\n")
        wait_for(lambda: len(starts()) == before + 6)  # one each
        assert shown("ActiveState", "slotd.socket") == "active"
        engine.write_text(right)
        with attached() as client:
            client.hear_until("READY")
