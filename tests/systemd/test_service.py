"""The service under a real systemd, with the simulated engine."""

import os
import signal
import stat
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.systemd.machine import (
    LONG_S,
    SLOTD,
    SOCKET,
    attached,
    events,
    installed,
    journal,
    let_go,
    prompt,
    reused,
    run,
    running,
    shown,
    status,
    wait_for,
)

pytestmark = pytest.mark.systemd


def test_it_is_ready_when_the_engine_is_and_says_how_it_loads() -> None:
    with installed(held=True):
        run("systemctl", "start", "--no-block", "slotd.service")
        wait_for(lambda: shown("StatusText").startswith("loading the engine"))
        assert shown("ActiveState") == "activating"
        assert status()["engine"]["state"] == "loading"
        let_go()
        wait_for(lambda: shown("ActiveState") == "active")
        assert status()["engine"]["state"] == "serving"
        wait_for(lambda: shown("StatusText") == "serving no client, 0 of 6 slots busy")


def test_stopping_gives_the_client_everything_and_waits_for_the_engine() -> None:
    with installed():
        run("systemctl", "start", "slotd.service")
        engine = status()["engine"]["pid"]
        with attached() as client:
            client.hear_until("READY")
            client.say(f"BGEN 0 200000 {prompt(100, 50)}", f"BGEN 1 200000 {prompt(900, 50)}")
            client.hear_until("BT 1")
            run("systemctl", "stop", "slotd.service")
            said = client.rest()
            assert client.process.wait(LONG_S) == 0
        ends = [line.split()[:2] for line in said if line.startswith("BDONE")]
        assert sorted(ends) == [["BDONE", "0"], ["BDONE", "1"]]
        for slot, end in enumerate(sorted(line for line in said if line.startswith("BDONE"))):
            tokens = sum(line.startswith(f"BT {slot} ") for line in said)
            assert tokens <= int(end.split()[2])
        assert not Path(f"/proc/{engine}").exists()
        assert shown("Result") == "success"
        assert journal("-t", "slotd", "SLOTD_EVENT=engine_exit")[-1]["SLOTD_STATUS"] == "0"


def test_a_reload_takes_settings_and_refuses_bad_ones_without_touching_the_engine() -> None:
    settings = Path("/etc/slotd/slotd.toml")
    with installed(settings="[policy]\nttl_max_s = 100\n"):
        run("systemctl", "start", "slotd.service")
        engine = status()["engine"]["pid"]
        assert status()["settings"]["ttl_max_s"] == 100
        settings.write_text("[policy]\nttl_max_s = 200\n")
        run("systemctl", "reload", "slotd.service")
        wait_for(lambda: status()["settings"]["ttl_max_s"] == 200)
        settings.write_text("[policy]\nttl_max_s = -1\n")
        run("systemctl", "reload", "slotd.service")
        (refused,) = wait_for(lambda: events("settings_refused"))
        assert refused["PRIORITY"] == "3"
        assert "ttl_max_s" in refused["SLOTD_MESSAGE"]
        assert shown("ActiveState") == "active"
        assert status()["settings"]["ttl_max_s"] == 200
        assert status()["engine"]["pid"] == engine
        settings.unlink()


def test_the_journal_has_the_events_with_their_fields() -> None:
    with running():
        before = len(events("place"))
        with attached() as client:
            client.say(f"BGEN 2 3 {prompt(1000, 300)}")
            client.hear_until("BDONE")
        (place,) = wait_for(lambda: events("place")[before:])
        assert place["SYSLOG_IDENTIFIER"] == "slotd"
        assert place["_SYSTEMD_UNIT"] == "slotd.service"
        assert place["PRIORITY"] == "6"
        assert place["MESSAGE"].startswith("place")
        assert (place["SLOTD_VERB"], place["SLOTD_CLIENT_SLOT"]) == ("BGEN", "2")
        by_field = journal("-t", "slotd", "SLOTD_EVENT=place", f"SLOTD_SLOT={place['SLOTD_SLOT']}")
        assert by_field[-1] == place
        ready = events("engine_ready")[-1]
        assert ready["SLOTD_CONTEXT"] == "270000"
        exported = "journalctl -u slotd -o json --all | /opt/slotd/bin/slotd explain - --last"
        assert "CHOSEN" in run("sh", "-c", exported)


def test_serve_restarts_keep_the_engine_and_what_it_holds() -> None:
    with running():
        before = status()["engine"]
        conversation = prompt(5000, 2000)
        with attached() as client:  # killed in the middle of its second request
            assert client.hear_until("READY")[0].startswith("INFO ")
            client.say(f"BGEN 0 5 {conversation}")
            said = client.hear_until("BDONE")
            client.say(f"BGEN 1 200000 {prompt(9000, 300)}")
            client.hear_until("BT 1")
        said = [line.split()[-1] for line in said if line.startswith(("T ", "BT "))]
        for new in range(2):
            with attached() as client:
                client.hear_until("READY")
                conversation = ",".join([conversation, *said, str(77_000 + new)])
                client.say(f"BGEN 3 2 {conversation}")
                lines = client.hear_until("BDONE")
                said = [line.split()[-1] for line in lines if line.startswith(("T ", "BT "))]
                assert reused(lines) >= conversation.count(",") - 1
                assert client.process.stdin is not None
                client.process.stdin.close()
                assert client.process.wait(LONG_S) == 0
        after = status()["engine"]
        assert (after["pid"], after["starts"]) == (before["pid"], before["starts"])


def test_a_second_client_is_refused_and_told_why() -> None:
    with running(), attached() as client:
        client.hear_until("READY")
        said = run(SLOTD, "attach", status=75)
        assert said.count("\n") == 1
        assert f"another client (process {client.process.pid}) is attached" in said


def test_only_the_group_may_attach_or_look() -> None:
    with running():
        for name in ("engine.sock", "control.sock"):
            path = Path("/run/slotd", name)
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            assert (path.owner(), path.group()) == ("slotd", "slotd")
        assert Path("/run/slotd").stat().st_mode & 0o7 == 0
        for process in (shown("MainPID"), str(status()["engine"]["pid"])):
            assert Path(f"/proc/{process}").owner() == "slotd"
        stranger = ("runuser", "-u", "nobody", "--")
        member = ("runuser", "-u", "nobody", "-g", "nogroup", "-G", "slotd", "--")
        assert "you may not" in run(*stranger, SLOTD, "status", status=1)
        assert SOCKET in run(*stranger, SLOTD, "attach", status=75)
        assert "engine 0.2.7" in run(*member, SLOTD, "status")
        with attached(*member, SLOTD, "attach") as client:
            client.hear_until("READY")


def test_an_engine_that_dies_is_started_again_for_the_next_client() -> None:
    with running():
        before = status()["engine"]
        with attached() as client:
            client.hear_until("READY")
            os.kill(before["pid"], signal.SIGKILL)
            client.rest()
            assert client.process.wait(LONG_S) == 128 + signal.SIGKILL
        with attached() as client:
            client.hear_until("READY")
        assert shown("NRestarts") == "0"
        assert status()["engine"]["starts"] == before["starts"] + 1


def test_metrics_are_served_on_loopback_by_a_service_of_their_own() -> None:
    with running():
        run("systemctl", "start", "slotd-metrics.service")

        def scraped() -> str:
            try:
                with urllib.request.urlopen(
                    "http://127.0.0.1:9464/metrics", timeout=LONG_S
                ) as answer:
                    text: bytes = answer.read()
            except OSError:
                return ""
            return text.decode()

        assert 'slotd_engine_state{state="serving"} 1.0' in wait_for(scraped)
        listening = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True).stdout
        assert "127.0.0.1:9464" in listening or not listening
