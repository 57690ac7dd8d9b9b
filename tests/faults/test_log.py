"""A log that cannot be written, under a whole conversation: no token notices."""

import json
from pathlib import Path

import pytest

from tests.clients.reference import engine_command
from tests.clients.slotd import SLOTD
from tests.faults.conversation import ENGINE, ENVIRONMENT, MAX_NEW, converse
from tests.faults.talk import talking

RUN = " ".join(f"'{word}'" for word in (*SLOTD, "run", "--log-level", "debug"))

PLACES = {
    "a full device": '{run} --log-file /dev/full -- "$@"',
    "a closed standard error": '{run} -- "$@" 2>&-',
    "a disk that fills up": 'ulimit -f 4; {run} --log-file "$0" -- "$@"',
    "a file that is taken away": '(sleep 1; rm -f "$0") & {run} --log-file "$0" -- "$@"',
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_log_that_cannot_be_written_costs_no_token(place: str, tmp_path: Path) -> None:
    log, errors = tmp_path / "log", tmp_path / "errors"
    script = PLACES[place].format(run=RUN)
    command = ["sh", "-c", script, str(log), *engine_command(*ENGINE)]
    async with talking(command, ENVIRONMENT, errors) as talk:
        assert await converse(talk)
        assert talk.check_tokens() == MAX_NEW
        assert await talk.end() == 0
    assert errors.read_text() == ""
    if place == "a disk that fills up":
        # What did fit is whole lines, but for the last.
        *lines, _ = log.read_bytes().split(b"\n")
        assert json.loads(lines[0])["event"] == "engine_start"
        assert all(isinstance(json.loads(line), dict) for line in lines)
