"""What the slot holds after a park by slotd's own request, and how its conversation comes back."""

import pytest
from attrs import evolve

from slotd.core.history import History
from tests.core.transcript import ids, spelled
from tests.emulated_park.transcript import EMULATED, PLAIN, ParkTranscript

FIRST = "[100..8999],9,1,2"
"""A prompt of 8,903 tokens whose last turn begins after 8,900."""
REPLY = "500,501,502"
HELD = 8905
"""What the main session holds of it: all but the reply's last token."""
WHOLE = f"{FIRST},{REPLY}"


def parked(turn_token: int | None = 9, info: str = PLAIN, reports: str = "") -> ParkTranscript:
    """A conversation was parked in slot 0 at second 12; slotd's own request got 700 and 701."""
    talk = ParkTranscript(info, evolve(EMULATED, turn_token=turn_token))
    talk.now = 10.0
    talk.solo(FIRST, REPLY.replace(",", " "))
    talk.now = 12.0
    talk.act(
        f"""
        >> GEN 5 1,2,3
           > BGEN 0 2 {WHOLE}
        << RESUME {HELD}
        << T 700
        << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
        << BADM 0 1
           > BSTOP 0
        {reports}
        << BT 0 701
        << BDONE 0 2 length 3.0
           > GEN 5 1,2,3
        << RESUME 0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 stop 0 0 0
           =
        """
    )
    talk.events.clear()
    return talk


def test_the_slot_holds_the_conversation_and_the_engines_token() -> None:
    talk = parked()
    assert talk.holds(0) == spelled(f"{WHOLE},700")
    assert (talk.slot(0).last_use, talk.slot(0).parked) == (10.0, True)


def test_a_park_does_not_make_the_conversation_younger() -> None:
    talk = parked()
    talk.now = 40.0
    snapshot = talk.sidecar.snapshot(40.0)
    assert (snapshot.slots[0].age, snapshot.slots[0].state) == (30.0, "idle")


def test_nor_does_it_in_the_main_session_which_holds_it_until_the_request_begins() -> None:
    talk = ParkTranscript()
    talk.now = 10.0
    talk.solo(FIRST, REPLY.replace(",", " "))
    talk.now = 12.0
    talk.put(">>", b"GEN 5 1,2,3\n")
    own = f"RESUME {HELD}\nT 700\nDONE 1 {HELD + 1} 1 1 length\nBADM 0 1\nBT 0 701\n"
    talk.put("<<", own.encode() + b"BDONE 0 2 length 3\nERR no\n")
    assert talk.main_holds() == spelled(WHOLE)
    assert talk.main.last_use == 10.0


def test_while_it_is_under_way_the_slot_is_parking_and_the_client_has_one_request() -> None:
    talk = ParkTranscript()
    talk.solo(FIRST)
    talk.put(">>", b"GEN 5 1,2,3\n")
    shown = talk.sidecar.snapshot(1.0)
    assert [slot.state for slot in shown.slots] == ["parking", "idle", "idle", "idle"]
    assert [request.request for request in shown.in_flight] == [2]
    assert talk.slot(0).occupied
    assert not talk.slot(0).taken
    reading = talk.model.flight.reading()
    assert reading is not None
    assert not reading.own


@pytest.mark.parametrize(("turn_token", "known"), [(9, (8900,)), (None, ())])
def test_the_turn_checkpoint_is_known_where_the_turn_token_is(
    turn_token: int | None, known: tuple[int, ...]
) -> None:
    assert parked(turn_token).slot(0).checkpoints == known


def test_reported_checkpoints_go_first() -> None:
    talk = parked(reports=f"<< BCHECKS 0 {HELD + 1} 5000,8900\n")
    assert talk.slot(0).checkpoints == (5000, 8900)


def go_on(talk: ParkTranscript, prompt: str, said: int, source: str = "") -> None:
    talk.put(">>", spelled(f"GEN 5 {prompt}").encode() + b"\n")
    talk.put("<<", f"{source}RESUME {said}\n".encode())


def test_the_next_turn_reuses_everything_where_it_holds_the_engines_token() -> None:
    talk = parked()
    go_on(talk, f"{WHOLE},700,9,30", HELD + 2)
    assert talk.told("place")[0]["hint"] == HELD + 2
    assert talk.told("park_saved") == [{"request": 3, "slot": 0, "tokens": HELD + 2}]
    assert talk.drifts() == []


@pytest.mark.parametrize(("turn_token", "hint"), [(9, 8900), (None, 0)])
def test_else_it_reuses_up_to_the_turn_which_is_no_drift(turn_token: int | None, hint: int) -> None:
    talk = parked(turn_token)
    go_on(talk, f"{WHOLE},9,30,9,1,2", 8900)
    assert talk.told("place")[0]["hint"] == hint
    assert talk.told("park_saved") == [{"request": 3, "slot": 0, "tokens": 8900}]
    assert talk.drifts() == []


def test_the_conversation_returns_to_its_own_slot() -> None:
    talk = parked(None)
    talk.act(f">> BGEN 3 5 {WHOLE},9,30,9,1,2\n> BGEN 0 5 {WHOLE},9,30,9,1,2")
    assert talk.told("place")[0]["reason"] == "sibling"


def test_its_next_park_takes_the_same_slot() -> None:
    talk = parked()
    following = f"{WHOLE},9,[10000..10300],9,1,2"
    go_on(talk, following, 8900)
    length = spelled(following).count(",") + 1
    talk.put("<<", b"T 800\nDONE 1 %d 1 1 stop 0 0 8900\n" % length)
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {following},800")
    assert [park["reason"] for park in talk.told("park")] == ["sibling"]


def test_less_than_it_should_give_is_a_drift_and_no_saving() -> None:
    talk = parked()
    go_on(talk, f"{WHOLE},9,30", 0)
    assert talk.drifts() == [("resume", 8900, 0)]
    assert talk.told("park_saved") == []
    assert talk.slot(0).checkpoints == ()


def beside(text: str) -> ParkTranscript:
    """The conversation is parked in slot 0, and slot 1 holds something like it."""
    talk = parked()
    talk.slot(1).hold(History(ids(text)), cvec=1, last_use=11.0, valid=True)
    return talk


def test_nothing_is_saved_where_another_state_would_have_given_as_much() -> None:
    talk = beside(FIRST)
    go_on(talk, f"{WHOLE},9,30", 8903)
    assert talk.told("park_saved") == []


def test_only_what_is_more_than_another_state_would_have_given_is_saved() -> None:
    talk = beside("[100..5099]")
    go_on(talk, f"{WHOLE},9,30", 8900)
    assert [told["tokens"] for told in talk.told("park_saved")] == [3900]


OTHER_END = "[100..8999],9,1,3"


def test_nothing_is_said_to_be_saved_where_another_state_may_have_given_it() -> None:
    talk = beside(OTHER_END)
    go_on(talk, f"{WHOLE},9,30", 8900)
    assert talk.told("park_saved") == []


@pytest.mark.parametrize(("source", "saved"), [(1, []), (0, [8900])])
def test_a_named_source_tells_more_than_likeness(source: int, saved: list[int]) -> None:
    talk = beside(OTHER_END)
    go_on(talk, f"{WHOLE},9,30", 8900, f"CACHE_SOURCE {source} 8900\n")
    assert [told["tokens"] for told in talk.told("park_saved")] == saved


def test_a_request_that_runs_in_the_slot_ends_what_the_park_can_save() -> None:
    talk = parked()
    talk.act(f">> BGEN 0 5 {WHOLE},700,7\n> BGEN 0 5 {WHOLE},700,7\n<< RESUME {HELD + 2}\n=")
    talk.act(f"<< T 5\n=\n<< DONE 1 {HELD + 3} 1.0 1.0 length 0 0 {HELD + 2}\n=\n<< BADM 0 1\n=")
    assert not talk.slot(0).parked
