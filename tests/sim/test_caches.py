import pytest
from attrs import evolve

from slotd.sim.engine import SimEngine
from slotd.sim.options import Faults, SimOptions
from tests.sim.transcript import BATCH, SMALL, ends_after, engine_with, holds_main, holds_slot, play

TURN = "248045"


def run(engine: SimEngine, *lines: str) -> list[str]:
    """Send lines one after the other, each when the engine is idle; return all that it says."""
    said = list[str]()
    for line in lines:
        engine.from_client(line.encode() + b"\n")
        while step := engine.step():
            said += step.output.decode().splitlines()
    return said


def test_park_keeps_the_conversation_that_the_next_request_replaces() -> None:
    engine = engine_with(evolve(SMALL, slot_checkpoints=2))
    run(engine, f"GEN 2 {TURN},1,2,{TURN},4")
    play(
        engine,
        """
        >> GEN 1 park=3 7,8
        << PARKED 3 6
        << BCHECKS 3 6 3
        << CACHE_SOURCE -1 0
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << DONE 1 2 ...
        """,
    )
    assert holds_slot(engine, 3) == [248045, 1, 2, 248045, 4, 101]
    play(
        engine,
        f"""
        >> BGEN 0 2 {TURN},1,2,{TURN},4,101,102
        << CACHE_SOURCE 3 6
        << RESUME 6
        << T 101
        << DONE 1 7 0.0 0.0 length 0 0 6 0 0 0 0 0.0 1 0
        << BADM 0 1
        << BCHECKS 0 7
        << BT 0 102
        << BDONE 0 2 length 0.0
        """,
    )
    # The old copy stays behind in the slot it was restored from.
    assert holds_slot(engine, 3) == [248045, 1, 2, 248045, 4, 101]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("GEN 1 park=6 7,8", "no idle slot of that number"),
        ("GEN 1 park=-1 7,8", "no idle slot of that number"),
        ("BGEN 2 1 park=2 7,8", "the request itself needs that slot"),
        (f"GEN 1 park=1 {TURN},1,{TURN},9,9", "the prompt continues the main session's ..."),
    ],
)
def test_park_that_is_not_used_changes_nothing(line: str, why: str) -> None:
    engine = engine_with()
    said = run(engine, f"GEN 2 {TURN},1,{TURN},4", line)
    assert not any(each.startswith("PARKED") for each in said)
    parked = engine.ledger[-1].parked
    assert parked is not None
    assert not parked["used"]
    assert str(parked["why"]).startswith(why.removesuffix(" ..."))
    assert all(holds_slot(engine, slot) is None for slot in range(6))


def test_park_into_a_slot_that_decodes_or_is_restored_from_is_not_used() -> None:
    engine = engine_with()
    run(engine, "BGEN 1 2 1,2", "GEN 2 5,6,7")
    run(engine, "GEN 1 park=1 1,2,101,9")
    assert engine.ledger[-1].source == 1
    assert engine.ledger[-1].parked == {
        "park": 1,
        "used": False,
        "why": "the request itself needs that slot",
    }
    engine.from_client(b"BGEN 4 50 3,3,3\nGEN 1 park=4 8,8\n")
    while engine.step():
        pass
    assert engine.ledger[-1].parked == {
        "park": 4,
        "used": False,
        "why": "no idle slot of that number",
    }


def test_park_without_a_turn_token_in_info_takes_any_difference() -> None:
    for announced in (True, False):
        engine = engine_with(evolve(SMALL, announce_turn_token=announced))
        assert (b"turn_token=" in engine.start()) is announced
        # The same conversation with its last reply sent back changed.
        said = run(engine, f"GEN 2 {TURN},1,{TURN},4", f"GEN 1 park=0 {TURN},1,{TURN},4,9")
        assert ("PARKED 0 5" in said) is not announced


@pytest.mark.parametrize("options", [BATCH, evolve(SMALL, park=False)])
def test_engine_without_parks_skips_the_key(options: SimOptions) -> None:
    engine = engine_with(options)
    assert b"slot_park" not in engine.start()
    said = run(engine, "GEN 2 1,2,3", "GEN 1 park=0 7,8")
    assert not any(each.startswith("PARKED") for each in said)
    assert engine.ledger[-1].parked is None


def test_failed_park_leaves_the_slot_with_nothing() -> None:
    engine = engine_with(evolve(SMALL, faults=Faults(parks=frozenset({2}))))
    said = run(engine, "GEN 2 1,2,3", "GEN 2 park=5 7,8", "GEN 1 park=5 9,9", "GEN 1 park=4 6,6")
    assert [each for each in said if each.startswith("PARKED")] == [
        "PARKED 5 4",
        "PARKED 5 0",
        "PARKED 4 2",
    ]
    assert holds_slot(engine, 5) is None


def test_failed_admission_leaves_the_slot_with_nothing() -> None:
    engine = engine_with(evolve(BATCH, faults=Faults(admissions=frozenset({2}))))
    run(engine, "BGEN 1 2 1,2")
    assert holds_slot(engine, 1) == [1, 2, 101]
    play(
        engine,
        """
        >> BGEN 1 5 1,2,101,7
        << RESUME 3
        << T 101
        << DONE 1 4 0.0 0.0 length ...
        << BADM 1 0
        """,
    )
    assert holds_slot(engine, 1) is None
    assert holds_main(engine) == [1, 2, 101, 7]


def test_decode_that_fails_leaves_the_slot_with_nothing() -> None:
    faults = Faults(decodes=frozenset({1}), decode_windows=2)
    engine = engine_with(evolve(BATCH, faults=faults))
    said = run(engine, "BGEN 1 9 1,2")
    assert said[-3:] == ["BADM 1 1", "BT 1 102", "BDONE 1 2 error 0.0"]
    assert holds_slot(engine, 1) is None
    assert run(engine, "BGEN 1 2 1,2,3")[-1] == "BDONE 1 2 length 0.0"


def test_pad_rows_spoil_idle_slots_below_an_active_one_of_the_same_group() -> None:
    for safe, lost in ((False, {0, 2}), (True, set())):
        engine = engine_with(evolve(SMALL, active_rows=safe))
        run(engine, *(f"BGEN {slot} 2 {slot},9" for slot in reversed(range(6))))
        assert all(holds_slot(engine, slot) for slot in range(6))
        run(engine, "BGEN 1 2 7,7", "BGEN 3 2 8,8")
        assert {slot for slot in range(6) if holds_slot(engine, slot) is None} == lost


def test_slots_keep_nothing_without_slot_cache_and_with_pictures() -> None:
    engine = engine_with(evolve(BATCH, slot_cache=False))
    assert b"slot_cache=0" in engine.start()
    run(engine, "BGEN 0 2 1,2")
    assert holds_slot(engine, 0) is None
    engine = engine_with(BATCH)
    run(engine, "BGENI 0 2 picture.bin 1,2")
    assert holds_slot(engine, 0) is None
    assert holds_main(engine) is None
    assert engine.holds().slots[0].images


def test_ckpt_0_leaves_no_main_session_and_no_checkpoints() -> None:
    engine = engine_with()
    run(engine, f"GEN 2 ckpt=0 1,2,{TURN},4,5", f"GEN 2 1,2,{TURN},4,6")
    assert [row.resumed for row in engine.ledger] == [0, 0]
    run(engine, f"GEN 2 1,2,{TURN},4,7")
    assert (engine.ledger[-1].resumed, engine.ledger[-1].how) == (2, "main checkpoint")


def test_only_equal_cvec_continues() -> None:
    engine = engine_with(BATCH)
    run(engine, "BGEN 2 2 cvec=0 1,2", "GEN 1 5,5", "GEN 1 1,2,101,9", "GEN 1 cvec=0 1,2,101,9")
    assert [row.source for row in engine.ledger] == [-1, -1, -1, 2]
    assert engine.holds().slots[2].cvec == 0


def test_longest_start_wins_wherever_it_is() -> None:
    engine = engine_with(BATCH)
    run(engine, "BGEN 0 2 1,2", "BGEN 3 4 1,2,101,4", "GEN 1 9", "BGEN 1 2 1,2,101,4,101,102,103,9")
    assert (engine.ledger[-1].source, engine.ledger[-1].resumed) == (3, 7)
    assert (engine.ledger[-1].how, engine.ledger[-1].slot) == ("slot", 1)


def test_slot_keeps_its_deepest_checkpoints_and_gives_the_shallower_ones_back() -> None:
    prompt = ",".join(["1"] * 10 + [TURN] + ["2"] * 12)
    for kept, lengths in ((1, (15,)), (2, (10, 15)), (3, (5, 10, 15))):
        options = evolve(BATCH, checkpoint_every=5, slot_checkpoints=kept, chunk=100)
        engine = engine_with(options)
        run(engine, f"BGEN 2 2 {prompt[: prompt.index('2,2')]}2,2,2,2,2,3")
        assert engine.holds().slots[2].checkpoints == lengths
        run(engine, "GEN 1 9", f"GEN 1 {prompt}")
        assert engine.ledger[-1].how == "slot checkpoint"
        assert engine.holds().main.checkpoints == (*lengths, 20)


def test_branch_checkpoint_where_a_prompt_leaves_what_is_held() -> None:
    transcript = ",".join(map(str, range(1, 21)))
    engine = engine_with(evolve(BATCH, branch_margin=5, slot_checkpoints=2))
    run(engine, f"GEN 1 {transcript},{TURN},30", f"GEN 1 {transcript},21,22,{TURN},30")
    assert engine.holds().main.checkpoints == (20, 22)
    run(engine, f"GEN 1 {transcript},21,23,{TURN},30")
    assert engine.ledger[-1].resumed == 20


def test_turn_that_is_the_last_token_gets_no_checkpoint() -> None:
    engine = engine_with()
    run(engine, f"GEN 1 1,2,{TURN}")
    assert engine.holds().main.checkpoints == ()


def test_accepted_drafts_behind_the_end_token_stay_in_the_main_session() -> None:
    options = evolve(SMALL, drafts_offered=3, drafts_accepted=(1, 3))
    engine = engine_with(options, ends_after(4))
    play(
        engine,
        """
        >> GEN 20 1,2
        << CACHE_SOURCE -1 0
        << RESUME 0
        << PP 1 2 0 0.0
        << T 101
        << T 102
        << T 103
        << T 104
        << T 248046
        << DONE 5 2 0.0 0.0 stop 4 6 0 ...
        """,
    )
    assert holds_main(engine) == [1, 2, 101, 102, 103, 104, 248046, 901]


def test_drafts_never_give_more_than_asked_for() -> None:
    options = evolve(SMALL, drafts_offered=3, drafts_accepted=(3,))
    engine = engine_with(options)
    said = run(engine, "GEN 6 1,2")
    assert [each for each in said if each[0] == "T"] == [f"T {101 + each}" for each in range(6)]
    assert said[-1].startswith("DONE 6 2 0.0 0.0 length 3 3 0 ")
    assert holds_main(engine) == [1, 2, 101, 102, 103, 104, 105]
