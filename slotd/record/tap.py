"""The record's place in the sidecar: every byte passes as ever, and what it shows is followed.

Here: a sidecar with a recorder. Not here: files; entries go to a function that must not block (see
`sink`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from slotd.core.counters import Counters
from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.policy.decide import Decider
from slotd.policy.named import decider_named
from slotd.record.lines import Entry
from slotd.record.recorder import RequestRecorder

PutEntries = Callable[[list[Entry]], None]

_FAILED: Final = "record"


class RecordingSidecar(Sidecar):
    """A sidecar whose requests are recorded.

    The record is not worth a request: anything that goes wrong in it ends the recording, with one
    `error` event, and nothing else.
    """

    def __init__(
        self,
        settings: SidecarSettings,
        recorder: RequestRecorder,
        put: PutEntries,
        decider: Decider | None = None,
        counters: Counters | None = None,
        decider_of: Callable[[str], Decider] = decider_named,
    ) -> None:
        """Begin as a sidecar does; entries of requests that ended go to `put`."""
        super().__init__(settings, decider, counters, decider_of)
        self._recorder: RequestRecorder | None = recorder
        self._put = put
        self._recorded = 0
        """Number of the last request the recorder was told of."""

    def engine_eof(self, now: float) -> Output:
        """Take the end of the engine's stream; what was held back is recorded."""
        output = super().engine_eof(now)
        if self._recorder is not None:
            self._put(self._recorder.close())
        return output

    def _told(self, output: Output) -> Output:
        """Hand over what there is to tell, and follow it."""
        output = super()._told(output)
        recorder, model = self._recorder, self._model
        if recorder is None or (model.requests == self._recorded and not output.events):
            return output
        try:
            for request in model.flight.requests():
                if request.own or request.prompt is None:
                    continue
                if request.number > self._recorded:
                    turn_token = model.capabilities.turn_token
                    recorder.sent(
                        request.number,
                        request.verb,
                        request.prompt,
                        turn_token,
                        self._now,
                        request.cvec,
                    )
            self._recorded = model.requests
            entries = recorder.told(output.events, self._now)
        except (ArithmeticError, LookupError, TypeError, ValueError) as failure:
            self._recorder = None
            message = f"recording has ended: {type(failure).__name__}"
            output.events.append(Event("error", "error", {"where": _FAILED, "message": message}))
            return output
        if entries:
            self._put(entries)
        return output
