"""Following a log: growth, truncation, rotation, unfinished lines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slotd.logs.follow import LONGEST_LINE, follow, lines_of


class Nothing(Exception):  # noqa: N818 - no error: the test's sign that there is nothing new
    """There is nothing new, and the test has no more steps."""


def steps(*actions: Callable[[], object]) -> Callable[[], None]:
    """Return what to wait with: at every wait the next thing happens."""
    left = iter(actions)

    def wait() -> None:
        for action in left:
            action()
            return
        raise Nothing

    return wait


def seen(lines: Iterator[bytes]) -> list[bytes]:
    got: list[bytes] = []
    with pytest.raises(Nothing):
        got.extend(lines)  # keeps what came before the exception
    return got


def test_what_is_appended_comes_line_by_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"1\n2\n3 unfin")

    def append(data: bytes) -> None:
        with log.open("ab") as file:
            file.write(data)

    wait = steps(lambda: append(b"ish"), lambda: append(b"ed\n4\n"))
    assert seen(follow(log, wait)) == [b"1\n", b"2\n", b"3 unfinished\n", b"4\n"]


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old 1\nold 2\nhalf")
    wait = steps(lambda: log.write_bytes(b"new\n"))
    assert seen(follow(log, wait)) == [b"old 1\n", b"old 2\n", b"new\n"]


def test_a_rotated_file_is_read_to_its_end_first(tmp_path: Path) -> None:
    log, old = tmp_path / "log", tmp_path / "log.1"

    def rotate() -> None:
        log.rename(old)
        with old.open("ab") as file:
            file.write(b"2, late\n3 unfinished")
        log.write_bytes(b"4\n")

    log.write_bytes(b"1\n")
    lines = seen(follow(log, steps(rotate)))
    assert lines == [b"1\n", b"2, late\n", b"3 unfinished", b"4\n"]


def test_between_rotation_and_the_new_file_it_is_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"1\n")
    wait = steps(log.unlink, lambda: None, lambda: log.write_bytes(b"2\n"))
    assert seen(follow(log, wait)) == [b"1\n", b"2\n"]


def test_a_file_that_was_never_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        next(follow(tmp_path / "log", steps()))


def test_a_line_without_end_comes_in_pieces(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * (3 * LONGEST_LINE))
    pieces = seen(follow(log, steps()))
    assert pieces == [b"x" * LONGEST_LINE] * 3
    with log.open("rb") as file:
        assert list(lines_of(file)) == pieces


def test_lines_of_a_finished_file_include_its_unfinished_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"1\n\n2")
    with log.open("rb") as file:
        assert list(lines_of(file)) == [b"1\n", b"\n", b"2"]
