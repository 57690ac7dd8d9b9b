"""What the machines found, as the shortest transcript of each."""

import pytest

from slotd.core.flight import BOUND
from slotd.core.settings import SidecarSettings
from slotd.core.state import Activity
from slotd.policy.settings import PolicySettings
from tests.core.transcript import ACTIVE_ROWS, Transcript

PAD_ROWS = "batch_slots=6 batch_groups=2 slot_cache=1"
OFF = SidecarSettings(policy_name="off")


@pytest.mark.parametrize("answer", ["RELEASED", "RESTORED 4", "SESSION a", "FATAL x"])
def test_a_main_session_that_may_be_another_one_contradicts_nothing(answer: str) -> None:
    talk = Transcript()
    talk.solo("1,2,3", tokens="4 5")
    talk.play(
        f"""
        >> RELEASE
        << {answer}
        >> GEN 5 1,2,3,4,5,6
        << CACHE_SOURCE -1 5
        << RESUME 5
        """
    )
    assert talk.drifts() == []


def test_a_park_of_a_main_session_that_may_be_another_one_contradicts_nothing() -> None:
    talk = Transcript(settings=OFF)
    talk.solo("1,2,3", tokens="4 5")
    talk.play(
        """
        >> RELEASE
        << RELEASED
        >> GEN 5 park=1 7,8
        << PARKED 1 4
        << CACHE_SOURCE -1 0
        << RESUME 0
        """
    )
    assert talk.holds(1) == ""
    assert talk.drifts() == []
    talk.play(
        """
        << T 9
        << DONE 1 2 1 1 length
        >> GEN 5 1,2,3,4,6
        << CACHE_SOURCE 1 4
        << RESUME 4
        """
    )
    assert talk.drifts() == []


def ended_with_drafts() -> Transcript:
    """Play a solo request that ended with drafts offered: it may hold more than was printed."""
    talk = Transcript(settings=OFF)
    talk.play(
        """
        >> GEN 5 1,2,3
        << CACHE_SOURCE -1 0
        << RESUME 0
        << T 4
        << T 5
        << DONE 2 3 1 1 stop 1 3 0
        """
    )
    return talk


def test_drafts_behind_an_end_token_explain_that_more_is_reused() -> None:
    talk = ended_with_drafts()
    talk.play(
        """
        >> GEN 5 1,2,3,4,5,6
        << CACHE_SOURCE -1 5
        << RESUME 5
        """
    )
    assert talk.drifts() == []


def test_drafts_behind_an_end_token_do_not_explain_another_conversation() -> None:
    talk = ended_with_drafts()
    talk.play(
        """
        >> GEN 5 1,2,9,4,5,6
        << CACHE_SOURCE -1 5
        << RESUME 5
        """
    )
    assert talk.drifts() == [("resume", 0, 5)]


def test_drafts_that_were_parked_explain_that_more_is_reused() -> None:
    talk = ended_with_drafts()
    talk.play(
        """
        >> GEN 5 park=2 7,8
        << PARKED 2 5
        << CACHE_SOURCE -1 0
        << RESUME 0
        << T 9
        << DONE 1 2 1 1 length 0 0 0
        >> GEN 5 1,2,3,4,5,6
        << CACHE_SOURCE 2 5
        << RESUME 5
        """
    )
    assert talk.drifts() == []


def test_a_window_in_which_a_request_fails_costs_the_rows_it_spans() -> None:
    talk = Transcript(PAD_ROWS, settings=OFF)
    talk.fill(0, "1,2,3")
    talk.admit(2, "7,8,9")
    assert talk.holds(0) == "1,2,3"
    talk.play("<< BDONE 2 1 error 1.0")
    assert talk.holds(0) == ""


def test_a_failing_request_costs_no_rows_of_the_other_group() -> None:
    talk = Transcript(PAD_ROWS, settings=OFF)
    talk.fill(0, "1,2,3")
    talk.admit(5, "7,8,9")
    talk.play("<< BDONE 5 1 error 1.0")
    assert talk.holds(0) == "1,2,3"


def test_a_slot_a_queued_park_goes_to_is_not_idle_once_its_request_ends() -> None:
    talk = Transcript(settings=SidecarSettings(keep_client_keys=True))
    slot = talk.admit(0, "1,2,3")
    talk.solo("20,21,22")
    talk.play(f">> GEN 5 park={talk.sidecar.model.numbering.client_slot(slot)} 30,31")
    talk.finish(slot)
    assert not talk.slot(slot).idle
    talk.play(">> GEN 5 1,2,3,4")
    assert talk.told("place")[-1]["hint"] == 0


def test_a_number_used_again_too_early_stays_with_its_slot() -> None:
    # The client should not: the engine admits the second request once the first has ended.
    talk = Transcript()
    slot = talk.admit(0, "1,2,3")
    talk.write(">>", b"BGEN 0 5 4,5,6\n")
    talk.finish(slot)
    assert talk.model.slots[slot].taken
    sent = talk.write(">>", b"BGEN 0 5 7,8,9\n")
    assert sent.startswith(b"BGEN %d " % slot)


def test_nothing_is_chosen_for_a_yield_while_requests_cannot_be_followed() -> None:
    talk = Transcript()
    for _ in range(BOUND + 2):
        talk.write(">>", b"GEN 5 1,2,3\n")
    assert talk.write(">>", b"BYIELD 2\n") == b"BYIELD 2\n"
    assert talk.told("place")[-1]["verb"] == "GEN"


def test_a_park_by_a_request_that_could_not_be_followed_contradicts_nothing() -> None:
    talk = Transcript(settings=OFF)
    for _ in range(BOUND):
        talk.write(">>", b"VRAM\n")
    talk.write(">>", b"GEN 5 park=1 1,2,3\n")
    talk.write("<<", b"ERR no\n" * BOUND)
    talk.play("<< PARKED 1 40")
    assert talk.drifts() == []
    assert talk.holds(1) == ""


@pytest.mark.parametrize("settings", [SidecarSettings(), OFF])
def test_an_unfinished_last_line_is_carried_out_like_any_other(settings: SidecarSettings) -> None:
    talk = Transcript(f"batch_slots=4 {ACTIVE_ROWS}", settings=settings)
    talk.admit(2, "1,2,3")
    engine_slot = talk.model.numbering.engine_slot(2)
    talk.write(">>", b"BSTOP 2")
    output = talk.sidecar.client_eof(1.0)
    assert output.to_engine == [b"BSTOP %d" % engine_slot]


def test_an_unfinished_last_request_is_placed() -> None:
    talk = Transcript()
    talk.write(">>", b"BGEN 2 5 1,2")
    assert talk.sidecar.client_eof(1.0).to_engine == [b"BGEN 0 5 slot=0 1,2"]
    assert talk.slot(0).taken


def test_an_unfinished_last_line_stays_as_it_is_with_the_policy_off() -> None:
    talk = Transcript(settings=OFF)
    talk.write(">>", b"BGEN 2 5 park=1 1,2")
    assert talk.sidecar.client_eof(1.0).to_engine == [b"BGEN 2 5 park=1 1,2"]


def test_what_is_left_of_a_frame_is_no_line() -> None:
    talk = Transcript()
    talk.admit(2, "1,2,3")
    talk.write(">>", b"GENG1 30\nBSTOP 2\nBGEN 2 5 1")
    assert talk.sidecar.client_eof(1.0).to_engine == [b"GENG1 30\nBSTOP 2\nBGEN 2 5 1"]


def test_an_err_to_a_line_that_could_not_be_followed_ends_that_line_alone() -> None:
    talk = Transcript()
    for _ in range(BOUND):
        talk.write(">>", b"GEN 5 7,8\n")
    talk.write(">>", b"\nGEN 5 1,2\n")
    talk.write("<<", b"RESUME 0\nT 9\nDONE 1 2 1 1 length\n" * BOUND)
    talk.play("<< ERR unknown")
    talk.write(">>", b"GEN 5 3,4\n")
    talk.play("<< RESUME 0\n<< T 9\n<< DONE 1 2 1 1 length")
    assert talk.main_holds() == ""
    talk.play("<< RESUME 0\n<< T 9\n<< DONE 1 2 1 1 length")
    assert len(talk.model.flight) == talk.model.flight.untracked == 0


def test_a_number_that_turns_up_in_a_late_yield_keeps_no_cancelled_read() -> None:
    talk = Transcript()
    talk.play(
        """
        >> GEN 5 1,2,3,4
        << RESUME 0
        << PP 2 4 1 1
        >> BYIELD 0
        << YIELDED 0 2
        << DONE 0 4 1 1 cancel
        >> GEN 5 7,8,9
        << RESUME 0
        << T 5
        << T 6
        << DONE 2 3 1 1 stop
        """
    )
    assert talk.slot(0).activity is Activity.YIELDED
    talk.play(">> BYIELD 0")
    assert talk.slot(0).activity is Activity.IDLE
    assert talk.holds(0) == "1,2"


def test_an_unfinished_last_line_comes_behind_a_request_that_waits_for_a_park() -> None:
    policy = PolicySettings(park_min_value=0)
    settings = SidecarSettings(policy=policy, park="emulated", turn_token=9)
    talk = Transcript("batch_slots=4 slot_cache=1", settings=settings)
    talk.solo("1,2,9,3", tokens="4 5")
    own = talk.write(">>", b"BGEN 0 5 7,8\n")
    assert own.endswith(b" 2 1,2,9,3,4,5\n")
    talk.write(">>", b"BSTOP 3")
    assert talk.sidecar.client_eof(1.0).to_engine == []
    output = talk.sidecar.from_engine(b"ERR no\n", 1.0)
    assert [raw[-5:] for raw in output.to_engine] == [b" 7,8\n"]
    output = talk.sidecar.from_engine(b"RESUME 0\n", 1.0)
    assert [raw[:6] for raw in output.to_engine] == [b"BSTOP "]
