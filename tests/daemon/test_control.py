"""The control socket by itself."""

import json
import socket
from pathlib import Path

import pytest
import trio

from slotd.daemon.control import ControlServer
from slotd.eyes.ask import NoAnswerError, ask
from slotd.policy.json_fields import JsonValue


async def test_a_status_that_cannot_be_made_is_an_answer_and_ends_nothing(tmp_path: Path) -> None:
    def status() -> dict[str, JsonValue]:
        raise LookupError("a token: 17")

    path = str(tmp_path / "control.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ControlServer(listening, status).run)
            for _ in range(2):
                asking = await trio.open_unix_socket(path)
                await asking.send_all(b'{"ask":"status"}\n')
                answer = b"".join([bytes(piece) async for piece in asking])
                await asking.aclose()
                assert json.loads(answer) == {
                    "error": "slotd: the status cannot be made: LookupError"
                }
            with pytest.raises(NoAnswerError, match="the status cannot be made"):
                await trio.to_thread.run_sync(ask, path)
            nursery.cancel_scope.cancel()
