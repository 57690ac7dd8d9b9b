"""The units as files: what systemd says of them without running them."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.paths import PROJECT
from tests.systemd.machine import UNITS, follow_readme, installed, run, shown

pytestmark = pytest.mark.systemd


def test_systemd_finds_nothing_wrong_with_them() -> None:
    with installed():
        assert run("systemd-analyze", "verify", *UNITS) == ""


def test_they_are_hardened() -> None:
    for unit in ("slotd.service", "slotd-metrics.service"):
        said = run("systemd-analyze", "security", "--offline=true", str(PROJECT / "systemd" / unit))
        exposure = re.search(r"exposure level for \S+: ([\d.]+)", said)
        assert exposure is not None, said
        assert float(exposure[1]) <= 4.0


def test_the_readmes_blocks_install_start_stop_and_remove() -> None:
    with installed():
        follow_readme("start")
        assert shown("ActiveState") == "active"
        assert shown("UnitFileState", "slotd.socket") == "enabled"
        follow_readme("stop")
        assert shown("ActiveState") == shown("ActiveState", "slotd.socket") == "inactive"
        run("cp", "-a", "/opt/slotd", "/opt/kept")
        follow_readme("remove")
        left = [*Path("/etc").rglob("*slotd*"), *Path("/run").glob("*slotd*")]
        left += [path for path in Path("/var").glob("*/slotd*") if path.parent.name != "tmp"]
        assert [str(path) for path in left] == []
        assert subprocess.run(["id", "slotd"], capture_output=True).returncode != 0
        run("mv", "/opt/kept", "/opt/slotd")
        follow_readme("install")


def test_the_example_drop_in_is_accepted() -> None:
    with installed():
        source = PROJECT / "systemd" / "serve.service.d" / "slotd.conf"
        run("install", "-D", "-m", "644", str(source), "/run/systemd/system/serve.service.d/a.conf")
        unit = (
            "[Service]\nExecStart=/bin/sh -c 'id -Gn; exec /opt/slotd/bin/slotd-engine --serve'\n"
        )
        unit += "DynamicUser=yes\nStandardInput=null\n"
        run("sh", "-c", "printf '%s' \"$0\" >/run/systemd/system/serve.service", unit)
        run("systemctl", "daemon-reload")
        try:
            run("systemctl", "start", "slotd.service")
            run("systemctl", "start", "--wait", "serve.service")
            said = run("journalctl", "-u", "serve", "-o", "cat", "--no-pager")
            assert re.search(r"^[\w-]+ slotd$", said, re.MULTILINE), said
            assert "\nREADY " in said
        finally:
            run(
                "rm",
                "-r",
                "/run/systemd/system/serve.service",
                "/run/systemd/system/serve.service.d",
            )
            run("systemctl", "daemon-reload")
