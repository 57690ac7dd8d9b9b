"""What a daemon keeps beyond its engines: the record, and what the adaptive policy has learned.

Here: making the sidecars that use both, and the files' begin and end. Not here: what is recorded
(`slotd.record`) and what is learned (`slotd.policy.adaptive`).

Neither is worth a request: a file that cannot be had is told in one `error` event, as soon as it is
known, and slotd goes on without it.
"""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Final

from slotd.config.configuration import Configuration
from slotd.config.options import LEARNED_FILE, RECORD_FILE
from slotd.core.counters import Counters
from slotd.core.events import Event
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.daemon.learned import read_learned, write_learned
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.returns import ReturnModel
from slotd.policy.decide import Decider
from slotd.policy.named import ADAPTIVE, decider_named
from slotd.record.files import RecordFiles, cannot_write, new_salt
from slotd.record.recorder import RequestRecorder
from slotd.record.sink import RecordSink
from slotd.record.tap import RecordingSidecar

KEEP_EVERY_S: Final = 300.0
"""Seconds between two writings of what was learned."""
CLOSE_S: Final = 5.0
"""Seconds the last writing is waited for: a disk that hangs does not keep slotd from ending."""


class Keeper:
    """The record and the learning of one daemon, over all its engines."""

    def __init__(
        self, configuration: Configuration, log: Callable[[Event], None], clock: Callable[[], float]
    ) -> None:
        """Open what the configuration names. `clock` is the sidecars', in seconds."""
        self._log = log
        self._clock = clock
        self._salt = new_salt()
        self._begin = clock()
        self._sink = self._open_record(configuration[RECORD_FILE])
        learned = configuration[LEARNED_FILE]
        self._learned = None if learned is None else Path(learned)
        self._learned_fails = False
        """That it cannot be written has been told."""
        self._model: ReturnModel | None = None
        """What the adaptive policy has learned, once it has been asked for."""
        self._closing = Flag()
        self._writer: Thread | None = None

    def sidecar(self, settings: SidecarSettings, counters: Counters | None = None) -> Sidecar:
        """Make the sidecar of one engine; it goes on with what was learned beside earlier ones."""
        if self._sink is None:
            return Sidecar(settings, None, counters, self.decider_named)
        recorder = RequestRecorder(self._salt, self._begin)
        return RecordingSidecar(
            settings, recorder, self._sink.put, None, counters, self.decider_named
        )

    def decider_named(self, name: str) -> Decider:
        """Return a decider of that name; `adaptive` with all that was learned so far."""
        if name != ADAPTIVE:
            return decider_named(name)
        if self._model is None:
            path = self._learned
            self._model = ReturnModel() if path is None else self._begin_with(path)
        return AdaptiveDecider(self._model)

    def close(self) -> None:
        """Write what there is to write, and end."""
        if self._sink is not None:
            self._sink.close()
        self._closing.set()
        if self._writer is not None:
            self._writer.join(CLOSE_S)

    def _open_record(self, path: str | None) -> RecordSink | None:
        if path is None:
            return None
        try:
            files = RecordFiles(Path(path), began=time.time())
        except OSError as error:
            self._tell("record", cannot_write(path, error))
            return None
        return RecordSink(files, self._log)

    def _begin_with(self, path: Path) -> ReturnModel:
        """Return what was learned before, and begin to keep what is learned from now on."""
        lost = ""
        try:
            model = read_learned(path) or ReturnModel()
        except OSError as error:
            model, lost = ReturnModel(), f"{path}: {error.strerror}; learning begins anew"
        # All writing is the thread's: a disk may take its time, and lines may be on their way.
        writing = (path, model, lost)
        self._writer = Thread(target=self._keep_writing, args=writing, name="learned", daemon=True)
        self._writer.start()
        return model

    def _keep_writing(self, path: Path, model: ReturnModel, lost: str) -> None:
        self._write_learned(path, model)
        if lost and not self._learned_fails:  # else why it cannot be had has been told
            self._tell("learned", lost)
        while not self._closing.wait(KEEP_EVERY_S):
            self._write_learned(path, model)
        self._write_learned(path, model)

    def _write_learned(self, path: Path, model: ReturnModel) -> None:
        try:
            write_learned(path, model)
            self._learned_fails = False
        except OSError as error:
            if not self._learned_fails:
                where = error.filename or path
                self._tell("learned", f"{where}: cannot be written: {error.strerror}")
            self._learned_fails = True

    def _tell(self, where: str, message: str) -> None:
        self._log(Event("error", "error", {"where": where, "message": message}))
