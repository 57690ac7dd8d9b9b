"""A host in service: what listens, who may reach it, and what its files and answers hold."""

import stat
from pathlib import Path

from tests.clients.slotd import SLOTD
from tests.daemon.processes import outcome, say
from tests.host.hosting import greeting, hear_until, hosted, reference, run_in_slot

SECRET = 130_000
PROMPT = [SECRET + n for n in range(40)]
PICTURE = "/home/secret/picture"
INTERNET = ("tcp", "tcp6", "udp", "udp6", "raw", "raw6")


def internet_sockets(pid: int) -> set[str]:
    """Return the numbers of a process's sockets that are no unix sockets."""
    own = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
        except FileNotFoundError:  # closed meanwhile
            continue
    listed = set()
    for kind in INTERNET:
        table = Path(f"/proc/{pid}/net/{kind}")
        rows = table.read_text().splitlines()[1:] if table.exists() else []
        listed |= {row.split()[9] for row in rows}
    return own & listed


def test_a_host_has_unix_sockets_only_and_tells_nothing_of_its_clients(tmp_path: Path) -> None:
    record = tmp_path / "record"
    with hosted(tmp_path, reference(), "--set", f"record.file={record}") as host:
        with host.client() as client:
            greeting(client)
            tokens = run_in_slot(client, 0, PROMPT, 6)[1]
            say(client, f"BGENI 1 5 {PICTURE} {SECRET},{SECRET + 1}\n".encode())
            hear_until(client, "BADM", "ERR")
            say(client, f"SECRET {PICTURE} {SECRET}\nGEN 5 {SECRET},x,secret\n".encode())
            hear_until(client, "ERR")
            assert internet_sockets(host.process.pid) == set()
            for path in (host.socket, host.control):
                assert stat.S_IMODE(Path(path).stat().st_mode) == 0o660
            shown = outcome([*SLOTD, "status", "--control", host.control])[1].decode()
            metrics = outcome([*SLOTD, "metrics", "--control", host.control])[1].decode()
            status = str(host.status())
        host.told("client_gone")
        host.process.terminate()
        assert host.process.wait(60) == 0
    log = tmp_path / "log"
    explained = outcome([*SLOTD, "explain", str(log), "--request", "1"])[1].decode()
    written = log.read_text()
    assert "place" in written
    assert "slot" in shown
    assert "slotd_up 1" in metrics
    assert explained
    words = [PICTURE, "secret", *map(str, PROMPT), *(f"{t}" for t in tokens if t > 99_999)]
    for text in (written, shown, metrics, status, explained, record.read_text()):
        assert [word for word in words if word in text.lower()] == []
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
