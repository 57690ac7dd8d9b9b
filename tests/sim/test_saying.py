from attrs import evolve

from protocol.reader import MAX_LINE
from tests.sim.test_caches import run
from tests.sim.transcript import BATCH, SMALL, engine_with, holds_main, play


def test_greeting_names_what_the_engine_can_do() -> None:
    assert engine_with().start() == (
        b"INFO context=1000 kv=int8 spec=4 cvec=none batch_slots=6 slot_cache=1 batch_groups=3"
        b" slot_padding_safe=1 slot_park=1 turn_token=248045 engine=0.2.7\nREADY 1000 stop\n"
    )
    assert engine_with(evolve(BATCH, batch_slots=0)).start() == (
        b"INFO context=1000 kv=int8 spec=4 cvec=none engine=0.2.7\nREADY 1000 stop\n"
    )


def test_info_over_several_lines_says_the_same() -> None:
    whole = engine_with().start().splitlines()[0].split()[1:]
    lines = engine_with(evolve(SMALL, info_lines=3)).start().splitlines()
    assert [line.split()[0] for line in lines] == [b"INFO"] * 3 + [b"READY"]
    assert [field for line in lines[:3] for field in line.split()[1:]] == whole


def test_later_builds_add_fields_and_space_their_checkpoints() -> None:
    options = evolve(
        SMALL,
        done_fields="7 x",
        batch_done_fields="3 9",
        checks_separator=" ",
        slot_checkpoints=2,
        checkpoint_every=3,
        say_cache_source=False,
    )
    said = run(engine_with(options), "BGEN 5 2 1,2,3,4,5,6,7,8")
    assert "CACHE_SOURCE -1 0" not in said
    assert said[-4:] == ["BADM 5 1", "BCHECKS 5 8 3 6", "BT 5 102", "BDONE 5 2 length 0.0 3 9"]
    assert said[-5].endswith(" 8 0 7 x")


def test_exchanges_are_carried_out_where_the_engine_knows_them() -> None:
    engine = engine_with(evolve(BATCH, elastic=True, session_files=True))
    run(engine, "GEN 2 1,2,3")
    play(
        engine,
        """
        >> VRAM 512
        << VRAM free_mib=512 reserve_mib=512
        >> RELEASE
        << RELEASED
        >> REFILL
        << REFILLED
        >> SAVE a.bin
        << SAVED 4
        >> RESTORE b.bin
        << SERR ...
        """,
    )
    run(engine, "GEN 1 9,9")
    play(engine, ">> RESTORE a.bin\n<< RESTORED 4")
    assert holds_main(engine) == [1, 2, 3, 101]


def test_frame_is_never_read_as_commands_by_a_build_that_knows_it() -> None:
    frame = b'GENG2 19 1 0\nroot ::= "a"\nSTOP\nx\nGEN 1 1,2\nGENG1 4\nQUIT\nCHECKG\nCHECKG\n'
    engine = engine_with(evolve(SMALL, frames=True))
    engine.from_client(frame)
    said = list[str]()
    while step := engine.step():
        said += step.output.decode().splitlines()
    assert said[-4] == "T 101"
    assert said[-3].startswith("DONE 1 2 ")
    assert said[-2] == "CHECKG ok"
    assert said[-1].startswith("ERR ")
    assert not engine.ended


def test_frame_is_just_lines_to_a_build_that_does_not() -> None:
    engine = engine_with()
    engine.from_client(b"GENG1 4\nQUIT\nGEN 1 1,2\n")
    step = engine.step()
    assert step is not None
    assert step.output.startswith(b"ERR ")
    assert engine.step() is None
    assert engine.ended


def test_a_line_of_any_length_is_one_line_with_one_answer() -> None:
    engine = engine_with(BATCH)
    play(
        engine,
        f"""
        >> GEN 1 {"7," * (MAX_LINE // 2 + 5)}7
        << ERR prompt of ...
        >> GEN 1 1,2
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 ...
        """,
    )
