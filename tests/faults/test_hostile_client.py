"""A client that says what it should not, while a request of its decodes in a slot."""

from pathlib import Path

from protocol.reader import MAX_LINE
from tests.clients.chosen import unchosen_lines
from tests.clients.reference import engine_command
from tests.clients.slotd import behind_slotd, named, read_log
from tests.faults.conversation import ENGINE, ENVIRONMENT, ids
from tests.faults.talk import Talk, talking

LONG = ids(*range(5000, 5100))
HUGE = b"99999999999999999999999999"

HOSTILE: dict[str, tuple[bytes, int]] = {
    "a busy slot": (b"BGEN 0 5 1,2\n", 1),
    "slots out of range": (b"BGEN 99 5 1,2\nBGEN -1 5 1,2\nBGEN " + HUGE + b" 5 1,2\n", 3),
    "stops of slots it does not have": (b"BSTOP 99\nBSTOP -1\nBSTOP " + HUGE + b"\nBSTOP\n", 0),
    "stops of slots that are idle": (b"BSTOP 1\nBSTOP 5\nSTOP\n", 0),
    "yields of slots it does not have": (b"BYIELD 99\nBYIELD -6\nBYIELD x\nBYIELD\n", 0),
    "a yield of the busy slot": (b"BYIELD 0\n", 0),
    "huge numbers": (
        b"GEN " + HUGE + b" 1\nGEN 5 " + HUGE + b"\nGEN 5 1," + b"9" * 4000 + b"\n",
        3,
    ),
    "halves of lines": (b"GEN\nGEN 5\nBGEN 1\nBGEN 1 5\nBGEN\n", 5),
    "keys without a prompt": (b"GEN 5 park=1 slot=2\nBGEN 2 5 park=99\n", 2),
    "NUL bytes": (b"\0\nGEN\0 5 1\n\0GEN 5 1\n", 3),
    "a line too long to be read": (b"x" * (MAX_LINE + 1_000_000) + b"\n", 1),
    "what nobody knows": (b"HELLO\n\xff\xfe\nINFO batch_slots=1\nDONE\nBADM 0 0\nBDONE 0 1\n", 6),
    "what the engine says": (b"BT 0 5\nPARKED 1 5\nREADY 5\n", 3),
}
"""What is said, and how often the engine answers with ERR."""


async def test_nothing_a_client_says_harms_the_request_that_decodes(tmp_path: Path) -> None:
    """One conversation: everything hostile in turn, and an honest request after each."""
    log, errors, received = tmp_path / "log", tmp_path / "errors", tmp_path / "received"
    engine = engine_command(*ENGINE, "--step-ms", "2")
    engine = ["sh", "-c", 'tee -p "$0" | "$@"', str(received), *engine]
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.until(b"READY")
        await talk.say(b"BGEN 0 4000 " + LONG + b"\n")
        await talk.until(b"BADM 0 1")
        for number, (name, (said, refused)) in enumerate(HOSTILE.items()):
            assert await _answers(talk, said, number) == refused, name
        await talk.say(b"BSTOP 0\n")
        await talk.until(b"BDONE 0")
        # The last line has no end.
        await talk.say(b"GEN 3 8,8,8")
        assert await talk.end() == 0
        counts = talk.check_tokens()
        said = talk.said
    assert sum(count == 2 for count in counts) == len(HOSTILE)
    assert counts[-1] == 3
    assert counts[0] > 10
    assert "Traceback" not in errors.read_text()
    assert unchosen_lines(received.read_bytes()) == unchosen_lines(said)
    events = read_log(log)
    assert named(events, "drift") == []
    assert [error for error in named(events, "error") if error["where"] != "engine"] == []
    [stopped] = [event for event in named(events, "slot_done") if event["finish"] == "cancel"]
    assert stopped["client_slot"] == 0


async def _answers(talk: Talk, said: bytes, number: int) -> int:
    """Say something, then something honest; return how many ERR came before that was answered."""
    before = len(talk.heard)
    await talk.say(said + b"GEN 2 " + ids(9, 9, number) + b"\n")
    await talk.until(b"DONE")
    return sum(line.startswith(b"ERR") for line in talk.heard[before:])


async def test_requests_while_another_is_on_the_control_lines_wait_their_turn(
    tmp_path: Path,
) -> None:
    engine = engine_command(*ENGINE, "--step-ms", "1", "--read-tok-s", "20000", "--chunk", "64")
    requests = b"".join(
        [
            b"GEN 5 " + ids(*range(1000, 3000)) + b"\n",
            b"BGEN 0 30 " + ids(*range(4000, 4300)) + b"\n",
            b"BGEN 0 5 1,2\n",  # the slot it has just asked for
            b"VRAM\n",
            b"BGEN 1 30 " + ids(*range(4000, 4200)) + b"\n",
            b"GEN 2 " + ids(*range(1000, 1900)) + b"\n",
            b"GENI 2 pictures 5,6\n",
        ]
    )
    log, errors = tmp_path / "log", tmp_path / "errors"
    async with talking(behind_slotd(engine, log), ENVIRONMENT, errors) as talk:
        await talk.say(requests)
        await talk.until(b"DONE", b"BADM 0 1", b"ERR", b"ERR", b"BADM 1 1", b"BDONE 1", b"BDONE 0")
        await talk.end()
        assert talk.check_tokens() == [5, 30, 0, 30, 2, 2]
    events = read_log(log)
    assert named(events, "drift") == []
    assert "Traceback" not in errors.read_text()
