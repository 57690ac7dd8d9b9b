"""Booting a systemd of the tests' own, and what of this machine it sees.

Lives here: the mounts. Must not live here: what is tested.

The script that boots hides /run, /tmp, /var/tmp and /var/log, where this project or its Python may
lie, and a service's user cannot look into everybody's home. So everything needed is found below
/mnt: the interpreter, its packages, a copy of the project. /etc is a copy as well, for the user
that is installed, and /opt is empty but for slotd and its engine.
"""

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence

from tests.paths import PROJECT, SHARED

WITH_SYSTEMD = SHARED / "systemd" / "with-systemd"
PYTHON = f"/mnt/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"

_SCRIPT = """
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/python /mnt/packages /mnt/project /mnt/etc
mount --bind "$BASE" /mnt/python
mount --bind "$PACKAGES" /mnt/packages
umask 022
tar -C "$PROJECT" --exclude=__pycache__ -c protocol slotd systemd tests pyproject.toml README.md |
    tar -C /mnt/project -x --no-same-permissions --no-same-owner
cp -a /etc/. /mnt/etc
mount --bind /mnt/etc /etc
rm -rf /etc/slotd
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir -p /opt/slotd/bin /opt/engine
command_of() {
    printf '#!/bin/sh\\n%s exec %s -P -m %s "$@"\\n' "$where" "$PYTHON" "$2" >"$1"
    chmod 755 "$1"
}
export PYTHONPATH=/mnt/project:/mnt/packages LD_LIBRARY_PATH=/mnt/python/lib
where="PYTHONPATH=$PYTHONPATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
command_of /opt/slotd/bin/slotd slotd
command_of /opt/slotd/bin/slotd-engine slotd.cli.engine
command_of /opt/engine/strata slotd.sim
cd /mnt/project
exec "$WITH_SYSTEMD" "$PYTHON" -m pytest -p no:cacheprovider "$@"
"""


def missing() -> str | None:
    """Say why there can be no systemd here, or return None."""
    if os.geteuid() != 0:
        return "booting a systemd of its own needs root"
    for program in ("systemd-analyze", "systemctl", "unshare", "nsenter", "runuser"):
        if shutil.which(program) is None:
            return f"there is no {program}: this needs systemd and util-linux"
    if not WITH_SYSTEMD.exists():
        return f"there is no {WITH_SYSTEMD}, which boots one (SLOTD_SHARED says where to look)"
    return None


def command(tests: Sequence[str], report: int) -> list[str]:
    """Return the command that runs `tests` inside and writes an XML report to a descriptor."""
    script = ["unshare", "--mount", "--propagation", "private", "bash", "-euc", _SCRIPT, "boot"]
    return [*script, "-q", f"--junitxml=/proc/self/fd/{report}", *tests]


def environment() -> dict[str, str]:
    """Return the environment of that command."""
    # Nor is the pytest inside a worker of one that spreads its tests over the cores outside.
    hidden = ("SLOTD_", "PYTEST_")
    outside = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {
        **outside,
        "BASE": sys.base_prefix,
        "PACKAGES": sysconfig.get_path("purelib"),
        "PROJECT": str(PROJECT),
        "PYTHON": PYTHON,
        "WITH_SYSTEMD": str(WITH_SYSTEMD),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "",
    }


if __name__ == "__main__":  # by hand: python -m tests.systemd.boot COMMAND...
    wanted = _SCRIPT.replace(
        '"$PYTHON" -m pytest -p no:cacheprovider "$@"', shlex.join(sys.argv[1:])
    )
    unshare = ["unshare", "--mount", "--propagation", "private", "bash", "-euc", wanted]
    os.execvpe("unshare", unshare, environment())
