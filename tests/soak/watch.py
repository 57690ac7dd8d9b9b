"""What a process holds, read from the system once in a while.

Lives here: one reading, the series of them and what is said of it. Must not live here: what runs
meanwhile.
"""

from pathlib import Path

import trio
from attrs import Factory, define, frozen

EVERY_S = 1.0


@frozen
class Reading:
    """One look at a process: seconds since the first one, resident memory, open descriptors."""

    seconds: float
    resident_kib: int
    descriptors: int


@define
class Watch:
    """The readings of one process."""

    pid: int
    readings: list[Reading] = Factory(list)
    _since: float | None = None

    def read(self) -> None:
        """Take one reading."""
        now = trio.current_time()
        if self._since is None:
            self._since = now
        process = Path(f"/proc/{self.pid}")
        fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        descriptors = len(list((process / "fd").iterdir()))
        resident = int(fields["VmRSS"].split()[0])
        self.readings.append(Reading(now - self._since, resident, descriptors))

    async def run(self) -> None:
        """Read every second until cancelled."""
        while True:
            self.read()
            await trio.sleep(EVERY_S)

    def after(self, seconds: float) -> list[Reading]:
        """Return the readings from a moment on."""
        return [reading for reading in self.readings if reading.seconds >= seconds]

    def growth(self, warm_up_s: float) -> float:
        """Return by what share the memory grew after the warm-up, at its largest."""
        warm = self.after(warm_up_s)
        return max(reading.resident_kib for reading in warm) / warm[0].resident_kib - 1
