"""The record's place beside the sidecar: every byte passes, and what it shows is followed.

Here: a translator for the relay that is the sidecar plus a recorder. Not here: files; entries go to
a function that must not block (see `sink`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from slotd.core.events import Event
from slotd.core.sidecar import Output, Sidecar
from slotd.record.lines import Entry
from slotd.record.recorder import RequestRecorder

PutEntries = Callable[[list[Entry]], None]

_FAILED: Final = "record"


class Recording:
    """A sidecar whose requests are recorded.

    The record is not worth a request: anything that goes wrong in it ends the recording, with one
    `error` event, and nothing else.
    """

    def __init__(self, sidecar: Sidecar, recorder: RequestRecorder, put: PutEntries) -> None:
        """Begin beside a fresh sidecar."""
        self.sidecar = sidecar
        self._recorder: RequestRecorder | None = recorder
        self._put = put
        self._seen = 0

    def from_client(self, data: bytes, now: float) -> Output:
        """Take bytes the client wrote."""
        return self._recorded(self.sidecar.from_client(data, now), now)

    def from_engine(self, data: bytes, now: float) -> Output:
        """Take bytes the engine wrote."""
        return self._recorded(self.sidecar.from_engine(data, now), now)

    def client_eof(self, now: float) -> Output:
        """Take the end of the client's stream."""
        return self._recorded(self.sidecar.client_eof(now), now)

    def engine_eof(self, now: float) -> Output:
        """Take the end of the engine's stream; what was held back is recorded."""
        output = self._recorded(self.sidecar.engine_eof(now), now)
        if self._recorder is not None:
            self._put(self._recorder.close())
        return output

    def _recorded(self, output: Output, now: float) -> Output:
        recorder, model = self._recorder, self.sidecar.model
        if recorder is None or (model.requests == self._seen and not output.events):
            return output
        try:
            for request in model.flight.requests():
                if request.number > self._seen and request.prompt is not None:
                    turn_token = model.capabilities.turn_token
                    recorder.sent(request.number, request.verb, request.prompt, turn_token, now)
            self._seen = model.requests
            entries = recorder.told(output.events, now)
        except (ArithmeticError, LookupError, TypeError, ValueError) as failure:
            self._recorder = None
            message = f"recording has ended: {type(failure).__name__}"
            output.events.append(Event("error", "error", {"where": _FAILED, "message": message}))
            return output
        if entries:
            self._put(entries)
        return output
