"""What `slotd explain` says of parks by slotd's own requests."""

from attrs import evolve

from slotd.logs.chain import Chain
from tests.emulated_park.transcript import EMULATED, HELD, LONG, ParkTranscript, parking
from tests.explain.logs import shown

PARKED = f"""
    >> GEN 5 1,2,3
       > BGEN 0 2 {LONG},500
    << RESUME {HELD - 100}
    << PP {HELD} {HELD + 1} 1.0 1.0
    << T 600
    << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD - 100}
    @ 12.5
    << BADM 0 1
       > BSTOP 0
    << BT 0 601
    << BDONE 0 2 length 3.0
       > GEN 5 1,2,3
    << RESUME 0
       =
    << T 7
       =
    << DONE 1 3 1.0 1.0 stop 0 0 0
       =
    """


def explained(talk: ParkTranscript, request: int) -> str:
    chain = Chain("json", colours=False)
    log = b"".join(chain.line(event, 1_769_860_800.0) for event in talk.events)
    return " ".join(shown(log, "--request", str(request)).split())


def test_the_park_and_what_it_took() -> None:
    talk = parking()
    talk.act(PARKED)
    text = explained(talk, 2)
    assert "parks by requests of slotd's own" in text
    assert "into slot 0, blank (empty), the one missed least" in text
    assert "a park into slot 0 asked for (emulated)" in text
    assert f"copied {HELD + 1:,} tokens into slot 0, in 500 ms, 100 tokens read again" in text


def test_what_it_saved() -> None:
    talk = parking()
    talk.act(PARKED)
    talk.act(f">> GEN 5 {LONG},500,600,7\n=\n<< RESUME {HELD + 2}\n=\n<< T 7\n=")
    talk.act(f"<< DONE 1 {HELD + 3} 1.0 1.0 stop 0 0 {HELD + 2}\n=")
    assert f"had kept its conversation in slot 0: {HELD + 2:,} tokens saved" in explained(talk, 3)


def test_why_it_failed_and_that_there_are_no_more() -> None:
    talk = parking()
    talk.model.failed_parks = 1
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {LONG},500\n<< ERR no\n> GEN 5 1,2,3")
    talk.act("<< RESUME 0\n=\n<< T 7\n=\n<< DONE 1 3 1.0 1.0 stop 0 0 0\n=")
    text = explained(talk, 2)
    assert "slotd's own request for slot 0 failed, in 0 ms: the engine refused it" in text
    assert "2 such parks have failed in a row" in text


def test_why_it_was_not_tried() -> None:
    talk = parking()
    talk.model.capabilities = talk.model.capabilities.with_ready(HELD, stop=True)
    talk.act(">> GEN 5 1,2,3\n=\n<< RESUME 0\n=")
    text = explained(talk, 2)
    assert "the context has no room for slotd's own request" in text
    assert "the engine did not say it parked" not in text


def test_where_requests_go_low() -> None:
    talk = ParkTranscript(
        "batch_slots=4 batch_groups=2 slot_cache=1", evolve(EMULATED, pad_rows="low")
    )
    talk.act(">> BGEN 1 5 1,2,3\n> BGEN 0 5 1,2,3\n<< RESUME 0\n=\n<< T 7\n=")
    text = explained(talk, 1)
    assert "pad rows" in text
    assert "then the lowest load, low in its group, the lowest value" in text
    assert "higher in its group than slot 0" in text
