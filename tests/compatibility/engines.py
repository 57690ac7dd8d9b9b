"""What engines can and what slotd does with each: the README's table, one check a row.

Lives here: the rows in the README's order and words, and the transcript that shows each. Must not
live here: reading the README (`tests.readme.readme`).
"""

from collections.abc import Callable

from attrs import frozen

from slotd.core.sidecar import SidecarSettings
from tests.core.transcript import Transcript
from tests.emulated_park.transcript import HELD, LONG, parking

OFF = SidecarSettings(policy_name="off")
GROUPS = "batch_slots=4 batch_groups=2 slot_cache=1"
SAFE = GROUPS + " slot_padding_safe=1"
PARKS = SAFE + " slot_park=1"
TURNS = PARKS + " turn_token=9"


@frozen
class Row:
    """One row of the table: its two cells, and what shows that the second is so."""

    engine: str
    does: str
    check: Callable[[], None]


def no_batch() -> None:
    talk = Transcript("context=4096 engine=0.1.36")
    talk.play(
        """
        >> GEN 5 park=2 slot=1 1,2,3
        << RESUME 0
        << T 7
        << DONE 1 3 1.0 1.0 length
        >> BGEN 0 5 1,2
        << ERR no batch
        """
    )
    assert talk.told("place") == []
    assert [told["prompt"] for told in talk.told("solo_done")] == [3]


def batch_without_cache() -> None:
    talk = Transcript("batch_slots=4")
    talk.fill(1, "1,2,3")
    assert [talk.holds(number) for number in range(4)] == [""] * 4
    talk.solo(LONG)
    talk.play(">> BGEN 0 9 1,2,3,4\n BGEN 0 9 slot=0 1,2,3,4")
    assert talk.told("place")[-1]["hint"] == 0
    assert talk.told("park") + talk.told("park_skip") == []


def one_group() -> None:
    talk = Transcript("batch_slots=4 slot_cache=1")
    first = talk.fill(1, "1,2,3")
    talk.play(f">> BGEN 3 9 1,2,3,4\n BGEN {first} 9 slot={first} 1,2,3,4\n<< ERR no")
    other = talk.admit(2, "7,8,9", tokens="5 6")
    assert other != first
    assert talk.holds(first) == "1,2,3"
    talk.solo(LONG)
    free = _free(talk)
    talk.play(f">> BGEN 0 9 [50..60]\n BGEN {free} 9 slot={free} [50..60]")
    assert talk.told("park") == []


def _free(talk: Transcript) -> int:
    """Return the lowest slot that is idle and holds nothing."""
    return next(
        slot.number for slot in talk.model.slots if slot.idle and not talk.holds(slot.number)
    )


def _filled(info: str, settings: SidecarSettings = OFF) -> Transcript:
    talk = Transcript(info, settings=settings)
    for number in range(4):
        talk.fill(number, f"{number + 1}0,2,3")
    return talk


def pad_rows() -> None:
    talk = _filled(GROUPS)
    talk.write(">>", b"BGEN 1 9 99,98\n")
    talk.write("<<", b"RESUME 0\nT 5\nDONE 1 2 1 1 length\nBADM 1 1\nBT 1 7\n")
    assert [bool(talk.holds(number)) for number in (0, 2, 3)] == [False, True, True]
    low = Transcript(GROUPS, settings=SidecarSettings(pad_rows="low"))
    assert [low.admit(number, f"{number + 1}0,2,3") % 2 for number in range(2)] == [0, 0]


def padding_safe() -> None:
    talk = _filled(SAFE)
    talk.write(">>", b"BGEN 1 9 99,98\n")
    talk.write("<<", b"RESUME 0\nT 5\nDONE 1 2 1 1 length\nBADM 1 1\nBT 1 7\nBT 1 8\n")
    assert all(talk.holds(number) for number in (0, 2, 3))
    solo = Transcript(SAFE)
    solo.solo(LONG)
    solo.play(">> GEN 9 park=1 1,2,3\n GEN 9 1,2,3")
    assert solo.told("park") == []


def parks() -> None:
    talk = Transcript(PARKS)
    talk.solo(LONG)
    talk.play(f">> GEN 9 1,2,3\n GEN 9 park=0 1,2,3\n<< PARKED 0 {HELD}\n<< RESUME 0")
    assert len(talk.slot(0).history) == HELD
    assert [told["how"] for told in talk.told("park")] == ["native"]


CHANGED_REPLY = LONG + ",1,2"
"""The conversation with its turn token, and a last turn that is not what the engine said."""


def turns() -> None:
    for info, parked in ((PARKS, 1), (TURNS, 0)):
        talk = Transcript(info)
        talk.solo(f"{LONG},9,5", "4 5")
        talk.write(">>", f"GEN 9 {_spelled(CHANGED_REPLY)}\n".encode())
        assert len(talk.told("park")) == parked
    told = Transcript(PARKS, settings=SidecarSettings(turn_token=9))
    told.solo(f"{LONG},9,5", "4 5")
    told.write(">>", f"GEN 9 {_spelled(CHANGED_REPLY)}\n".encode())
    assert told.told("park") == []


def _spelled(text: str) -> str:
    return text.replace("[100..9000]", ",".join(map(str, range(100, 9001))))


def checkpoints() -> None:
    talk = Transcript(TURNS)
    slot = talk.admit(3, "[1..40]")
    assert slot != 3
    talk.play(f"<< BCHECKS {slot} 40 10,30\n BCHECKS 3 40 10,30")
    talk.finish(slot)
    talk.play(f"<< BCHECKS {slot} 40 10 30\n BCHECKS 3 40 10 30")
    assert talk.slot(slot).checkpoints == (10, 30)
    talk.write(">>", b"BGEN 1 9 " + ",".join(map(str, range(1, 36))).encode() + b",99\n")
    assert talk.told("place")[-1]["hint"] == 30


def no_stop() -> None:
    talk = Transcript(None)
    talk.play(
        """
        << INFO batch_slots=4 slot_cache=1
        << READY 4096
        >> GEN 5 1,2,3
        >> STOP
        << RESUME 0
        << T 7
        """
    )
    assert talk.told("engine_ready") == [{"context": 4096, "stop": False}]
    gone = talk.sidecar.client_gone(1.0)
    assert b"STOP\n" not in gone.to_engine
    ended = talk.sidecar.from_engine(b"DONE 1 3 1.0 1.0 length\n", 2.0)
    assert (ended.to_engine, talk.sidecar.drained) == ([], True)


def frames() -> None:
    talk = Transcript(TURNS)
    assert talk.fill(3, "4,5,6") != 3  # so that a BSTOP that is read comes out with another number
    grammar = b"GENG1 20\nroot ::= x\nBSTOP 3\n!\nGEN 5 1,2,3\n"
    assert talk.write(">>", grammar) == grammar
    assert [told["verb"] for told in talk.told("place")][1:] == ["GEN"]
    talk.play("<< RESUME 0\n<< T 7\n<< DONE 1 3 1.0 1.0 stop")
    assert talk.main_holds() == "1,2,3"


def emulated() -> None:
    talk = parking()
    talk.act(
        f"""
        >> GEN 5 1,2,3
           > BGEN 0 2 {LONG},500
        << RESUME {HELD}
        << T 600
        << DONE 1 {HELD + 1} 1.0 1.0 length 0 0 {HELD}
        << BADM 0 1
           > BSTOP 0
        << BT 0 601
        << BDONE 0 2 length 3.0
           > GEN 5 1,2,3
        """
    )
    assert [told["how"] for told in talk.told("park")] == ["emulated"]


def later_versions() -> None:
    talk = Transcript(TURNS + " engine=0.9.0 something=new")
    talk.play(
        """
        << NEWS of an engine to come
        >> FRESHVERB 1 2
        << FRESHANSWER 2
        >> GEN 5 new_key=1 1,2,3
        << RESUME 0
        << T 7
        << DONE 1 3 1.0 1.0 stop 0 0 0 further fields=1
        """
    )
    assert talk.main_holds() == "1,2,3"
    assert talk.told("error") + talk.told("drift") == []


ROWS = (
    Row("no `batch_slots`", "relays and logs; nothing is decided, no line is changed", no_batch),
    Row(
        "`batch_slots`, no `slot_cache`",
        "gives every request a free slot; expects nothing of finished slots, parks nothing",
        batch_without_cache,
    ),
    Row(
        "and `slot_cache=1`, one group",
        "places requests by what slots hold; no parks",
        one_group,
    ),
    Row(
        "and `batch_groups` above 1",
        "as well, and counts what running slots cost idle slots below them in their group; "
        "`slotd.pad_rows` `low` keeps requests low",
        pad_rows,
    ),
    Row(
        "and `slot_padding_safe=1`",
        "counts on every idle slot again; a `park=` of the serve process is taken out",
        padding_safe,
    ),
    Row("and `slot_park=1`", "parks the main session with `park=`", parks),
    Row(
        "and `turn_token=`",
        "knows a conversation whose last reply came back changed, and does not park it for itself; "
        "`slotd.turn_token` does the same where `INFO` does not say it",
        turns,
    ),
    Row(
        "several checkpoints a slot (`BCHECKS`)",
        "expects a prompt to go on from the deepest one it shares; passes the line, mapped",
        checkpoints,
    ),
    Row(
        "no `stop` in `READY`",
        "passes a client's `STOP`; sends none itself: what a client leaves runs to its end",
        no_stop,
    ),
    Row(
        "grammar frames (`GENG1` to `GENG3`)",
        "passes the frame unread and takes the request after it like any other",
        frames,
    ),
    Row(
        "no `slot_park`, and `slotd.park` `emulated`",
        "parks by a request of its own, which the serve process does not see",
        emulated,
    ),
    Row(
        "versions to come",
        "passes lines, keys and fields it does not know as they are",
        later_versions,
    ),
)
