"""Failing open: whatever raises, the line goes through, and what is unknown is called unknown."""

import pytest

from protocol import Admitted, BatchDone, BatchToken, Done, EngineError, EngineLine, Parked, Yielded
from slotd.core import committing, engine_lines, sidecar
from slotd.core.model import Model
from slotd.core.slot_lines import take_token
from slotd.core.state import Activity
from slotd.policy.decide import Decision
from slotd.policy.park import Park
from slotd.policy.place import Placement
from slotd.policy.table import Table
from tests.core.transcript import Transcript


class Broken:
    """A decider that fails."""

    name = "broken"

    def decide(self, table: Table) -> Decision:
        raise RuntimeError("secret 31000")


class Stubborn:
    """A decider that names the slots it was told to."""

    name = "stubborn"

    def __init__(self, slot: int | None, park: int | None) -> None:
        self.decision = Decision(
            Placement(slot, "reclaim", None, 0, None), None if park is None else Park(park, "older")
        )

    def decide(self, table: Table) -> Decision:
        return self.decision


def fail(*_: object) -> None:
    raise KeyError("secret 31000")


def test_a_broken_policy_costs_the_placement_and_nothing_else() -> None:
    talk = Transcript(decider=Broken())
    talk.play(
        """
        >> BGEN 2 9 park=1 slot=2 1,2,3
           BGEN 2 9 slot=2 1,2,3
        << RESUME 0
        << T 5
        << DONE 1 3 1.0 1.0 length
        << BADM 2 1
        << BT 2 6
        << BDONE 2 2 stop 1.0
        """
    )
    assert talk.holds(2) == "1,2,3,5"
    [error] = talk.told("error")
    assert error["where"] == "plan_request"
    assert "RuntimeError" in str(error["message"])
    assert "secret" not in str(error)
    assert talk.told("place") == []


def test_a_broken_policy_lets_reads_give_way_into_their_own_slot() -> None:
    talk = Transcript(decider=Broken())
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0\n>> BYIELD 2\n<< YIELDED 2 20")
    assert talk.slot(2).activity is Activity.YIELDED
    assert [error["where"] for error in talk.told("error")] == ["plan_request", "plan_yield"]


@pytest.mark.parametrize(("slot", "park"), [(0, None), (9, None), (-1, None), (1, 0), (1, 1)])
def test_a_policy_that_names_a_slot_it_cannot_have_is_broken(slot: int, park: int | None) -> None:
    talk = Transcript(decider=Stubborn(0, None))
    talk.admit(0, "1,2,3")
    talk.sidecar.decider = Stubborn(slot, park)
    talk.play(">> BGEN 3 9 7,8")
    assert [error["where"] for error in talk.told("error")] == ["plan_request"]


def test_the_same_failure_is_told_once_in_a_while() -> None:
    talk = Transcript(decider=Broken())
    for _ in range(3):
        talk.play(">> BGEN 2 9 1,2,3\n<< ERR no")
    talk.now = 100.0
    talk.play(">> BGEN 2 9 1,2,3")
    assert [error["repeated"] for error in talk.told("error") if "repeated" in error] == [0, 2]


def test_when_the_line_cannot_be_written_it_goes_to_its_own_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    monkeypatch.setattr(committing, "decided_line", fail)
    # What was chosen stays chosen: the line and the numbering agree.
    talk.play(">> BGEN 3 9 1,2,3\n BGEN 1 9 1,2,3\n>> GEN 9 1,2\n<< BT 1 5\n BT 3 5")


def test_a_request_the_model_cannot_take_in_is_unknown_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = Transcript()
    talk.fill(2, "7,8,9")
    with monkeypatch.context() as patched:
        patched.setattr(sidecar, "sent_request", fail)
        talk.play(">> BGEN 2 9 1,2,3\n BGEN 1 9 slot=1 1,2,3")
    assert talk.slot(1).activity is Activity.READING
    talk.play("<< RESUME 0\n<< T 5\n<< DONE 1 3 1.0 1.0 length\n<< BADM 1 1\n BADM 2 1")
    talk.play("<< BT 1 6\n BT 2 6\n<< BDONE 1 2 stop 1.0\n BDONE 2 2 stop 1.0")
    assert talk.holds(1) == ""
    assert talk.holds(0) == "7,8,9"
    assert talk.main_holds() == ""
    talk.solo("1,2,3")
    assert talk.main_holds() == "1,2,3"


@pytest.mark.parametrize("name", ["parse_client_line", "sent_opaque", "sent_exchange"])
def test_other_client_lines_pass_when_the_core_fails(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Transcript()
    monkeypatch.setattr(sidecar, name, fail)
    talk.play(">> VRAM 5\n>> what\n>> STOP")
    assert len(talk.told("error")) >= 1


def test_lines_that_cannot_be_parsed_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Transcript()
    monkeypatch.setattr(sidecar, "parse_engine_line", fail)
    talk.play("<< BT 2 5\n<< T 5")


CONVERSATION = """
>> BGEN 2 9 [1..50]
   BGEN 1 9 slot=1 [1..50]
<< PARKED 3 5
<< CACHE_SOURCE -1 0
<< RESUME 0
<< PP 20 50 1.0 1.0
<< T 5
<< DONE 1 50 1.0 1.0 length
<< BADM 1 1
   BADM 2 1
<< BCHECKS 1 50 20
   BCHECKS 2 50 20
<< BT 1 6
   BT 2 6
<< BDONE 1 2 stop 1.0
   BDONE 2 2 stop 1.0
>> GEN 9 7,8
<< ERR no
>> VRAM
<< VRAM x=1
<< what is this
"""


@pytest.mark.parametrize("kind", list(engine_lines.TRANSITIONS))
def test_every_line_passes_mapped_when_its_transition_fails(
    kind: type[EngineLine], monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Transcript()
    talk.fill(2, "9,9,9")
    with monkeypatch.context() as patched:
        patched.setitem(engine_lines.TRANSITIONS, kind, fail)
        if kind is BatchToken:
            patched.setattr(sidecar, "take_token", fail)
        talk.play(CONVERSATION)
    assert all(slot.activity is Activity.IDLE for slot in talk.model.slots)
    assert len(talk.model.flight) == 0
    if kind in (BatchToken, BatchDone, Admitted, Done):
        assert talk.holds(1) == ""
    # The model finds its way back: the next requests are known again.
    talk.solo("4,5,6")
    assert talk.main_holds() == "4,5,6"
    slot = talk.fill(3, "1,2,3")
    assert talk.holds(slot) == "1,2,3"


def test_a_token_that_was_lost_makes_its_slot_unknown_until_its_end() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sidecar, "take_token", fail)
        talk.play("<< BT 0 5")
    talk.play("<< BT 0 6\n<< BDONE 0 3 stop 1.0")
    assert talk.holds(0) == ""


def test_a_token_that_fails_among_others_costs_its_own_slot_only() -> None:
    talk = Transcript()
    talk.admit(0, "1,2,3")
    talk.admit(1, "4,5,6")

    def fail_of_slot_0(model: Model, number: int, token: int) -> None:
        if number == 0:
            raise ValueError("no")
        take_token(model, number, token)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sidecar, "take_token", fail_of_slot_0)
        talk.sidecar.from_engine(b"BT 0 5\nBT 1 6\nBT 0 7\nBT 1 8\n", 1.0)
        talk.sidecar.learn()
    talk.play("<< BDONE 0 3 stop 1.0\n<< BDONE 1 3 stop 1.0")
    assert talk.holds(0) == ""
    assert talk.holds(1).startswith("4,5,6")
    assert talk.holds(1).endswith(",6")
    assert talk.drifts() == []


@pytest.mark.parametrize("kind", [Parked, Yielded])
def test_a_park_or_a_part_that_was_lost_leaves_its_slot_empty(kind: type[EngineLine]) -> None:
    talk = Transcript()
    talk.fill(0, "1,2,3")
    talk.play(">> GEN 9 [1..50]\n<< RESUME 0")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(engine_lines.TRANSITIONS, kind, fail)
        talk.play("<< PARKED 0 5\n<< YIELDED 0 20")
    assert talk.holds(0) == ""
    assert talk.slot(0).activity is Activity.IDLE


def test_an_error_that_was_lost_still_ends_its_request() -> None:
    talk = Transcript()
    talk.play(">> BGEN 0 9 1,2\n BGEN 0 9 slot=0 1,2\n>> GEN 9 1,2,3")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(engine_lines.TRANSITIONS, EngineError, fail)
        talk.play("<< ERR no")
    assert [request.number for request in talk.model.flight.requests()] == [2]
    assert talk.slot(0).activity is Activity.IDLE
