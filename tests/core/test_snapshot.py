"""The picture of one moment, and the counts."""

from attrs import asdict

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.core.snapshot import RequestSnapshot
from slotd.policy import values
from tests.core.transcript import Transcript


def test_before_the_engine_speaks_there_is_nothing_to_see() -> None:
    picture = Sidecar(SidecarSettings()).snapshot(1.0)
    assert picture.slots == ()
    assert picture.main is None
    assert not picture.capabilities.ready


def test_slots_are_shown_with_what_they_are_worth() -> None:
    talk = Transcript()
    talk.now = 10.0
    talk.fill(2, "[1..9000]")
    [first, second, *_] = talk.sidecar.snapshot(14.0).slots
    settings = talk.sidecar.settings.policy
    assert (first.slot, first.client_slot, first.state) == (0, 2, "idle")
    assert (first.tokens, first.age, first.valid) == (9000, 4.0, True)
    assert first.value == values.value(9000, 4.0, settings)
    assert first.ttl_left == values.ttl(9000, settings) - 4.0
    assert (second.tokens, second.value, second.request) == (0, 0.0, None)


def test_every_use_of_a_slot_has_a_name() -> None:
    talk = Transcript("batch_slots=6 slot_cache=1 slot_park=1")
    talk.admit(0, "1,2,3", tokens="5")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 1\n<< YIELDED 1 20")
    talk.play("<< DONE 0 50 1.0 0.0 cancel\n>> GEN 9 [3..50]\n<< RESUME 0\n>> BYIELD 2\n<< ERR x")
    talk.solo("[100..9000]")
    talk.play(">> BGEN 3 9 7,8\n BGEN 2 9 slot=2 park=3 7,8\n>> GEN 9 4,5")
    states = [slot.state for slot in talk.sidecar.snapshot(1.0).slots]
    assert states == ["decoding", "yielded", "reading", "parking", "idle", "idle"]


def test_what_is_on_its_way_is_shown_in_order() -> None:
    talk = Transcript()
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n<< PP 20 50 1.0 1.0\n@ 5\n>> BGEN 2 9 x 1,2")
    assert talk.sidecar.snapshot(7.0).in_flight == (
        RequestSnapshot(1, "GEN", None, None, "reading", 50, 20, 7.0),
        RequestSnapshot(2, "BGEN", 2, 2, "queued", None, 0, 2.0),
    )


def test_the_main_session_is_shown_while_it_holds_something() -> None:
    talk = Transcript()
    talk.now = 3.0
    talk.solo("[10..9009]")
    main = talk.sidecar.snapshot(5.0).main
    assert main is not None
    assert (main.tokens, main.age, main.exact) == (9000, 2.0, True)
    assert main.ttl_left > 9
    talk.play(">> GEN 9 1,2\n GEN 9 park=0 1,2\n<< RESUME 0")
    assert talk.sidecar.snapshot(5.0).main is None


def test_everything_told_is_counted() -> None:
    talk = Transcript()
    talk.solo("[100..9000]")
    talk.play(">> BGEN 3 9 1,2,3\n BGEN 0 9 slot=0 park=1 1,2,3\n<< PARKED 1 8901\n<< RESUME 0")
    talk.play("<< T 5\n<< DONE 1 3 1.0 1.0 length\n<< BADM 0 1\n BADM 3 1")
    talk.finish(0)
    talk.play(">> GEN 9 [100..9001]\n<< RESUME 8901\n<< T 5\n<< DONE 1 8902 1.0 1.0 stop")
    picture = talk.sidecar.snapshot(1.0)
    assert picture.placements == {"solo": 2, "reclaim": 1}
    assert picture.parks == {"parked": 1, "main_low_value": 1}
    assert picture.reused_tokens == 8901
    assert picture.read_tokens == 8901 + 3 + 1
    assert picture.events["place"] == 3
    assert picture.requests == 3


def test_looking_changes_nothing() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3", tokens="5 6")
    before = talk.holds(0)
    first, second = talk.sidecar.snapshot(1.0), talk.sidecar.snapshot(1.0)
    assert asdict(first) == asdict(second)
    talk.play("<< BT 0 7")
    assert talk.holds(0) == before + ",6"
