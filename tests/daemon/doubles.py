"""Stand-ins for the sidecar: what goes through them is visible, and nothing is decided.

Lives here: doubles the relay tests need. Must not live here: the tests.
"""

from attrs import define, field

from slotd.core.events import Event
from slotd.core.output import Output


@define
class Plain:
    """Passes every byte on to the other side, and remembers when it was told what."""

    told: list[tuple[str, bytes, float]] = field(factory=list)
    holds: bool = False

    def from_client(self, data: bytes, now: float) -> Output:
        self.told.append(("client", data, now))
        return Output(to_engine=[data])

    def from_engine(self, data: bytes, now: float) -> Output:
        self.told.append(("engine", data, now))
        return Output(to_client=[data])

    def learn(self) -> list[Event]:
        return []

    def client_eof(self, now: float) -> Output:
        self.told.append(("client", b"", now))
        return Output()

    def engine_eof(self, now: float) -> Output:
        self.told.append(("engine", b"", now))
        return Output()


@define
class Crossing(Plain):
    """Also answers the client itself, and tells the engine something at each of its lines."""

    def from_client(self, data: bytes, now: float) -> Output:
        return Output(to_engine=[b"c:", data], to_client=[b"answer to ", data])

    def from_engine(self, data: bytes, now: float) -> Output:
        return Output(to_client=[b"e:", data], to_engine=[b"because of ", data])


@define
class Causing(Plain):
    """Tells the engine a great many bytes at each of its lines."""

    bytes_each: int = 0

    def from_engine(self, data: bytes, now: float) -> Output:
        return Output(to_client=[data], to_engine=[bytes(self.bytes_each)])


@define
class Unfinished(Plain):
    """Holds back what is not a whole line, as a line reader does; tells an event of each end."""

    kept: dict[str, bytes] = field(factory=lambda: {"client": b"", "engine": b""})

    def from_client(self, data: bytes, now: float) -> Output:
        return Output(to_engine=[self._whole("client", data)])

    def from_engine(self, data: bytes, now: float) -> Output:
        return Output(to_client=[self._whole("engine", data)])

    def client_eof(self, now: float) -> Output:
        return Output(to_engine=[self.kept["client"]], events=[Event("client_end", "info", {})])

    def engine_eof(self, now: float) -> Output:
        return Output(to_client=[self.kept["engine"]], events=[Event("engine_end", "info", {})])

    def _whole(self, side: str, data: bytes) -> bytes:
        whole, end, rest = (self.kept[side] + data).rpartition(b"\n")
        self.kept[side] = rest
        return whole + end


@define
class Holding(Plain):
    """Holds what the client wrote until the engine has printed a token."""

    def from_client(self, data: bytes, now: float) -> Output:
        self.holds = True
        return Output()

    def from_engine(self, data: bytes, now: float) -> Output:
        self.holds = self.holds and not data.startswith(b"T ")
        return Output(to_client=[data], to_engine=[] if self.holds else [b"at last\n"])

    def engine_eof(self, now: float) -> Output:
        self.holds = False
        return Output()
