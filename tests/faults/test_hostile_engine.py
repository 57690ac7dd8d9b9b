"""An engine that says what it should not, while a request decodes in a slot.

For each lie: it passes with nothing but its slot number changed, the request that decodes and the
ones after it get their exact tokens, and slotd believes no more than it should.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from protocol.reader import MAX_LINE
from tests.clients.chosen import unchosen_lines
from tests.clients.levels import clean_environment
from tests.clients.reference import engine_command
from tests.clients.slotd import behind_slotd, named, read_log
from tests.faults.conversation import ENGINE, ENVIRONMENT, ids
from tests.faults.talk import HANGS_AFTER, talking

HOSTILE = Path(__file__).parent / "hostile_engine.py"
LONG = ids(*range(5000, 5100))
HELD = ids(*range(6000, 6080))
OTHER = ids(*range(7000, 7040))

Told = list[tuple[str, object]]
"""Drifts: what about, and what the engine had said."""

TOO_LONG = MAX_LINE + 1_000_000

LIES: dict[str, tuple[bytes, Told, set[int]]] = {
    "slots out of range": (
        b"BT 99 5\nBDONE 99 3 stop 1.0\nBADM 99 1\nPARKED 99 5\nYIELDED 6 5\nBCHECKS 99 5 1,2\n",
        [("parked", 5), ("yielded", 5)],
        set(),
    ),
    "negative slots": (
        b"BT -1 5\nBDONE -1 3 stop 1.0\nBADM -2 0\nPARKED -1 5\nYIELDED -6 5\nBCHECKS -1 5\n",
        [("parked", 5), ("yielded", 5)],
        set(),
    ),
    "huge numbers": (
        b"BT 99999999999999999999 5\nBT 5 99999999999999999999\nBDONE 9223372036854775808 1 stop "
        b"1\nPARKED 5 99999999999999999999999999\nBADM 340282366920938463463374607431768211456 1\n"
        b"PP 1e400 1 1 1\nREADY 1" + b"0" * 5000 + b"\n",
        [],
        set(),
    ),
    "the end of an idle slot": (b"BDONE 3 3 stop 1.0\n", [("slot_done", "decoding")], {3}),
    "a token of an idle slot, and its end": (
        b"BT 3 5\nBDONE 3 1 stop 1.0\n",
        [("batch_token", "decoding")],
        {3},
    ),
    "an admission twice": (b"BADM 0 1\n", [], set()),
    "a park unasked": (b"PARKED 3 40\n", [("parked", 40)], {3}),
    "a failed park unasked": (b"PARKED 3 0\n", [("parked", 0)], {3}),
    "a park into the slot that decodes": (b"PARKED 0 40\n", [("parked", 40)], set()),
    "halves of lines": (
        b"BT\nBT 0\nBDONE 0\nBADM\nDONE 1\nT\nPARKED 3\n\n \nBCHECKS 0\n",
        [],
        set(),
    ),
    "NUL bytes": (b"\0BT 0 5\nBT\0 0 5\nBT 0\0 5\nBT 0 5\0\n\0\n\xff\xfe\n", [], set()),
    "a line too long to be read": (b"BT 0 " + b"5" * TOO_LONG + b"\n", [], set()),
    "what nobody knows": (b"HELLO 3\nINFO\nINFO =\nBT;0;5\nRESUMED 5\n", [], set()),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_reaches_the_client_and_harms_no_request(name: str, tmp_path: Path) -> None:
    lie, drifts, unknown = LIES[name]
    lies, log, errors = tmp_path / "lies", tmp_path / "log", tmp_path / "errors"
    lies.write_bytes(lie)
    reference = engine_command(*ENGINE, "--step-ms", "2")
    engine = [sys.executable, str(HOSTILE), reference[1], "BADM 0 1", str(lies), *reference[2:]]
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.until(b"READY")
        # A history is left in engine slot 2, and one decodes in engine slot 0 when the lie comes.
        await talk.say(b"BGEN 3 2 " + HELD + b"\n")
        await talk.until(b"BDONE 3")
        await talk.say(b"BGEN 0 120 " + LONG + b"\n")
        await talk.until(b"BADM 0 1")
        await talk.say(b"BGEN 1 3 " + OTHER + b"\nGEN 4 " + HELD + b",8\n")
        await talk.until(b"DONE", b"DONE", b"BDONE 1", b"BDONE 0")
        assert await talk.end() == 0
        heard = b"".join(talk.heard)
        assert talk.check_tokens() == [2, 120, 3, 4]
    assert b"\n".join(unchosen_lines(lie)) in b"\n".join(unchosen_lines(heard))
    assert "Traceback" not in errors.read_text()
    events = read_log(log)
    assert [(drift["fact"], drift["said"]) for drift in named(events, "drift")] == drifts
    assert [error for error in named(events, "error") if error["where"] != "engine"] == []
    assert believed_empty(events) >= unknown


def believed_empty(events: list[dict[str, Any]]) -> set[int]:
    """The slots that were believed to hold nothing when the last request was decided about."""
    slots = named(events, "place")[-1]["table"]["slots"]
    return {row["slot"] for row in slots if not row["valid"] or not row["tokens"]}


@pytest.mark.parametrize("last", [b"BT 0 12", b"BT 0 1\0", b"BDONE 0", b"x" * 70_000])
def test_half_a_line_at_the_end_arrives(last: bytes, tmp_path: Path) -> None:
    said = b"INFO batch_slots=2 slot_cache=1\nREADY 9999 stop\nBT 0 5\n" + last
    (tmp_path / "said").write_bytes(said)
    killed = ["sh", "-c", 'cat "$0"; kill -9 $$', str(tmp_path / "said")]
    done = subprocess.run(
        behind_slotd(killed, tmp_path / "log"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_environment(),
        timeout=HANGS_AFTER,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + 9, said, b"")
    assert named(read_log(tmp_path / "log"), "engine_exit")[0]["signal"] == "SIGKILL"


MOST_MEMORY_KIB = 200 * 1024
HUGE = 100_000_000


async def test_100_mb_without_a_newline_pass_both_ways_in_bounded_memory(tmp_path: Path) -> None:
    """The engine is `cat`: what the client says, it says."""
    piece, came, last = b"7," * 50_000, 0, b""
    command = behind_slotd(["cat"], tmp_path / "log")
    async with talking(command, clean_environment(), tmp_path / "errors") as talk:
        stdin, stdout = talk.process.stdin, talk.process.stdout
        assert stdin is not None
        assert stdout is not None

        async def say() -> None:
            await stdin.send_all(b"GEN 5 ")
            for _ in range(HUGE // len(piece)):
                await stdin.send_all(piece)
            await stdin.send_all(b"7\nSTOP\n")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(say)
            begun = b""
            while not last.endswith(b"\nSTOP\n"):
                data = bytes(await stdout.receive_some())
                assert data
                if len(begun) < 100:
                    begun += data
                # All of it is the same two bytes over and over.
                body = data if came else data.removeprefix(b"GEN 5 ")
                body = body.removesuffix(b"\nSTOP\n")
                assert body.count(b"7") + body.count(b",") + body.count(b"\n") == len(body)
                came += len(data)
                last = (last + data)[-10:]
        status = await trio.Path(f"/proc/{talk.process.pid}/status").read_text()
        assert await talk.end() == 0
    assert begun.startswith(b"GEN 5 7,7,7,")
    assert came == HUGE + len(b"GEN 5 7\nSTOP\n")
    most = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(most) < MOST_MEMORY_KIB
    assert (tmp_path / "errors").read_text() == ""
