"""One park from the client's line to the end, and what each side sees of it."""

from tests.emulated_park.transcript import HELD, LONG, parking


def test_a_solo_request_waits_for_the_copy_and_sees_nothing_of_it() -> None:
    talk = parking()
    talk.act(
        f"""
        >> GEN 5 1,2,3
           > BGEN 0 2 {LONG},500
        << RESUME {HELD}
        << T 600
        << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
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
    )
    slot = talk.slot(0)
    assert talk.holds(0).endswith(",9000,500,600")
    assert (slot.idle, slot.last_use) == (True, 10.0)
    (place,), (park,), (parked,) = talk.told("place"), talk.told("park"), talk.told("parked")
    assert place["park"] == {"slot": 0, "reason": "reclaim"}
    assert (park["how"], park["slot"], park["request"]) == ("emulated", 0, 2)
    assert parked == {
        "request": 2,
        "slot": 0,
        "tokens": HELD + 1,
        "ms": 500.0,
        "how": "emulated",
        "read_again": 0,
    }
    assert [event.name for event in talk.events] == ["place", "park", "parked", "solo_done"]
    assert talk.told("solo_done")[0]["request"] == 2


def test_an_admission_goes_on_as_soon_as_nothing_can_be_stopped_any_more() -> None:
    talk = parking()
    talk.act(
        f"""
        >> BGEN 3 5 1,2,3
           > BGEN 1 2 {LONG},500
        << RESUME {HELD}
        << T 600
           > BGEN 0 5 1,2,3
        << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
        << BADM 1 1
           > BSTOP 1
        << RESUME 0
           =
        << BT 1 601
        << BDONE 1 2 length 3.0
        << PP 2 3 1.0 1.0
           =
        << T 7
           =
        << DONE 1 3 1.0 1.0 length 0 0 0
           =
        << BADM 0 1
           < BADM 3 1
        << BT 0 8
           < BT 3 8
        """
    )
    assert talk.drifts() == []
    assert [event.name for event in talk.events] == ["place", "park", "parked", "admitted"]
