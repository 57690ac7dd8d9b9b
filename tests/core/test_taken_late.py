"""Tokens that are passed on first and taken in later: no answer and no telling shows it.

A conversation is played once a line at a time, with everything taken in at once, and then with the
same bytes in other pieces, with nothing taken in before something asks for it.
"""

from collections.abc import Callable, Iterator

import pytest
from attrs import Factory, define, evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import token_run
from slotd.core.events import Event
from slotd.core.output import Output
from slotd.core.settings import PAD_ROWS_SETTINGS
from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.snapshot import Snapshot
from slotd.sim.engine import SimEngine
from slotd.sim.options import SimOptions
from slotd.sim.timing import Timing

Pieces = Callable[[bytes], list[bytes]]

_OPTIONS = SimOptions(timing=Timing.instant(), chunk=64, context=6000, frames=True)
OPTIONS = st.sampled_from(
    [
        _OPTIONS,
        evolve(_OPTIONS, batch_slots=4, batch_groups=1),
        evolve(_OPTIONS, park=False),
        evolve(_OPTIONS, park=False, batch_slots=4, batch_groups=1, drafts_offered=2),
        evolve(_OPTIONS, active_rows=False),
        evolve(_OPTIONS, drafts_offered=2, drafts_accepted=(0, 2)),
        evolve(_OPTIONS, slot_cache=False, stop=False),
    ]
)
SETTINGS = st.builds(
    SidecarSettings,
    policy_name=st.sampled_from(["retention", "retention", "adaptive", "off"]),
    park=st.sampled_from(["native", "emulated", "emulated", "off"]),
    pad_rows=st.sampled_from(PAD_ROWS_SETTINGS),
    keep_loaded=st.booleans(),
)
ODD = st.sampled_from(
    [
        *(b"BT 0 5\n", b"BT 1 05\n", b"BT 01 5\n", b"BT +1 5\n", b"BT 1 +5\n", b"BT -1 5\n"),
        *(b"BT 1 -5\n", b"BT 1 5 \n", b"BT 1 5\r\n", b"BT\t1 5\n", b"BT 1\t5\n", b"BT  2 5\n"),
        *(b"BT 1 5 6\n", b"BT 1 2147483648\n", b"BT 2 2147483647\n", b"BT 99 5\n", b"BT 3 1_0\n"),
        *(b"BT 2147483648 5\n", b"BT 99999999999999999999 5\n", b"BT 5\n", b"BT \n", b"\n"),
        *(b"BT 0 7\nBT 1 8\nBT 2 9\n", b"BDONE 1 3 stop 1.0\n", b"BDONE 0 9 error 1.0\n"),
        *(b"BADM 1 1\n", b"BADM 2 0\n", b"YIELDED 1 20\n", b"BCHECKS 0 30 10,20\n", b"ERR no\n"),
        *(b"INFO slot_cache=1\n", b"INFO batch_slots=3\n", b"PARKED 2 10\n", b"what\n", b"T 5\n"),
    ]
)


def ids(text: int, length: int) -> bytes:
    return b",".join(b"%d" % (1000 * text + token) for token in range(length))


PROMPTS = st.builds(ids, st.integers(1, 4), st.sampled_from([1, 2, 40, 130, 1200]))
SLOT = st.sampled_from([0, 1, 2, 3, 3, 5, 6])
NEW = st.sampled_from([0, 2, 9, 60, 60])
REQUESTS = st.one_of(
    st.builds(lambda *fields: b"BGEN %d %d %b\n" % fields, SLOT, NEW, PROMPTS),
    st.builds(lambda *fields: b"BGEN %d %d %b\n" % fields, SLOT, NEW, PROMPTS),
    st.builds(lambda *fields: b"GEN %d %b\n" % fields, NEW, PROMPTS),
)
CLIENT = st.one_of(
    REQUESTS,
    REQUESTS,
    REQUESTS,
    st.builds(lambda slot: b"BSTOP %d\n" % slot, SLOT),
    st.builds(lambda slot: b"BYIELD %d\n" % slot, SLOT),
    st.sampled_from([b"STOP\n", b"VRAM\n", b"GENG1 5\nro\not\n", b"what\n", b"QUIT\n"]),
)
STEPS = st.sampled_from([1, 3, 9, 30]).map(lambda steps: [None] * steps)
MOVE = st.one_of(
    st.tuples(st.just("client"), st.lists(CLIENT, min_size=1, max_size=2).map(b"".join)),
    st.tuples(st.just("engine"), STEPS),
    st.tuples(st.just("engine"), STEPS),
    st.tuples(st.just("engine"), st.lists(st.one_of(st.none(), st.none(), st.none(), ODD))),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 20.0, 3000.0])),
    st.tuples(st.sampled_from(["look", "look", "settings", "gone", "silent", "end"]), st.none()),
)
MOVES = st.lists(MOVE, min_size=15, max_size=40)
BEGIN = [("client", b"BGEN 3 60 1,2\nBGEN 0 60 3,4\n"), ("engine", [None] * 6)]
"""What happens, one after the other; of the engine's steps each None is one."""


@define
class Side:
    """A sidecar, and all that has come of what it was asked for."""

    sidecar: Sidecar
    pieces: Pieces
    late: bool
    """Nothing is taken in before it must be."""
    to_engine: bytes = b""
    to_client: bytes = b""
    events: list[Event] = Factory(list)

    def play(self, kind: str, data: bytes, now: float) -> Snapshot | None:
        sidecar = self.sidecar
        match kind:
            case "client":
                for piece in self.pieces(data):
                    self._take(sidecar.from_client(piece, now))
            case "engine":
                for piece in self.pieces(data):
                    self._take(sidecar.from_engine(piece, now))
            case "gone":
                self._take(sidecar.client_gone(now))
            case "silent":
                self._take(sidecar.silent(now))
            case "settings":
                wanted = "off" if sidecar.settings.policy_name == "retention" else "retention"
                sidecar.replace_settings(evolve(sidecar.settings, policy_name=wanted))
            case "client_eof":
                self._take(sidecar.client_eof(now))
            case "engine_eof":
                self._take(sidecar.engine_eof(now))
        return sidecar.snapshot(now) if kind == "look" else None

    def _take(self, output: Output) -> None:
        self.to_engine += b"".join(output.to_engine)
        self.to_client += b"".join(output.to_client)
        self.events += output.events
        if not self.late:
            self.events += self.sidecar.learn()


def by_line(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@pytest.fixture(scope="module", autouse=True)
def short_runs() -> Iterator[None]:
    """Let a run end before its chunk does, as it else would in chunks of 64 KiB only."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(token_run, "MOST_BYTES", 40)
        yield


@settings(max_examples=100, deadline=None)
@given(MOVES, OPTIONS, SETTINGS, st.data())
def test_a_conversation_says_the_same_however_it_is_cut_and_whenever_tokens_are_taken_in(
    moves: list[tuple[str, object]],
    options: SimOptions,
    chosen: SidecarSettings,
    data: st.DataObject,
) -> None:
    def cut(whole: bytes) -> list[bytes]:
        size = data.draw(st.sampled_from([1, 7, 50, 1 << 20]))
        return [whole[at : at + size] for at in range(0, len(whole), size)]

    plain = Side(Sidecar(chosen), by_line, late=False)
    quick = Side(Sidecar(chosen), cut, late=True)
    engine, now = SimEngine(options), 0.0
    written = {"client": b"", "engine": b""}

    def both(kind: str, what: bytes = b"") -> None:
        before = len(plain.to_engine)
        written[kind] = written.get(kind, b"") + what
        assert plain.play(kind, what, now) == quick.play(kind, what, now)
        assert quick.to_engine == plain.to_engine
        assert quick.to_client == plain.to_client
        engine.from_client(plain.to_engine[before:])

    both("engine", engine.start())
    for kind, what in [*BEGIN, *moves]:
        now += 0.01
        if kind == "wait":
            assert isinstance(what, float)
            now += what
        elif kind == "engine":
            assert isinstance(what, list)
            output = b""
            for odd in what:
                step = None if odd is not None or engine.ended else engine.step()
                output += odd or (b"" if step is None else step.output)
            both("engine", output)
        elif kind == "client":
            assert isinstance(what, bytes)
            if plain.sidecar.drained:
                both("client", what)
        elif kind == "end":
            both("engine_eof")
            engine = SimEngine(options)
            both("engine", engine.start())
        elif kind != "gone" or plain.sidecar.drained:
            both(kind)
    both("look")
    both("client_eof")
    both("engine_eof")
    assert quick.events == plain.events
    assert not [e for e in plain.events if e.name == "error" and e.fields["where"] != "engine"]
    if chosen.policy_name == "off" and not {"settings", "gone"} & {kind for kind, _ in moves}:
        assert chosen.keep_loaded or plain.to_engine == written["client"]
        assert plain.to_client == written["engine"]
