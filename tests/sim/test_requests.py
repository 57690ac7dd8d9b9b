import pytest
from attrs import evolve

from slotd.sim.options import SimOptions
from slotd.sim.requests import LedgerRow
from tests.sim.transcript import (
    BATCH,
    SMALL,
    ends_after,
    engine_with,
    holds_main,
    holds_slot,
    play,
)

SOLO = """
    >> GEN 2 1,2,3,4,5,6
    << CACHE_SOURCE -1 0
    << RESUME 0
    << PP 4 6 0 0.0
    << PP 5 6 0 0.0
    << T 101
    << T 102
    << DONE 2 6 0.0 0.0 length 0 0 0 0 0 0 0 0.0 6 0
"""


def test_solo_request_leaves_prompt_and_all_but_the_last_token() -> None:
    engine = engine_with()
    play(engine, SOLO)
    assert holds_main(engine) == [1, 2, 3, 4, 5, 6, 101]
    assert engine.ledger == [
        LedgerRow(1, "GEN", None, {}, 6, 0, -1, "none", 18, "length", None, False, None)
    ]


def test_continued_solo_request_reads_only_what_is_new() -> None:
    engine = engine_with()
    play(engine, SOLO)
    play(
        engine,
        """
        >> GEN 1 1,2,3,4,5,6,101,102
        << CACHE_SOURCE -1 7
        << RESUME 7
        << T 101
        << DONE 1 8 0.0 0.0 length 0 0 7 0 0 0 0 0.0 1 0
        """,
    )
    assert engine.ledger[-1].how == "main"


def test_admission_goes_on_in_its_slot_and_the_main_session_keeps_the_prompt() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        """
        >> BGEN 2 3 1,2,3
        << RESUME 0
        << PP 2 3 0 0.0
        << T 101
        << DONE 1 3 0.0 0.0 length ...
        << BADM 2 1
        << BT 2 102
        << BT 2 103
        << BDONE 2 3 length 0.0
        """,
    )
    assert holds_slot(engine, 2) == [1, 2, 3, 101, 102]
    assert holds_main(engine) == [1, 2, 3]
    assert engine.ledger[-1].admitted


def test_admission_that_ends_with_its_first_token_does_not_go_on() -> None:
    for max_new, model, finish in ((1, None, "length"), (5, ends_after(0), "stop")):
        engine = engine_with(BATCH, model)
        engine.from_client(b"BGEN 1 %d 1,2\n" % max_new)
        lines = list[bytes]()
        while step := engine.step():
            lines += step.output.splitlines()
        assert lines[-1] == b"BADM 1 0"
        assert lines[-2].startswith(f"DONE 1 2 0.0 0.0 {finish} ".encode())
        assert holds_slot(engine, 1) is None


def test_slots_decode_between_the_chunks_of_a_read() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        """
        >> BGEN 0 4 1,2
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 ...
        << BADM 0 1
        >> BGEN 1 2 5,5,5,5,5,5
        << RESUME 0
        << PP 4 6 0 0.0
        << BT 0 102
        << PP 5 6 0 0.0
        << BT 0 103
        << T 101
        << DONE 1 6 ...
        << BADM 1 1
        << BT 0 104
        << BDONE 0 4 length 0.0
        << BT 1 102
        << BDONE 1 2 length 0.0
        """,
    )


@pytest.mark.parametrize(
    "line",
    [
        "GEN",
        "GEN x 1,2",
        "GEN 0 1,2",
        "GEN 5",
        "GEN 5 1,,2",
        "GEN 5 1,x",
        "GEN 5 seed=4",
        "GENI 5 1,2",
        "GEN 5 cvec=x 1,2",
        "GEN 5 1,248320",
        "GEN 990 1,2,3",
        "BGEN 0",
        "BGEN 4 5 1,2",
        "BGEN -1 5 1,2",
        "BGEN 0 0 1,2",
        "VRAM",
        "RELEASE",
        "REFILL",
        "CHECKG",
        "HELLO",
        "",
    ],
)
def test_one_err_line_refuses(line: str) -> None:
    engine = engine_with(BATCH)
    play(engine, f">> {line}\n<< ERR ...")
    assert engine.ledger == []


def test_largest_request_that_fits() -> None:
    engine = engine_with(evolve(SMALL, chunk=2000))
    engine.from_client(b"GEN 2 " + b",".join([b"1"] * 990) + b"\n")
    step = engine.step()
    assert step is not None
    assert step.output.endswith(b"RESUME 0\n")


def test_admission_to_a_slot_that_decodes_is_refused() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        """
        >> BGEN 0 3 1,2
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 ...
        << BADM 0 1
        >> BGEN 0 3 1,2
        << ERR ...
        << BT 0 102
        << BT 0 103
        << BDONE 0 3 length 0.0
        """,
    )


def test_unknown_keys_and_what_follows_the_ids_are_skipped() -> None:
    engine = engine_with(BATCH)
    engine.from_client(b"GEN 1 temperature=0.7  slot=3 odd=,= 1,2,3 4,5\r\n")
    while engine.step():
        pass
    assert holds_main(engine) == [1, 2, 3]
    assert engine.ledger[0].keys == {"temperature": "0.7", "slot": "3", "odd": ",="}


def test_stop_before_a_request_begins_is_stale() -> None:
    engine = engine_with()
    engine.from_client(b"STOP\n")
    play(engine, SOLO)
    engine.from_client(b"GEN 1 7,8\nSTOP\n")
    play(
        engine,
        """
        << CACHE_SOURCE -1 0
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 0.0 0.0 length ...
        """,
    )


def test_stop_between_chunks_leaves_nothing_to_continue_from() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        """
        >> BGEN 3 5 1,2,3,4,5,6
        << RESUME 0
        << PP 4 6 0 0.0
        >> STOP
        << DONE 0 6 0.0 0.0 cancel 0 0 0 0 0 0 0 0.0 4 0
        << BADM 3 0
        """,
    )
    assert holds_main(engine) is None
    assert engine.ledger[-1].finish == "cancel"


def test_stop_while_decoding_is_a_normal_end() -> None:
    engine = engine_with()
    play(
        engine,
        """
        >> GEN 9 1,2
        << CACHE_SOURCE -1 0
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << T 102
        >> STOP
        << DONE 2 2 0.0 0.0 cancel ...
        """,
    )
    assert holds_main(engine) == [1, 2, 101]


def test_engine_that_does_not_honour_stop() -> None:
    engine = engine_with(evolve(SMALL, stop=False))
    assert engine.start().splitlines()[-1] == b"READY 1000"
    engine.from_client(b"GEN 3 1,2\n")
    engine.step()
    engine.from_client(b"STOP\n")
    while engine.step():
        pass
    assert engine.ledger[-1].finish == "length"


def test_batch_stop_ends_a_slot_at_its_next_window_and_is_ignored_when_idle() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        """
        >> BSTOP 1
        >> BSTOP 9
        >> BSTOP
        >> BSTOP x
        >> BGEN 1 9 1,2
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 ...
        << BADM 1 1
        << BT 1 102
        >> BSTOP 1
        << BT 1 103
        << BDONE 1 3 cancel 0.0
        """,
    )
    assert holds_slot(engine, 1) == [1, 2, 101, 102]


def test_end_token_ends_a_slot_though_it_was_stopped() -> None:
    engine = engine_with(BATCH, ends_after(1))
    engine.from_client(b"BGEN 1 9 1,2\nBSTOP 1\n")
    lines = list[bytes]()
    while step := engine.step():
        lines += step.output.splitlines()
    assert lines[-1] == b"BDONE 1 2 stop 0.0"


def test_yield_keeps_the_part_read_and_the_same_request_goes_on_from_it() -> None:
    engine = engine_with(evolve(BATCH, slot_checkpoints=2))
    turn = ">> BGEN 2 5 248045,2,3,248045,5,6,7,8,9,10"
    play(
        engine,
        f"""
        {turn}
        << RESUME 0
        << PP 3 10 0 0.0
        >> BYIELD 1
        << PP 4 10 0 0.0
        >> BYIELD 2
        << YIELDED 2 4
        << BCHECKS 2 4 3
        << DONE 0 10 0.0 0.0 cancel 0 0 0 0 0 0 0 0.0 4 0
        << BADM 2 0
        """,
    )
    assert engine.holds().slots[2].state == "yielded"
    assert holds_main(engine) is None
    play(
        engine,
        f"""
        >> BYIELD 2
        {turn}
        << RESUME 4
        << PP 8 10 0 0.0
        << PP 9 10 0 0.0
        << T 101
        << DONE 1 10 0.0 0.0 length 0 0 4 0 0 0 0 0.0 6 0
        << BADM 2 1
        << BCHECKS 2 10 3
        >> BSTOP 2
        << BT 2 102
        << BDONE 2 2 cancel 0.0
        """,
    )
    assert engine.ledger[0].yielded == (2, 4)
    assert engine.holds().slots[2].state == "idle"


def test_yield_of_a_solo_read_takes_any_idle_slot_but_not_a_picture_read() -> None:
    for verb, yields in ((b"GEN 5", True), (b"GENI 5 file", False)):
        engine = engine_with(BATCH)
        engine.from_client(verb + b" 1,2,3,4,5,6,7\n")
        engine.step()
        engine.from_client(b"BYIELD 0\n")
        while engine.step():
            pass
        assert (engine.ledger[0].yielded == (0, 4)) is yields


def test_quit_and_the_end_of_the_input_end_it() -> None:
    engine = engine_with()
    engine.from_client(b"QUIT\nGEN 5 1\n")
    assert engine.step() is None
    assert engine.ended
    engine = engine_with(BATCH)
    engine.from_client(b"BGEN 0 3 1,2")
    engine.eof()
    lines = list[bytes]()
    while step := engine.step():
        lines += step.output.splitlines()
    assert lines[-1] == b"BDONE 0 3 length 0.0"
    assert engine.ended


def test_every_chunking_of_the_input_gives_the_same_output() -> None:
    data = b"GEN 2 1,2,3\nBGEN 1 3 1,2,3,101\r\nBOGUS\nBGEN 0 2 9,9"
    outputs = set()
    for size in (1, 2, 7, len(data)):
        engine = engine_with(BATCH)
        for at in range(0, len(data), size):
            engine.from_client(data[at : at + size])
        engine.eof()
        output = b""
        while step := engine.step():
            output += step.output
        outputs.add(output)
    assert len(outputs) == 1


def test_settings_no_engine_could_start_with() -> None:
    with pytest.raises(ValueError, match="batch_groups=4 must divide batch_slots=6"):
        SimOptions(batch_slots=6, batch_groups=4)
    with pytest.raises(ValueError, match="chunk=0"):
        SimOptions(chunk=0)
