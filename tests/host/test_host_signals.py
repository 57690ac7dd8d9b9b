"""Signals to a host: ending without a lost line, killing what does not end, new settings."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command
from tests.daemon.processes import HANGS_AFTER, behind_slotd, hear, python_engine, say, started
from tests.host.hosting import (
    Host,
    greeting,
    hear_until,
    held_up,
    hosted,
    reference,
    run_solo,
    wait_until,
)

STUBBORN = """
os.write(1, b"READY 999 stop\\n")
for line in sys.stdin:
    pass
while True:
    signal.pause()
"""
"""An engine that takes for ever to give its memory back."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end_it_stops_what_runs_and_loses_no_line(tmp_path: Path, number: int) -> None:
    with hosted(tmp_path, reference()) as host, host.client() as client:
        greeting(client)
        for slot in (0, 1):
            say(client, b"BGEN %d 99999 %d,2,3\n" % (slot, slot))
            hear_until(client, f"BT {slot}")
        host.process.send_signal(number)
        out, _ = client.communicate(timeout=HANGS_AFTER)
        lines = out.decode().splitlines()
        ends = [line.split() for line in lines if line.startswith("BDONE")]
        assert sorted((end[1], end[3]) for end in ends) == [("0", "cancel"), ("1", "cancel")]
        assert client.returncode == 0
        assert host.process.wait(HANGS_AFTER) == 0
        assert host.told("engine_exit")[0]["status"] == 0


def test_asked_to_end_without_a_client_it_ends_with_its_engine(tmp_path: Path) -> None:
    with hosted(tmp_path, engine_command()) as host:
        host.told("engine_ready")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0
        assert host.told("engine_exit")[0]["status"] == 0


def test_asked_to_end_while_the_model_loads_it_does_not_wait_for_that(tmp_path: Path) -> None:
    engine, _ = held_up(tmp_path, engine_command())
    with hosted(tmp_path, engine) as host, host.client() as client:
        host.told("client_attached")
        say(client, b"GEN 5 1,2,3\n")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0
        assert client.wait(HANGS_AFTER) == 128 + 15


@pytest.mark.parametrize("last", [b"", b"GEN 5 1,2,3\n"])
def test_nor_when_its_client_has_said_its_last_already(tmp_path: Path, last: bytes) -> None:
    engine, _ = held_up(tmp_path, engine_command())
    patient = ("--set", f"host.drain_s={2 * HANGS_AFTER}")
    with hosted(tmp_path, engine, *patient) as host, host.client() as client:
        host.told("client_attached")
        assert client.stdin is not None
        client.stdin.write(last)
        client.stdin.close()
        host.told("stream_closed")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0
        assert client.wait(HANGS_AFTER) == 128 + 15


def test_asked_to_end_between_engines_it_just_ends(tmp_path: Path) -> None:
    with hosted(tmp_path, engine_command()) as host:
        with host.client() as client:
            greeting(client)
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0
        wait_until(lambda: host.status()["engine"]["state"] == "stopped")
        host.process.terminate()
        assert host.process.wait(HANGS_AFTER) == 0


def test_an_engine_that_does_not_end_is_waited_for_and_killed_when_asked_again(
    tmp_path: Path,
) -> None:
    with hosted(tmp_path, python_engine(tmp_path, STUBBORN)) as host, host.client() as client:
        greeting(client)
        host.process.terminate()
        wait_until(lambda: host.events("signal"))
        refused = wait_until(lambda: _refused(host))
        assert "slotd is stopping" in refused
        assert host.process.poll() is None
        host.process.terminate()
        assert client.wait(HANGS_AFTER) == 128 + 9
        assert host.process.wait(HANGS_AFTER) == 0
        assert [event["action"] for event in host.events("signal")] == ["end", "kill"]


def _refused(host: Host) -> str:
    with host.client(stderr=-1) as late:
        _, err = late.communicate(timeout=HANGS_AFTER)
        assert late.returncode == 75
        return str(err.decode())


def settings_file(directory: Path, text: str) -> Path:
    path = directory / "slotd.toml"
    path.write_text(text)
    return path


def reloads(process: Any, told: Any, file: Path) -> None:
    """Change a settings file for better and worse, and see what is made of it."""
    assert told("settings")[-1]["ttl_max_s"] == 60
    file.write_text("[policy]\nttl_max_s = 90\n[slotd]\npark = 'off'\n")
    process.send_signal(signal.SIGHUP)
    assert [(s["ttl_max_s"], s["park"]) for s in told("settings", 2)][-1] == (90, "off")
    file.write_text("[policy]\nttl_max_s = 'never'\n")
    process.send_signal(signal.SIGHUP)
    (refused,) = told("settings_refused")
    assert refused["message"].startswith(f"{file}: [policy] ttl_max_s is 'never'")
    assert refused["level"] == "error"


def test_a_hang_up_takes_new_settings_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    file = settings_file(tmp_path, "[policy]\nttl_max_s = 60\n")
    with hosted(tmp_path, reference(), "--config", str(file)) as host, host.client() as client:
        greeting(client)
        reloads(host.process, host.told, file)
        settings = host.status()["settings"]
        assert (settings["ttl_max_s"], settings["park"]) == (90, "off")
        assert len(run_solo(client, [1, 2, 3], 3)[1]) == 3
        assert host.status()["engine"]["starts"] == 1


def test_the_settings_in_force_are_those_of_the_next_engine_as_well(tmp_path: Path) -> None:
    file = settings_file(tmp_path, "[policy]\nttl_max_s = 60\n")
    with hosted(tmp_path, engine_command(), "--config", str(file)) as host:
        with host.client() as client:
            greeting(client)
            file.write_text("[host]\nkeep_loaded = true\n[policy]\nttl_max_s = 90\n")
            host.process.send_signal(signal.SIGHUP)
            host.told("settings", 2)
            say(client, b"QUIT\n")
            assert client.wait(HANGS_AFTER) == 0
        assert host.status()["engine"]["starts"] == 1
        assert host.events("engine_exit") == []


def test_a_hang_up_reaches_a_run_as_well(tmp_path: Path) -> None:
    file = settings_file(tmp_path, "[policy]\nttl_max_s = 60\n")
    options = ("--config", str(file), "--log-file", str(tmp_path / "log"))
    command = behind_slotd(engine_command("--batch", "2"), *options)
    with started(command, env=clean_environment()) as slotd:
        assert hear(slotd).startswith(b"INFO ")
        reloads(slotd, Host(slotd, tmp_path).told, file)
        say(slotd, b"QUIT\n")
        assert slotd.wait(HANGS_AFTER) == 0


def test_other_signals_are_the_engines(tmp_path: Path) -> None:
    engine = python_engine(
        tmp_path,
        """
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"got it\\n"))
os.write(1, b"READY 999 stop\\n")
for line in sys.stdin:
    break
""",
    )
    with hosted(tmp_path, engine) as host, host.client() as client:
        greeting(client)
        host.process.send_signal(signal.SIGUSR1)
        assert hear(client) == b"got it\n"
