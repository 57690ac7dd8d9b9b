"""Whatever raises on the way of a park, the client's lines go on at once and in order."""

import pytest

from slotd.core import detour, own_park, sidecar
from tests.emulated_park.transcript import HELD, LONG, ParkTranscript, parking

COPY = f"""
    << T 600
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
    << BADM 0 1
    """
OWN_REPLY = f"RESUME {HELD}\nT 600\nDONE 1 {HELD + 1} 1 1 length 0 0 {HELD}\nBADM 0 1\n"
OWN_REPLY += "BT 0 601\nBDONE 0 2 length 3\n"
REPLY = "RESUME 0\nT 7\nDONE 1 3 1 1 stop 0 0 0\n"


def broken(*_: object, **__: object) -> object:
    raise RuntimeError


def errors(talk: ParkTranscript) -> list[object]:
    return [told["where"] for told in talk.told("error")]


def test_a_park_that_cannot_begin_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = parking()
    monkeypatch.setattr(own_park, "format_ids", broken)
    talk.act(">> GEN 5 1,2,3\n=")
    assert errors(talk) == ["begin"]
    assert talk.slot(0).idle
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    assert talk.drifts() == []


def test_nothing_is_parked_where_the_request_goes_after_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The park was to go to slot 1, and the request, which its own number means, to slot 0."""
    talk = parking()
    monkeypatch.setattr(sidecar, "commit", broken)
    talk.act(">> BGEN 1 5 1,2,3\n=")
    assert errors(talk) == ["broken"]
    assert talk.slot(1).taken


def test_one_that_fails_when_it_has_been_queued_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = parking()

    def queued(*args: object) -> object:
        own_park.begin(talk.model, 0, 2, 12.0)
        raise RuntimeError

    queued.__name__ = "begin"
    monkeypatch.setattr(sidecar, "begin", queued)
    talk.act(">> GEN 5 1,2,3\n=\n<< RESUME 0\n=")
    assert errors(talk) == ["begin"]
    assert talk.slot(0).idle


@pytest.mark.parametrize("where", ["heard", "look_after"])
def test_what_goes_wrong_with_an_engines_line_lets_everything_go(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = parking()
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {LONG},500\n>> STOP\n>> VRAM 5")
    with monkeypatch.context() as patched:
        patched.setattr(sidecar, where, broken)
        talk.act(f"<< RESUME {HELD}\n> GEN 5 1,2,3\n> STOP\n> VRAM 5")
    assert errors(talk) == ["_advance"]
    talk.act(">> STOP\n=")
    talk.act(COPY.replace("BADM 0 1", "BADM 0 1\n> BSTOP 0"))
    talk.act("<< BT 0 601\n<< BDONE 0 2 length 3.0\n<< RESUME 0\n=")


@pytest.mark.parametrize("broken_for", range(1, 8))
@pytest.mark.parametrize("where", ["heard", "look_after", "is_own"])
def test_however_long_it_lasts_the_clients_request_runs_once(
    where: str, broken_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = parking()
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {LONG},500")
    got: list[str] = []
    lines = (OWN_REPLY + REPLY).splitlines(keepends=True)
    with monkeypatch.context() as patched:
        patched.setattr(sidecar, where, broken)
        for line in lines[:broken_for]:
            got += talk.both("<<", line.encode())
    for line in lines[broken_for:]:
        got += talk.both("<<", line.encode())
    assert got.count("> GEN 5 1,2,3") == 1
    assert got[-3:] == [f"< {line}" for line in REPLY.splitlines()]
    assert talk.both(">>", b"GEN 5 8,9\n") == ["> GEN 5 8,9"]


@pytest.mark.parametrize("step", ["hold", "request_may_go", "next_may_go", "finished"])
def test_so_it_is_with_what_waits(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = parking()
    got = talk.both(">>", b"GEN 5 1,2,3\n")[1:]
    with monkeypatch.context() as patched:
        patched.setattr(detour.Detour, step, broken)
        got += talk.both(">>", b"STOP\n")
        for line in (OWN_REPLY + REPLY).splitlines(keepends=True):
            got += talk.both("<<", line.encode())
    sent = [line for line in got if line in ("> GEN 5 1,2,3", "> STOP")]
    assert sent == ["> GEN 5 1,2,3", "> STOP"]
    assert got[-1] == f"< {REPLY.splitlines()[-1]}"
