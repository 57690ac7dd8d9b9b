r"""The control socket: one question in, one JSON object out.

    {"ask":"status"}\n    ->    the status as one line of JSON, and the end of the stream

Here: asking and answering. Not here: what the status is (`slotd.daemon.status`). Read-only, and of
no weight for the relay: a status is made at most every `FRESH_S` seconds however many ask, nobody
may say more than a line or take long for it, and nobody is waited for who does not read the answer.
A status that cannot be made is an answer that says so.
"""

import json
import socket
from collections.abc import Callable, Mapping

import trio

from slotd.daemon.connections import serve_connections
from slotd.daemon.streams import PolledReader, PolledWriter
from slotd.logs.json_text import json_text
from slotd.policy.json_fields import JsonValue

Status = Mapping[str, JsonValue]

FRESH_S = 0.2
"""Seconds for which a status is given again."""
MOST_QUESTION = 1024
"""Bytes."""
MOST_AT_ONCE = 32
"""Connections that are answered at a time."""
PATIENCE_S = 2.0
"""Seconds for one connection in all."""


class ControlServer:
    """Answers whoever connects."""

    def __init__(self, listening: socket.socket, status: Callable[[], Status]) -> None:
        """Answer connections of `listening`, which stays the caller's, with `status`."""
        self._listening = listening
        self._status = status
        self._made: bytes = b""
        self._made_at = -FRESH_S

    async def run(self) -> None:
        """Answer for ever."""
        await serve_connections(self._listening, self._answer, MOST_AT_ONCE)

    async def _answer(self, connection: socket.socket) -> None:
        reader, writer = PolledReader(connection.dup()), PolledWriter(connection)
        try:
            with trio.move_on_after(PATIENCE_S):
                await writer.send_all(self._answer_to(await _question(reader)))
        except trio.BrokenResourceError:  # it has gone
            pass
        finally:
            with trio.CancelScope(shield=True):
                await reader.aclose()
                await writer.aclose()

    def _answer_to(self, question: bytes) -> bytes:
        try:
            asked = json.loads(question)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict) or asked.get("ask") != "status":
            return b'{"error":"ask for the status: {\\"ask\\":\\"status\\"}"}\n'
        now = trio.current_time()
        if now - self._made_at >= FRESH_S:
            self._made_at = now
            self._made = self._status_line()
        return self._made

    def _status_line(self) -> bytes:
        try:
            return f"{json_text(self._status())}\n".encode()
        except Exception as failure:  # noqa: BLE001 - looking at it must not end the relay
            return (
                b'{"error":"slotd: the status cannot be made: %s"}\n'
                % type(failure).__name__.encode()
            )


async def _question(reader: PolledReader) -> bytes:
    question = b""
    while b"\n" not in question and len(question) < MOST_QUESTION:
        data = await reader.receive_some(MOST_QUESTION - len(question))
        if not data:
            break
        question += data
    return question
