"""Lines as they are passed on: slot numbers, keys, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import ClientOpaque
from slotd.core.numbering import Numbering
from slotd.core.rewriting import opaque_line
from slotd.core.sidecar import SidecarSettings
from tests.core.transcript import Transcript


def swapped(*, keep_client_keys: bool = False) -> Transcript:
    """Client number 2 means engine slot 0, and 0 means 2; slot 0 holds 7,8,9."""
    talk = Transcript(settings=SidecarSettings(keep_client_keys=keep_client_keys))
    talk.fill(2, "7,8,9")
    return talk


@pytest.mark.parametrize(
    ("wrote", "got"),
    [
        ("BT 0 5", "BT 2 5"),
        ("BT 2 5", "BT 0 5"),
        ("BT 1 5", "BT 1 5"),
        ("BT 0 5 more", "BT 2 5 more"),
        ("BT   0  5", "BT   2  5"),
        ("BDONE 0 4 stop 1.0 3 4", "BDONE 2 4 stop 1.0 3 4"),
        ("BADM 2 0", "BADM 0 0"),
        ("YIELDED 0 5", "YIELDED 2 5"),
        ("PARKED 0 5", "PARKED 2 5"),
        ("CACHE_SOURCE 0 5", "CACHE_SOURCE 2 5"),
        ("CACHE_SOURCE -1 5", "CACHE_SOURCE -1 5"),
        ("BCHECKS 0 5 1, 2", "BCHECKS 2 5 1, 2"),
        ("BT 7 5", "BT 7 5"),
        ("T 0", "T 0"),
        ("RESUME 0", "RESUME 0"),
        ("DONE 0 1 1.0 1.0 stop", "DONE 0 1 1.0 1.0 stop"),
        ("PP 0 1 1.0 1.0", "PP 0 1 1.0 1.0"),
        ("ERR 0", "ERR 0"),
        ("BT x 5", "BT x 5"),
    ],
)
def test_the_engines_lines_name_the_clients_numbers(wrote: str, got: str) -> None:
    talk = swapped()
    assert talk.write("<<", f"{wrote}\r\n".encode()) == f"{got}\r\n".encode()


def test_tokens_in_a_row_name_the_clients_numbers() -> None:
    talk = swapped()
    got = talk.write("<<", b"BT 0 5\nBT 2 6\nBT 9 7\nBT 1 8\nBT 0  9\nBT 0 10\n")
    assert got == b"BT 2 5\nBT 0 6\nBT 9 7\nBT 1 8\nBT 2  9\nBT 2 10\n"


@pytest.mark.parametrize(
    ("wrote", "got"),
    [
        ("BSTOP 2", "BSTOP 0"),
        ("BSTOP  2 x", "BSTOP  0 x"),
        ("BYIELD 0", "BYIELD 2"),
        ("BSTOP 9", "BSTOP 9"),
        ("STOP", "STOP"),
        ("VRAM 2", "VRAM 2"),
    ],
)
def test_the_clients_lines_name_the_engines_numbers(wrote: str, got: str) -> None:
    talk = swapped()
    assert talk.write(">>", f"{wrote}\r\n".encode()) == f"{got}\r\n".encode()


def test_a_decision_changes_the_slot_and_the_keys_and_not_one_byte_more() -> None:
    talk = Transcript()
    talk.solo("[100..9000]")
    wrote = b"BGEN 3  5 temperature=0.7\tcvec=1  1,2,3 extra\r\n"
    got = b"BGEN 0  5 temperature=0.7\tcvec=1 slot=0 park=1  1,2,3 extra\r\n"
    assert talk.write(">>", wrote) == got


def test_a_client_slot_and_park_are_replaced() -> None:
    talk = Transcript()
    talk.solo("[100..9000]")
    talk.play(">> BGEN 3 5 park=3 seed=1 slot=3 1,2,3\n BGEN 0 5 park=1 seed=1 slot=0 1,2,3")


def test_or_removed_where_nothing_takes_their_place() -> None:
    talk = swapped()
    talk.play(">> BGEN 3 5 park=3 1,2,3\n BGEN 1 5 slot=1 1,2,3\n<< ERR no")
    talk.play(">> GEN 5 slot=3 park=3 seed=1 1,2,3\n GEN 5 seed=1 1,2,3")


def test_the_slot_key_can_be_left_out() -> None:
    talk = Transcript(settings=SidecarSettings(slot_key=False))
    talk.play(">> BGEN 3 5 seed=1 slot=3 1,2,3\n BGEN 0 5 seed=1 1,2,3")


def test_the_clients_keys_can_be_kept_mapped() -> None:
    talk = swapped(keep_client_keys=True)
    talk.fill(0, "4,5,6")  # engine slot 1: number 1 means engine slot 2 now
    talk.solo("[100..9000]")
    talk.play(">> BGEN 3 5 park=1 seed=1 1,2,3\n BGEN 2 5 park=3 seed=1 slot=2 1,2,3")
    assert talk.told("park") == []
    assert not talk.slot(3).idle
    talk.play("<< ERR no\n>> BGEN 3 5 slot=2 1,2,3\n BGEN 2 5 slot=0 park=3 1,2,3")


def test_keys_that_are_no_numbers_are_kept_as_they_are() -> None:
    talk = swapped(keep_client_keys=True)
    talk.play(">> BGEN 2 5 park=x slot= 7,8,9,1\n BGEN 0 5 park=x slot= 7,8,9,1")


def test_a_busy_number_is_passed_mapped() -> None:
    talk = Transcript()
    assert talk.admit(2, "7,8,9") == 0
    talk.play(">> BGEN 2 5 park=1 slot=2 1,2,3\n BGEN 0 5 slot=0 1,2,3\n<< ERR not free")
    talk.play("<< BT 0 5\n BT 2 5\n<< BDONE 0 2 stop 1.0\n BDONE 2 2 stop 1.0")
    assert talk.holds(0) == "7,8,9,500"


def test_a_number_that_is_no_slot_is_passed_as_it_is() -> None:
    talk = Transcript()
    talk.play(">> BGEN 9 5 1,2,3\n<< ERR no such slot\n>> BGEN -1 5 1,2,3\n<< ERR no such slot")
    assert talk.told("place") == []


def test_with_the_policy_off_everything_passes_as_it_is() -> None:
    talk = Transcript(settings=SidecarSettings(policy_name="off"))
    talk.solo("[100..9000]")
    talk.play(
        """
        >> BGEN 3 5 park=1 slot=3 1,2,3
        << PARKED 1 8901
        << RESUME 0
        << T 5
        << DONE 1 3 1.0 1.0 length
        << BADM 3 1
        << BT 3 6
        << BDONE 3 2 stop 1.0
        """
    )
    assert talk.holds(3) == "1,2,3,5"
    assert len(talk.slot(1).history) == 8901
    assert talk.told("place") == []
    assert [told["slot"] for told in talk.told("admitted")] == [3]


def test_a_policy_turned_off_leaves_the_numbering_as_it_is() -> None:
    talk = swapped()
    talk.admit(3, "4,5,6")
    talk.sidecar.replace_settings(SidecarSettings(policy_name="off"))
    talk.play(">> BGEN 2 5 park=0 1,2,3\n BGEN 0 5 park=2 1,2,3\n<< BT 1 5\n BT 3 5")


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["admit", "token", "finish", "stop", "refuse"]), st.integers(0, 3)),
    max_size=40,
)


@settings(deadline=None)
@given(OPERATIONS)
def test_a_late_stop_reaches_an_idle_slot_or_its_own_numbers_request(
    operations: list[tuple[str, int]],
) -> None:
    talk = Transcript("batch_slots=4 slot_cache=1")
    running: dict[int, int] = {}  # engine slot -> the client's number, by what each side wrote
    conversation = 10
    for operation, number in operations:
        busy = sorted(running)
        if operation == "stop":
            sent = talk.write(">>", b"BSTOP %d\n" % number)
            assert running.get(int(sent.split()[1]), number) == number
        elif operation in ("admit", "refuse") and number not in running.values():
            conversation += 1
            talk.now += 1000
            sent = talk.write(">>", b"BGEN %d 9 %d,1,2\n" % (number, conversation))
            slot = int(sent.split()[1])
            assert slot not in running
            if operation == "refuse":
                talk.write("<<", b"ERR no\n")
                continue
            running[slot] = number
            lines = b"RESUME 0\nT 5\nDONE 1 3 1 1 length\nBADM %d 1\n" % slot
            assert talk.write("<<", lines).endswith(b"BADM %d 1\n" % number)
        elif operation == "token" and busy:
            slot = busy[number % len(busy)]
            assert talk.write("<<", b"BT %d 7\n" % slot) == b"BT %d 7\n" % running[slot]
        elif operation == "finish" and busy:
            slot = busy[number % len(busy)]
            told = b" %d stop 1.0\n" % talk.slot(slot).generated
            got = talk.write("<<", b"BDONE %d" % slot + told)
            assert got == b"BDONE %d" % running.pop(slot) + told
    assert talk.drifts() == []


@pytest.mark.parametrize("blanks", [1, 2, 58, 59, 60, 90])
def test_the_slot_of_an_admission_that_says_nothing_known_is_its_whole_number(blanks: int) -> None:
    numbering = Numbering(20)
    numbering.choose(1, 3)
    numbering.choose(12, 5)
    line = b"BGEN" + b" " * blanks
    assert opaque_line(numbering, ClientOpaque(line + b"12 x\n")) == (line + b"5 x\n", 5)
    assert opaque_line(numbering, ClientOpaque(line + b"1x 5\n")) == (line + b"1x 5\n", None)
