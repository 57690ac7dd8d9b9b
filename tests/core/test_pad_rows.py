"""Pad rows: idle slots below an active one of their group lose their state, at the right window."""

import pytest

from slotd.core.sidecar import SidecarSettings
from slotd.core.state import Activity
from tests.core.transcript import Transcript

PAD_ROWS = "batch_slots=6 batch_groups=2 slot_cache=1"
SAFE = PAD_ROWS + " slot_padding_safe=1"
ONE_GROUP = "batch_slots=6 slot_cache=1"


def history(number: int) -> str:
    return f"{number + 1}0,2,3"


def filled(info: str) -> Transcript:
    """All slots of an engine hold a history of their own, each under its own number."""
    talk = Transcript(info, settings=SidecarSettings(policy_name="off"))
    for number in range(6):
        talk.admit(number, history(number))
        talk.finish(number)
    return talk


def start(talk: Transcript, *numbers: int) -> None:
    for number in numbers:
        talk.write(">>", b"BGEN %d 9 99,98,97\n" % number)
        talk.write("<<", b"RESUME 0\nT 500\nDONE 1 3 1 1 length\nBADM %d 1\n" % number)


def lost(talk: Transcript) -> list[int]:
    idle = [slot for slot in talk.model.slots if slot.activity is not Activity.DECODING]
    return [slot.number for slot in idle if not slot.valid]


def test_a_window_costs_the_idle_slots_below_the_last_active_one_of_its_group() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 2)
    assert lost(talk) == []
    talk.play("<< BT 2 7")
    assert lost(talk) == [0, 1]


def test_slots_above_the_last_active_one_and_of_other_groups_keep_theirs() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 4)
    talk.play("<< BT 4 7\n<< BT 4 8")
    assert lost(talk) == [3]


@pytest.mark.parametrize("info", [SAFE, ONE_GROUP])
def test_other_engines_lose_nothing(info: str) -> None:
    talk = filled(info)
    start(talk, 2, 5)
    talk.play("<< BT 2 7\n<< BT 5 7\n<< BT 2 8\n<< BT 5 8")
    assert lost(talk) == []


def test_a_slot_that_finishes_in_a_window_is_lost_by_the_next_one() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 0, 1)
    talk.play("<< BT 0 7\n<< BDONE 0 2 stop 1.0\n<< BT 1 8")
    assert lost(talk) == []
    assert talk.holds(0) == "99,98,97,500"
    talk.play("<< BT 1 9")
    assert lost(talk) == [0]


def test_each_group_has_windows_of_its_own() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 0, 1, 3, 4)
    talk.play("<< BT 0 7\n<< BDONE 0 2 stop 1.0\n<< BT 3 7\n<< BDONE 3 2 stop 1.0\n<< BT 4 7")
    talk.play("<< BT 1 8")
    assert lost(talk) == []
    talk.play("<< BT 4 9")
    assert lost(talk) == [3]
    talk.play("<< BT 1 9")
    assert lost(talk) == [0, 3]


def test_a_line_of_the_control_lines_ends_every_window() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 0, 1)
    talk.play("<< BT 0 7\n<< BDONE 0 2 stop 1.0\n<< PP 1 2 1.0 1.0\n<< BT 1 8")
    assert lost(talk) == [0]


def test_the_slot_that_is_read_into_loses_what_it_held_too() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 2)
    talk.play(">> BGEN 0 9 5,6\n<< RESUME 0\n<< BT 2 7\n<< ERR broken")
    assert lost(talk) == [0, 1]


def test_a_read_kept_below_an_active_slot_is_lost_and_its_slot_is_free_again() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 2)
    talk.play(
        """
        >> BGEN 0 9 [1..50]
        << RESUME 0
        >> BYIELD 0
        << PP 20 50 1.0 1.0
        << YIELDED 0 20
        << DONE 0 50 1.0 0.0 cancel
        << BADM 0 0
        """
    )
    assert talk.slot(0).activity is Activity.YIELDED
    talk.play("<< BT 2 7")
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.holds(0) == ""


def test_several_tokens_of_one_slot_in_a_window_never_keep_what_is_lost() -> None:
    talk = filled(PAD_ROWS)
    start(talk, 0, 1)
    talk.play("<< BT 0 7\n<< BT 0 8\n<< BDONE 0 3 stop 1.0\n<< BT 1 8")
    assert lost(talk) == []
    talk.play("<< BT 1 9")
    assert lost(talk) == [0]
