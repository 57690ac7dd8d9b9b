"""No token, text or path of a client is in anything slotd tells, whatever both sides say."""

import re
from collections.abc import Iterator

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from slotd.core.events import Event
from slotd.core.settings import SidecarSettings
from slotd.daemon.latency import Latency
from slotd.daemon.memory import EventMemory
from slotd.daemon.status import Standing, status_object
from slotd.policy.adaptive.decider import AdaptiveDecider
from slotd.policy.adaptive.state import dump
from slotd.policy.decide import Decider, Decision, RetentionDecider
from slotd.policy.json_fields import JsonValue
from slotd.policy.table import Table
from slotd.record.lines import Entry, LineWriter
from slotd.record.recorder import RequestRecorder
from slotd.record.tap import RecordingSidecar

FIRST = 1_912_000_000
"""Tokens are told from all else by their size: no count or time here comes near it."""
TOKEN = st.integers(FIRST, FIRST + 3)
IDS = st.lists(TOKEN, min_size=1, max_size=6).map(lambda ids: ",".join(map(str, ids)))
SLOT = st.integers(0, 4)
PATH = "/home/secret/picture"
TOLD = re.compile(r"19120000|secret", re.IGNORECASE)

CLIENT = st.one_of(
    st.builds("GEN 9 {}".format, IDS),
    st.builds("GEN 9 cvec=0 seed=7 stop=secret {}".format, IDS),
    st.builds(f"GENI 9 {PATH} {{}}".format, IDS),
    st.builds("BGEN {} 9 {}".format, SLOT, IDS),
    st.builds(f"BGENI {{}} 9 {PATH} {{}}".format, SLOT, IDS),
    st.builds("BGEN {} 9 park=secret slot=secret {}".format, SLOT, IDS),
    st.builds("BGEN {} secret {}".format, SLOT, IDS),
    st.builds("BGEN secret 9 {}".format, IDS),
    st.builds("GEN secret {}".format, IDS),
    st.builds("SECRET {}".format, IDS),
    st.builds("GENG1 6\nsecret\nGEN 9 {}".format, IDS),
    st.builds("BYIELD {}".format, SLOT),
    st.builds("BSTOP {}".format, SLOT),
    st.sampled_from([f"SAVE {PATH}", f"RESTORE {PATH}", "STOP", "secret", "BSTOP secret", ""]),
)
ENGINE = st.one_of(
    st.builds("T {}".format, TOKEN),
    st.builds("BT {} {}".format, SLOT, TOKEN),
    st.builds("RESUME {}".format, SLOT),
    st.builds("PARKED {} {}".format, SLOT, SLOT),
    st.builds("CACHE_SOURCE {} {}".format, SLOT, SLOT),
    st.builds("DONE {} {} 1.0 1.0 {} 0 0 0 secret".format, SLOT, SLOT, st.just("length")),
    st.builds("DONE 0 {} 1.0 0.0 cancel".format, SLOT),
    st.builds("BADM {} {}".format, SLOT, st.integers(0, 1)),
    st.builds("YIELDED {} {}".format, SLOT, SLOT),
    st.builds("BDONE {} {} stop 1.0".format, SLOT, SLOT),
    st.builds("BDONE {} 1 oddly 1.0 secret".format, SLOT),
    st.builds("BDONE {} 1 secret 1.0".format, SLOT),
    st.builds("DONE {} {} 1.0 1.0 secret 0 0 0".format, SLOT, SLOT),
    st.builds("ERR no token {} in secret".format, TOKEN),
    st.builds(f"SERR cannot write {PATH} {{}}".format, TOKEN),
    st.builds("secret {}".format, TOKEN),
    st.builds("T {} secret".format, TOKEN),
)
WHOLE = st.builds(
    # A request that is served, so that there is something to decide about and to tell.
    lambda ids, token: [
        (">>", f"GEN 9 {ids}"),
        ("<<", f"RESUME 0\nT {token}\nT {token}\nDONE 2 {ids.count(',') + 1} 1 1 length 0 0 0"),
    ],
    IDS,
    TOKEN,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(">>"), CLIENT).map(lambda step: [step]),
        st.tuples(st.just("<<"), ENGINE).map(lambda step: [step]),
        WHOLE,
    ),
    max_size=25,
).map(lambda groups: [step for group in groups for step in group])

INFOS = st.sampled_from(
    [
        "batch_slots=4 slot_cache=1 slot_padding_safe=1 slot_park=1",
        "batch_slots=4 slot_cache=1",
        "batch_slots=4 batch_groups=2 slot_cache=1",
        "context=4096",
    ]
)


class Broken:
    """A decider that fails, and says with which tokens."""

    name = "broken"

    def decide(self, table: Table) -> Decision:
        raise ValueError(f"secret {FIRST}")


def leaves(value: object) -> Iterator[object]:
    """Every value in nested mappings and lists, and every key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def tells(value: object) -> list[object]:
    return [leaf for leaf in leaves(value) if TOLD.search(str(leaf))]


def standing() -> Standing:
    return Standing(1, 1.0, "run", None, "serving", 2, 1, 1.0, True, 3, 1.0)


@given(
    INFOS,
    st.sampled_from(["auto", "emulated"]),
    st.sampled_from([RetentionDecider, AdaptiveDecider, Broken]),
    STEPS,
)
@settings(max_examples=80, deadline=None)
def test_no_event_record_status_or_learning_holds_any(
    info: str, park: str, kind: type[Decider], steps: list[tuple[str, str]]
) -> None:
    decider, entries, told = kind(), list[Entry](), list[Event]()
    chosen = SidecarSettings(park="emulated" if park == "emulated" else "auto")
    sidecar = RecordingSidecar(chosen, RequestRecorder(b"salt"), entries.extend, decider)
    memory, now = EventMemory(lambda: 0.0), 0.0
    told += sidecar.from_engine(f"INFO {info}\nREADY 4096 stop\n".encode(), now).events
    for side, text in steps:
        now += 1.0
        take = sidecar.from_client if side == ">>" else sidecar.from_engine
        told += take(f"{text}\n".encode(), now).events
    snapshot = sidecar.snapshot(now)
    told += sidecar.client_gone(now).events
    told += sidecar.engine_eof(now + 1.0).events
    for event in told:
        memory.add(event)
        assert tells([event.name, dict(event.fields)]) == []
    status: JsonValue = status_object(standing(), snapshot, Latency(), memory)
    assert tells(status) == []
    assert tells(attrs.asdict(snapshot)) == []
    writer = LineWriter.begin("label")
    for entry in entries:
        assert tells(attrs.asdict(attrs.evolve(entry, blocks=()))) == []
        assert len(writer.line(entry).splitlines()) == 1
    if isinstance(decider, AdaptiveDecider):
        assert tells(dump(decider.model)) == []


def test_what_looks_for_them_finds_them() -> None:
    assert tells({"tokens": [1, FIRST + 2]}) == [FIRST + 2]
    assert tells({PATH: 1}) == [PATH]
