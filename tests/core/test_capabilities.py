"""What INFO and READY say."""

import pytest

from slotd.core.capabilities import Capabilities
from tests.core.transcript import Transcript


def test_an_engine_that_has_said_nothing_can_nothing() -> None:
    assert Capabilities().with_info({}) == Capabilities()
    assert Capabilities().batch_slots == 0


def test_every_field_is_read() -> None:
    said = Capabilities().with_info(
        {
            "batch_slots": "6",
            "batch_groups": "3",
            "slot_cache": "1",
            "slot_padding_safe": "1",
            "slot_park": "1",
            "turn_token": "248045",
            "context": "270000",
            "engine": "0.2.7",
        }
    )
    assert said == Capabilities(6, 3, True, True, True, 248045, 270000, "0.2.7")


def test_several_info_lines_add_up() -> None:
    first = Capabilities().with_info({"batch_slots": "4", "slot_cache": "1"})
    assert first.with_info({"slot_park": "1"}) == Capabilities(4, 1, True, slot_park=True)


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "9" * 30, "1025", "²"])
def test_a_senseless_number_of_slots_is_no_batch(text: str) -> None:
    assert Capabilities().with_info({"batch_slots": text}).batch_slots == 0


@pytest.mark.parametrize("groups", ["0", "-1", "x", "4", "7"])
def test_groups_that_do_not_divide_the_slots_count_as_one(groups: str) -> None:
    said = Capabilities().with_info({"batch_slots": "6", "batch_groups": groups})
    assert said.batch_groups == 1


@pytest.mark.parametrize("text", ["0", "yes", "", "2"])
def test_only_a_1_is_a_yes(text: str) -> None:
    assert not Capabilities().with_info({"slot_cache": text}).slot_cache


def test_pad_rows_need_several_groups_and_no_promise() -> None:
    grouped = Capabilities(batch_slots=6, batch_groups=3)
    assert grouped.pads_rows
    assert not grouped.with_info({"slot_padding_safe": "1"}).pads_rows
    assert not Capabilities(batch_slots=6).pads_rows


def test_the_engine_is_told_of_once_a_line() -> None:
    talk = Transcript(None)
    talk.play(
        """
        << INFO batch_slots=4 slot_cache=1 engine=0.2.7
        << INFO slot_park=1
        << READY 4096 stop
        """
    )
    assert [told["slot_park"] for told in talk.told("engine_info")] == [False, True]
    assert talk.told("engine_ready") == [{"context": 4096, "stop": True}]
    assert len(talk.model.slots) == 4


def test_no_request_is_placed_before_ready() -> None:
    talk = Transcript(None)
    talk.play(
        """
        >> BGEN 2 5 park=1 slot=3 1,2,3
        << INFO batch_slots=4 slot_cache=1
        >> BGEN 1 5 park=1 slot=3 1,2,3
        """
    )
    assert talk.told("place") == []


def test_a_request_sent_before_the_engine_spoke_is_followed_all_the_same() -> None:
    talk = Transcript(None)
    talk.play(
        """
        >> BGEN 2 5 1,2,3
        << INFO batch_slots=4 slot_cache=1
        << READY 4096 stop
        << RESUME 0
        << T 7
        << DONE 1 3 1.0 1.0 length
        << BADM 2 1
        << BT 2 8
        << BDONE 2 2 stop 1.0
        """
    )
    assert talk.holds(2) == "1,2,3,7"
    assert talk.drifts() == []


def test_an_engine_without_batch_slots_is_passed_through_and_followed() -> None:
    talk = Transcript("context=4096")
    talk.play(
        """
        >> GEN 5 park=2 slot=1 1,2,3
        << RESUME 0
        << T 7
        << T 8
        << DONE 2 3 1.0 1.0 length
        >> BGEN 0 5 1,2
        << ERR no batch
        """
    )
    assert talk.main_holds() == "1,2,3,7"
    assert talk.told("place") == []
    assert [told["reused"] for told in talk.told("solo_done")] == [0]
