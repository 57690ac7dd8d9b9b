import base64
import json
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from slotd.core.events import Event
from slotd.record.files import RecordFiles
from slotd.record.lines import BLOCK, Entry, LineWriter, block_hashes
from slotd.record.reader import read_record, record_files, requests_of
from slotd.record.recorder import HELD_S, RequestRecorder
from slotd.replay.load import load_traffic
from slotd.workload.agents import agent_day
from slotd.workload.fields import TraceError
from slotd.workload.traffic import Traffic

SALT = b"salt"


def tokens(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.random.default_rng(seed).integers(1000, 200_000, count, dtype=np.int32)


def entry(number: int, blocks: list[bytes], prompt: int, at: float = 0.0) -> Entry:
    return Entry(number, at, "GEN", prompt, 5, None, tuple(blocks), end=1.0, finish="length")


def file_of(*entries: Entry) -> list[str]:
    lines = LineWriter.begin("label")
    return [lines.header(), *(lines.line(one) for one in entries)]


@given(st.integers(1, 400), st.integers(0, 400), st.integers(1, 400))
def test_blocks_are_equal_just_as_far_as_the_prompts_are(own: int, common: int, other: int) -> None:
    begin = tokens(1, common)
    one = np.concatenate([begin, tokens(2, own)])
    two = np.concatenate([begin, tokens(3, other)])
    mine, theirs = block_hashes(one, SALT), block_hashes(two, SALT)
    assert len(mine) == -(-len(one) // BLOCK)
    equal = [a == b for a, b in zip(mine, theirs, strict=False)]
    assert equal == [
        np.array_equal(one[: (at + 1) * BLOCK], two[: (at + 1) * BLOCK]) for at in range(len(equal))
    ]


def test_another_salt_gives_other_hashes() -> None:
    assert block_hashes(tokens(1, 64), b"a") != block_hashes(tokens(1, 64), b"b")


def test_the_record_holds_no_token_and_no_salt() -> None:
    prompt = np.full(200, 123_456, dtype=np.int32)
    text = "".join(file_of(entry(1, block_hashes(prompt, b"secret salt"), 200)))
    assert "123456" not in text
    assert "secret" not in text
    assert base64.b64encode(prompt.tobytes()[:24]).decode()[:16] not in text


def test_a_later_turn_refers_to_the_blocks_of_the_earlier_one() -> None:
    first = tokens(1, 640)
    second = np.concatenate([first, tokens(2, 100)])
    lines = file_of(
        entry(1, block_hashes(first, SALT), 640), entry(2, block_hashes(second, SALT), 740)
    )
    assert json.loads(lines[2])["like"] == [1, 10]
    read = list(requests_of(lines, "r"))
    assert read[1].blocks[:10] == read[0].blocks
    assert len(read[1].blocks) == 12


def test_a_torn_last_line_is_dropped() -> None:
    lines = file_of(*(entry(n, block_hashes(tokens(n, 70), SALT), 70) for n in (1, 2)))
    for cut in range(1, len(lines[2])):
        assert len(list(requests_of([*lines[:2], lines[2][:cut]], "r"))) == (
            2 if lines[2][:cut].endswith("\n") else 1
        )
    assert list(requests_of([lines[0][:-1]], "r")) == []
    assert list(requests_of([], "r")) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": -1}, "line 2: n is -1"),
        ({"at": None}, "line 2: at is null"),
        ({"prompt": "x"}, "line 2: prompt is 'x'"),
        ({"blocks": "!!"}, "line 2: blocks"),
        ({"blocks": ""}, "line 2: blocks"),
        ({"like": [9, 1]}, "line 2: like is"),
        ({"end": "late"}, "line 2: end is 'late'"),
        ({"end": -1}, "line 2: end is -1"),
        ({"end": float("nan")}, "line 2: end is nan"),
        ({"at": float("nan")}, "line 2: at is nan"),
        ({"at": float("inf")}, "line 2: at is inf"),
        ({"at": -1}, "line 2: at is -1"),
        ({"at": 1e300}, "line 2: at is 1e+300"),
        ({"prompt": 0, "blocks": ""}, "line 2: prompt is 0"),
        ({"out": 10**15}, "line 2: out is 1000000000000000"),
        ({"turn": 70}, "line 2: turn is 70, and must be less than prompt, 70"),
        ({"turn": 10**6}, "line 2: turn is 1000000"),
        ({"like": [1, -1]}, "line 2: like is [1, -1]"),
    ],
)
def test_a_malformed_line_is_named(change: dict[str, object], says: str) -> None:
    header, line = file_of(entry(1, block_hashes(tokens(1, 70), SALT), 70))
    broken = json.dumps({**json.loads(line), **change}) + "\n"
    with pytest.raises(TraceError) as caught:
        list(requests_of([header, broken], "r"))
    assert says in str(caught.value)


def test_a_line_nested_beyond_reason_is_named() -> None:
    with pytest.raises(TraceError, match="r, line 2: not JSON"):
        list(requests_of([*file_of(), "[" * 100_000 + "\n"], "r"))


def test_nothing_goes_on_from_a_prompt_with_pictures() -> None:
    prompt = tokens(1, 640)
    blocks = block_hashes(prompt, SALT)
    seen = entry(1, blocks, 640)
    plain, shown = (
        list(requests_of(file_of(evolve(seen, verb=verb), entry(2, blocks, 640)), "r"))
        for verb in ("BGEN", "BGENI")
    )
    assert plain[0].blocks == plain[1].blocks == shown[1].blocks
    assert not set(shown[0].blocks) & set(shown[1].blocks)


def test_prompts_with_different_control_vectors_share_no_block() -> None:
    prompt = tokens(1, 640)
    assert block_hashes(prompt, SALT, 1) == block_hashes(prompt, SALT)
    assert not set(block_hashes(prompt, SALT, 0)) & set(block_hashes(prompt, SALT))


def told(name: str, **fields: object) -> Event:
    return Event(name, "info", fields)  # type: ignore[arg-type]  # the tests' values are JSON


def solo_done(**fields: object) -> Event:
    return told("solo_done", request=1, prompt_ms=800, **fields)


def test_a_solo_request_is_recorded_with_its_times() -> None:
    recorder = RequestRecorder(SALT, begin=100.0)
    recorder.sent(1, "GEN", tokens(1, 300), None, 110.0)
    assert recorder.told([told("place", request=1, slot=None, client_slot=None)], 110.0) == []
    done = solo_done(reused=64, read=236, generated=9, finish="length", ms=2000)
    (found,) = recorder.told([done], 113.0)
    assert (found.at, found.queue, found.end) == (10.0, 1.0, 3.0)
    assert (found.prompt, found.out, found.reused, found.finish) == (300, 9, 64, "length")


def test_a_solo_requests_first_token_came_when_its_read_ended() -> None:
    recorder = RequestRecorder(SALT)
    recorder.sent(1, "GEN", tokens(1, 300), None, 0.0)
    fields = {"reused": 64, "read": 236, "generated": 9, "finish": "stop"}
    done = solo_done(ms=2000, **fields)
    (found,) = recorder.told([done], 3.0)
    assert (found.queue, found.end) == (1.0, 3.0)
    assert found.first == pytest.approx(1.8)


def test_a_read_that_was_cancelled_gave_no_first_token() -> None:
    recorder = RequestRecorder(SALT)
    prompt = tokens(1, 300)
    recorder.sent(1, "BGEN", prompt, None, 0.0)
    fields = {"prompt": 300, "reused": 0, "ms": 500}
    recorder.told([told("admitted", request=1, read=128, goes_on=False, **fields)], 1.0)
    recorder.sent(2, "BGEN", prompt, None, 1.0)
    recorder.told([told("admitted", request=2, read=300, goes_on=True, **fields)], 4.0)
    ended = told("slot_done", request=2, generated=7, finish="stop", ms=1)
    (found,) = recorder.told([ended], 5.0)
    assert (found.queue, found.first, found.out, found.legs) == (0.5, 4.0, 7, 2)


def test_a_request_the_engine_refused_is_recorded_and_nothing_to_replay() -> None:
    recorder = RequestRecorder(SALT)
    recorder.sent(1, "GEN", tokens(1, 300), None, 0.0)
    refused = told("error", where="engine", request=1, message="no")
    (found,) = recorder.told([refused], 1.0)
    assert (found.finish, found.out, found.end) == ("error", 0, 1.0)
    assert list(requests_of(file_of(found), "r")) == []
    assert recorder.close() == []


def test_a_request_that_moves_to_a_slot_is_one_entry() -> None:
    recorder = RequestRecorder(SALT)
    prompt = tokens(1, 300)
    recorder.sent(1, "GEN", prompt, None, 0.0)
    done = solo_done(reused=0, read=300, generated=9, finish="cancel", ms=900)
    assert recorder.told([done], 1.0) == []
    recorder.sent(2, "BGEN", np.concatenate([prompt, tokens(2, 9)]), None, 1.1)
    admitted = told("admitted", request=2, prompt=309, reused=308, read=1, ms=50, goes_on=True)
    assert recorder.told([told("place", request=2, slot=3, client_slot=0), admitted], 1.2) == []
    (found,) = recorder.told(
        [told("slot_done", request=2, generated=20, finish="stop", ms=500)], 2.0
    )
    assert (found.number, found.verb, found.prompt, found.legs) == (1, "GEN", 300, 2)
    assert (found.out, found.finish, found.slot, found.client_slot) == (29, "stop", 3, 0)
    assert found.reused == 0


CANCELLED = solo_done(reused=0, read=100, generated=3, finish="cancel", ms=900)
"""What is told of a request whose client went away."""


def test_a_cancelled_request_is_recorded_once_it_cannot_go_on() -> None:
    recorder = RequestRecorder(SALT)
    recorder.sent(1, "GEN", tokens(1, 100), None, 0.0)
    assert recorder.told([CANCELLED], 1.0) == []
    assert recorder.told([], 1.0 + HELD_S) == []
    (found,) = recorder.told([], 1.1 + HELD_S)
    assert (found.out, found.finish, found.end) == (3, "cancel", 1.0)


def test_what_is_held_back_is_handed_out_at_the_end() -> None:
    recorder = RequestRecorder(SALT)
    for number in (1, 2):
        recorder.sent(number, "GEN", tokens(number, 100), None, 0.0)
    recorder.told([CANCELLED], 1.0)
    assert [found.number for found in recorder.close()] == [1]


def test_files_are_rotated_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    files = RecordFiles(path, file_bytes=2000, files=3)
    for number in range(1, 60):
        files.write([entry(number, block_hashes(tokens(number, 640), SALT), 640, at=number)])
    files.close()
    there = record_files(path)
    assert [file.name for file in there] == [
        "requests.jsonl.2",
        "requests.jsonl.1",
        "requests.jsonl",
    ]
    assert all(file.stat().st_size < 2500 for file in there)
    assert path.stat().st_mode & 0o777 == 0o600
    arrivals = [request.arrival for request in read_record(path).requests]
    assert len(arrivals) > 10
    assert arrivals == sorted(arrivals)


def test_a_new_start_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    for number in (1, 2):
        files = RecordFiles(path)
        files.write([entry(number, block_hashes(tokens(number, 70), SALT), 70, at=number)])
        files.close()
    assert len(read_record(path).requests) == 2


def test_the_files_of_two_starts_follow_each_other_in_time(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    for began in (1_000_000.0, 1_040_000.0):
        files = RecordFiles(path, began=began)
        for number in (1, 2):
            hashes = block_hashes(tokens(number, 70), SALT)
            files.write([entry(number, hashes, 70, at=100.0 * number)])
        files.close()
    arrivals = [request.arrival for request in read_record(path).requests]
    assert arrivals == [0, 100, 40_000, 40_100]


@pytest.mark.parametrize("gap", ["requests.jsonl", "requests.jsonl.1", "requests.jsonl.2"])
def test_a_crash_between_two_renames_loses_no_file(gap: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    for number in range(1, 5):
        files = RecordFiles(path, began=1000.0 * number)
        files.write([entry(number, block_hashes(tokens(number, 70), SALT), 70)])
        files.close()
    (tmp_path / gap).unlink()
    (tmp_path / "requests.jsonl.old").write_text("somebody's notes\n")
    assert len(load_traffic(str(path)).requests) == 3
    files = RecordFiles(path)
    files.write([entry(9, block_hashes(tokens(9, 70), SALT), 70)])
    files.close()
    assert len(read_record(path).requests) == 4


def test_an_engine_that_dies_at_every_start_pushes_no_record_out(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    for start in range(12):
        files = RecordFiles(path)
        if start == 0:
            files.write([entry(1, block_hashes(tokens(1, 70), SALT), 70)])
        files.close()
    assert [file.name for file in record_files(path)] == ["requests.jsonl.1", "requests.jsonl"]


def test_many_short_starts_are_kept_and_the_bytes_bounded(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"

    def starts(count: int) -> list[Path]:
        for _ in range(count):
            files = RecordFiles(path, file_bytes=2_000, total_bytes=10_000)
            files.write([entry(1, block_hashes(tokens(1, 640), SALT), 640)])
            files.close()
        return record_files(path)

    assert len(starts(12)) == 12
    assert len(starts(60)) < 40
    assert sum(file.stat().st_size for file in record_files(path)) <= 10_000


def test_a_numbered_file_that_is_no_record_is_left_alone(tmp_path: Path) -> None:
    path, notes = tmp_path / "requests.jsonl", tmp_path / "requests.jsonl.2"
    notes.write_text("important\n")
    files = RecordFiles(path, files=3)
    files.write([entry(1, block_hashes(tokens(1, 70), SALT), 70)])
    files.close()
    with pytest.raises(OSError, match="something else") as caught:
        RecordFiles(path, files=3)
    assert caught.value.filename == str(notes)
    assert notes.read_text() == "important\n"
    assert not (tmp_path / "requests.jsonl.1").exists()


def test_what_a_crash_left_at_the_end_is_dropped_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    lines = file_of(entry(1, block_hashes(tokens(1, 70), SALT), 70))
    path.write_bytes("".join(lines).encode() + b'{"n":2,\xff\xfe\x00\x00')
    assert len(read_record(path).requests) == 1


def test_a_generated_day_survives_the_record(tmp_path: Path) -> None:
    day = agent_day(people=1, hours=0.5, seed=3)
    files = RecordFiles(tmp_path / "day")
    for number, request in enumerate(day.requests, 1):
        prompt = request.prompt.tokens()
        hashes = tuple(block_hashes(prompt, SALT))
        turn = request.prompt.last_turn()
        files.write(
            [
                Entry(
                    number, request.arrival, "GEN", len(prompt), request.output_length, turn, hashes
                )
            ]
        )
    files.close()
    read = read_record(tmp_path / "day")
    assert _shape(read) == _shape(day)
    assert [request.prompt.last_turn() for request in read.requests] == [
        request.prompt.last_turn() for request in day.requests
    ]
    for number, request in enumerate(day.requests):
        for earlier in range(number):
            before = day.requests[earlier]
            held = before.prompt_length + before.output_length - 1
            if request.prompt.shared(before.prompt + before.reply) >= held:
                twin = read.requests[earlier]
                whole = twin.prompt + twin.reply
                assert read.requests[number].prompt.shared(whole) >= held


def _shape(traffic: Traffic) -> list[tuple[int, int]]:
    return [(request.prompt_length, request.output_length) for request in traffic.requests]
