from typing import Any

import pytest

from slotd.sim.serve_requests import EngineEndedError, ServeSettings
from tests.sim_serve.transcript import BATCH, SHORT_READS, SOLO, done, play, request

IN_SLOT_0 = f"""
{BATCH}
++ a 9 1,2,3
>> GEN 9 1,2,3
<< RESUME 0
<< T 11
++ b 9 7,8
>> STOP
<< T 12
{done(2, 3, "cancel")}
>> BGEN 0 7 1,2,3,11,12
<< RESUME 4
<< T 13
{done(1, 5, "length", 4)}
<< BADM 0 1
>> BGEN 1 9 7,8
<< RESUME 0
<< BT 0 14
<< T 21
{done(1, 2, "length")}
<< BADM 1 1
"""


def test_alone_a_request_runs_solo_and_a_second_conversation_waits_for_nothing() -> None:
    play(f"""
        {BATCH}
        ++ a 2 1,2,3
        >> GEN 2 1,2,3
        << RESUME 0
        << PP 2 3 1 100.0
        << T 11
        << T 12
        {done(2, 3, "length")}
        -- a length: 11 12
        ++ b 5 4
        >> GEN 5 4
        << RESUME 0
        << T 13
        {done(1, 1, "stop")}
        -- b stop: 13
        """)


def test_requests_before_ready_wait_for_it() -> None:
    play("""
        ++ a 2 1,2,3
        << INFO context=1000
        << READY 1000 stop
        >> GEN 2 1,2,3
        """)


def test_keys_cvec_and_pictures_are_written_on_the_line() -> None:
    play(f"""
        {SOLO}
        ++ a 2 1,2 temperature=0.5 seed=3 cvec=0 pictures.bin
        >> GENI 2 temperature=0.5 seed=3 cvec=0 pictures.bin 1,2
        """)


def test_a_solo_request_that_decodes_is_stopped_and_goes_on_in_a_slot_when_another_comes() -> None:
    serve = play(IN_SLOT_0)
    assert serve.counts.promoted == 1


def test_a_newcomer_waits_for_the_first_token_of_a_read_that_is_not_long() -> None:
    play(f"""
        {BATCH}
        ++ a 9 1,2,3
        >> GEN 9 1,2,3
        ++ b 9 7,8
        << RESUME 0
        << PP 1 3 1 100.0
        << T 11
        >> STOP
        """)


def test_a_request_that_ended_before_its_stop_arrived_has_ended() -> None:
    play(f"""
        {BATCH}
        ++ a 9 1,2,3
        >> GEN 9 1,2,3
        << RESUME 0
        << T 11
        ++ b 9 7,8
        >> STOP
        << T 99
        {done(2, 3, "stop")}
        -- a stop: 11 99
        >> GEN 9 7,8
        """)


def test_a_request_stopped_at_its_last_token_has_ended_by_length() -> None:
    play(f"""
        {BATCH}
        ++ a 2 1,2,3
        >> GEN 2 1,2,3
        << RESUME 0
        << T 11
        ++ b 9 7,8
        >> STOP
        << T 12
        {done(2, 3, "cancel")}
        -- a length: 11 12
        >> GEN 9 7,8
        """)


def test_tokens_of_a_slot_reach_its_request_and_bdone_ends_it() -> None:
    serve = play(
        IN_SLOT_0
        + """
        << BT 0 15
        << BT 1 22
        << BDONE 1 2 stop 5.0
        -- b stop: 21 22
        >> BSTOP 0
        << BT 0 16
        << BDONE 0 4 cancel 9.0
        >> GEN 3 1,2,3,11,12,13,14,15,16
        """
    )
    assert serve.counts.returned == 1
    assert serve.surprises == []


def test_a_request_left_alone_stays_in_its_slot_when_slots_keep_nothing() -> None:
    play(
        IN_SLOT_0.replace(" slot_cache=1", " slot_cache=0")
        + """
        << BT 1 22
        << BDONE 1 2 stop 5.0
        -- b stop: 21 22
        << BT 0 15
        << BDONE 0 3 length 9.0
        -- a length: 11 12 13 14 15
        """
    )


def test_a_request_on_its_way_back_that_ends_by_itself_has_ended() -> None:
    serve = play(
        IN_SLOT_0
        + """
        << BDONE 1 1 stop 5.0
        -- b stop: 21
        >> BSTOP 0
        << BT 0 99
        << BDONE 0 3 stop 9.0
        -- a stop: 11 12 13 14 99
        ++ c 1 5
        >> GEN 1 5
        """
    )
    assert serve.counts.returned == 0


def test_a_request_on_its_way_back_goes_into_a_slot_again_when_another_comes() -> None:
    play(
        IN_SLOT_0
        + f"""
        << BDONE 1 1 stop 5.0
        -- b stop: 21
        >> BSTOP 0
        ++ c 9 5,6
        >> BGEN 2 9 5,6
        << BDONE 0 2 cancel 9.0
        << RESUME 0
        << T 31
        {done(1, 2, "length")}
        << BADM 2 1
        >> BGEN 0 5 1,2,3,11,12,13,14
        """
    )


def test_a_long_solo_read_gives_way_into_a_free_slot_and_goes_on_there() -> None:
    serve = play(f"""
        {BATCH}
        ++ a 9 1,2,3,4,5,6,7,8,9
        >> GEN 9 1,2,3,4,5,6,7,8,9
        << RESUME 0
        ++ b 9 31,32
        >> BYIELD 0
        << PP 2 9 1 100.0
        << YIELDED 0 2
        {done(0, 9, "cancel")}
        >> BGEN 1 9 31,32
        << RESUME 0
        << T 41
        {done(1, 2, "length")}
        << BADM 1 1
        >> BGEN 0 9 1,2,3,4,5,6,7,8,9
        << RESUME 2
        << T 11
        {done(1, 9, "length", 2)}
        << BADM 0 1
        """)
    assert serve.counts.yielded == 1


def test_a_long_admission_gives_way_in_its_own_slot() -> None:
    play(
        IN_SLOT_0
        + f"""
        ++ c 9 1,2,3,4,5,6,7,8,9,10,11
        >> BGEN 2 9 1,2,3,4,5,6,7,8,9,10,11
        << RESUME 2
        << BDONE 1 1 stop 5.0
        -- b stop: 21
        ++ d 9 51,52
        >> BYIELD 2
        << PP 4 11 1 100.0
        << YIELDED 2 4
        {done(0, 11, "cancel", 2)}
        << BADM 2 0
        >> BGEN 1 9 51,52
        << RESUME 0
        << T 61
        {done(1, 2, "length")}
        << BADM 1 1
        >> BGEN 2 9 1,2,3,4,5,6,7,8,9,10,11
        << RESUME 4
        """
    )


def test_a_read_does_not_give_way_without_a_slot_for_the_other_prompt() -> None:
    play(
        IN_SLOT_0
        + """
        ++ c 9 1,2,3,4,5,6,7,8,9,10,11
        >> BGEN 2 9 1,2,3,4,5,6,7,8,9,10,11
        << RESUME 2
        ++ d 9 51,52
        """
    )


def test_a_read_does_not_give_way_to_a_prompt_half_as_long_or_longer() -> None:
    play(f"""
        {BATCH}
        ++ a 9 1,2,3,4,5,6,7,8
        >> GEN 9 1,2,3,4,5,6,7,8
        << RESUME 0
        ++ b 9 31,32,33,34
        """)


def test_a_byield_that_comes_too_late_reserves_nothing() -> None:
    play(f"""
        {BATCH}
        ++ a 9 1,2,3,4,5,6,7,8,9
        >> GEN 9 1,2,3,4,5,6,7,8,9
        << RESUME 0
        ++ b 9 31,32
        >> BYIELD 0
        << T 11
        >> STOP
        {done(1, 9, "cancel")}
        >> BGEN 0 8 1,2,3,4,5,6,7,8,9,11
        """)


@pytest.mark.parametrize("gave_way_first", [True, False])
def test_a_request_that_gave_way_and_is_cancelled_sends_nothing(gave_way_first: bool) -> None:
    goes = "xx a"
    play(f"""
        {BATCH}
        ++ a 9 1,2,3,4,5,6,7,8,9
        >> GEN 9 1,2,3,4,5,6,7,8,9
        << RESUME 0
        ++ b 9 31,32
        >> BYIELD 0
        << YIELDED 0 2
        {"" if gave_way_first else goes}
        {"" if gave_way_first else ">> STOP"}
        {done(0, 9, "cancel")}
        {">> BGEN 1 9 31,32" if gave_way_first else ">> GEN 9 31,32"}
        {goes if gave_way_first else ""}
        << RESUME 0
        << T 41
        """)


def test_the_slot_of_a_cancelled_part_turns_up_in_a_later_bgen() -> None:
    play(f"""
        {BATCH}
        ++ a 9 1,2,3,4,5,6,7,8,9
        >> GEN 9 1,2,3,4,5,6,7,8,9
        << RESUME 0
        ++ b 9 31,32
        >> BYIELD 0
        << YIELDED 0 2
        {done(0, 9, "cancel")}
        >> BGEN 1 9 31,32
        xx a
        << RESUME 0
        << T 41
        {done(1, 2, "length")}
        << BADM 1 1
        >> BSTOP 1
        ++ c 9 1,2,71
        >> BGEN 0 9 1,2,71
        """)


def test_a_client_that_goes_away_while_waiting_is_dropped() -> None:
    play(f"""
        {SOLO}
        ++ a 2 1
        >> GEN 2 1
        ++ b 2 2
        ++ c 2 3
        xx b
        << RESUME 0
        << T 11
        {done(1, 1, "stop")}
        -- a stop: 11
        >> GEN 2 3
        """)


def test_a_client_that_goes_away_is_stopped_only_when_its_request_has_begun() -> None:
    serve = play(f"""
        {SOLO}
        ++ a 2 1
        >> GEN 2 1
        xx a
        << RESUME 0
        >> STOP
        ++ b 2 2
        << T 11
        {done(1, 1, "cancel")}
        >> GEN 2 2
        """)
    assert serve.counts.cancelled == 1


def test_a_client_that_goes_away_from_a_slot_is_bstopped_and_freed_at_its_bdone() -> None:
    serve = play(
        IN_SLOT_0
        + f"""
        xx b
        >> BSTOP 1
        << BT 1 22
        ++ c 9 5,6
        >> BGEN 2 9 5,6
        << RESUME 0
        << T 31
        {done(1, 2, "length")}
        << BADM 2 1
        ++ d 9 7
        << BDONE 1 2 cancel 5.0
        >> BGEN 1 9 7
        """
    )
    assert serve.surprises == []


def test_a_client_that_goes_away_between_done_and_badm_is_bstopped() -> None:
    play(
        IN_SLOT_0.rpartition("<< BADM 1 1")[0]
        + """
        xx b
        << BADM 1 1
        >> BSTOP 1
        << BDONE 1 1 cancel 5.0
        >> BSTOP 0
        """
    )


def test_a_client_that_goes_away_from_an_admission_frees_its_slot() -> None:
    play(
        IN_SLOT_0.rpartition("<< BT 0 14")[0]
        + f"""
        xx b
        >> STOP
        {done(0, 2, "cancel")}
        << BADM 1 0
        >> BSTOP 0
        """
    )


def test_a_client_that_goes_away_on_the_way_back_is_not_bstopped_twice() -> None:
    serve = play(
        IN_SLOT_0
        + """
        << BDONE 1 1 stop 5.0
        -- b stop: 21
        >> BSTOP 0
        xx a
        << BDONE 0 2 cancel 9.0
        """
    )
    assert serve.idle


def test_without_slots_requests_queue() -> None:
    play(f"""
        {SOLO}
        ++ a 2 1
        >> GEN 2 1
        ++ b 2 2
        << RESUME 0
        << T 11
        << T 12
        {done(2, 1, "length")}
        -- a length: 11 12
        >> GEN 2 2
        """)


def test_an_engine_without_stop_is_never_sent_one() -> None:
    play(f"""
        {BATCH.replace(" stop", "")}
        ++ a 9 1
        >> GEN 9 1
        << RESUME 0
        << T 11
        ++ b 2 2
        xx a
        << T 12
        {done(2, 1, "stop")}
        >> GEN 2 2
        """)


def test_an_error_ends_the_request_and_frees_its_slot() -> None:
    play(
        IN_SLOT_0
        + """
        ++ c 9 5,6
        >> BGEN 2 9 5,6
        << ERR a token id is outside the vocabulary
        -- c error:
        ++ d 9 5
        >> BGEN 2 9 5
        """
    )


def test_the_end_of_the_engine_ends_every_request() -> None:
    serve = play(
        IN_SLOT_0
        + """
        ++ c 9 5,6
        >> BGEN 2 9 5,6
        ++ d 9 5
        EOF
        -- a error: 11 12 13 14
        -- b error: 21
        -- c error:
        -- d error:
        """
    )
    assert serve.idle
    with pytest.raises(EngineEndedError):
        serve.submit(request("e 1 1"), 0)


def test_an_id_in_use_is_refused() -> None:
    serve = play("++ a 2 1")
    with pytest.raises(ValueError, match="'a' is running already"):
        serve.submit(request("a 1 1"), 0)


def test_a_copy_that_failed_is_gone_on_with() -> None:
    play(
        IN_SLOT_0.rpartition("<< BADM 1 1")[0]
        + """
        << BADM 1 0
        >> BGEN 1 8 7,8,21
        """
    )


def test_lines_it_does_not_know_change_nothing() -> None:
    serve = play(
        f"""
        {BATCH}
        ++ a 9 1
        << CACHE_SOURCE -1 0
        << RESUME 0
        << PARKED 2 100
        << BCHECKS 2 100 50
        << SOMETHING new
        << T 11
        {done(1, 1, "stop")}
        -- a stop: 11
        """.replace("++ a 9 1", "++ a 9 1\n>> GEN 9 1")
    )
    assert serve.surprises == []


@pytest.mark.parametrize(
    "line",
    [
        "BT 2 5",
        "BDONE 2 5 stop 1.0",
        "BADM 2 1",
        "T 5",
        "RESUME 0",
        "YIELDED 0 5",
        "BDONE 0 7 stop 1.0",
    ],
)
def test_lines_that_contradict_what_was_sent_are_noted(line: str) -> None:
    serve = play(IN_SLOT_0)
    serve.from_engine(line.encode() + b"\n", 0)
    assert len(serve.surprises) == 1


def test_stale_lines_are_sent_after_the_end_of_what_they_were_for() -> None:
    play(
        f"""
        {BATCH}
        ++ a 9 1
        >> GEN 9 1
        << RESUME 0
        << T 11
        ++ b 9 2
        >> STOP
        {done(1, 1, "cancel")}
        >> STOP
        >> BYIELD 0
        >> BGEN 0 8 1,11
        << RESUME 1
        << T 12
        {done(1, 2, "length")}
        << BADM 0 1
        >> BYIELD 0
        >> BGEN 1 9 2
        << BDONE 0 1 stop 5.0
        -- a stop: 11 12
        >> BSTOP 0
        """,
        ServeSettings(stale_lines=True),
    )


def test_any_chunking_of_the_engines_output_sends_and_ends_the_same() -> None:
    steps = [step.strip() for step in IN_SLOT_0.splitlines() if step.strip()]
    whole = play(IN_SLOT_0)
    cut = type(whole)(SHORT_READS)
    sent: list[Any] = []
    for step in steps:
        kind, _, text = step.partition(" ")
        if kind == "++":
            sent += cut.submit(request(text), 0)
        if kind == "<<":
            for byte in text.encode() + b"\n":
                sent += cut.from_engine(bytes([byte]), 0)[0]
    expected = [step[3:].encode() + b"\n" for step in steps if step.startswith(">>")]
    assert sent == expected
