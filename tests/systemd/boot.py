"""Booting a systemd of the tests' own, and what of this machine it sees.

Lives here: the mounts. Must not live here: what is tested.

The script that boots hides /run, /tmp, /var/tmp and /var/log, where this project or its Python may
lie, and a service's user cannot look into everybody's home. So everything needed is found below
/mnt: the interpreter, its packages, a copy of the project. /etc is a copy as well, for the user
that is installed, and /opt is empty but for slotd and its engine. /var/lib and /var/cache are
empty, and the control groups are a subtree of their own: systemd would take the processes of
another one booted at the same time for its own, as their units have the same names.
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
for directory in /opt /var/lib /var/cache; do mount -t tmpfs -o mode=755 tmpfs $directory; done
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
"$PYTHON" -m compileall -q protocol slotd tests/systemd  # not at every start of each process
here=$(sed -n 's/^0:://p' /proc/self/cgroup)
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ ! -e $root/cgroup.controllers ] || above=$root${here%/}
done
group=${above:-}/slotd-tests-$$
if [ -n "${above:-}" ] && mkdir "$group"; then echo $$ >"$group/cgroup.procs"; else group=; fi
"$WITH_SYSTEMD" COMMAND &
trap "kill $! || true" TERM INT
status=0
wait $! || status=$?
wait $! || true  # if it was the trap that ended the first one
if [ -n "$group" ]; then
    echo $$ >"$above/cgroup.procs"
    for _ in 1 2 3 4 5; do
        ! find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || break
        sleep 0.2
    done
fi
exit $status
"""
_PYTEST = '"$PYTHON" -m pytest -p no:cacheprovider "$@"'


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
    return [*_booting(_PYTEST), "-q", f"--junitxml=/proc/self/fd/{report}", *tests]


def _booting(command: str) -> list[str]:
    script = _SCRIPT.replace("COMMAND", command)
    return ["unshare", "--mount", "--propagation", "private", "bash", "-euc", script, "boot"]


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
    os.execvpe("unshare", _booting(shlex.join(sys.argv[1:])), environment())
