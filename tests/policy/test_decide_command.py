"""`slotd decide`, as a transcript: tables in, decisions out."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slotd.cli.decide import decide
from slotd.policy.json_fields import TableError
from slotd.policy.token_tables import table_from_tokens

ENGINE = {
    "batch_slots": 6,
    "batch_groups": 3,
    "slot_cache": True,
    "slot_padding_safe": True,
    "slot_park": True,
    "turn_token": 248045,
}


def slot(*tokens: Any, last_use: Any = 90.0, **facts: Any) -> dict[str, Any]:
    return {"tokens": list(tokens), "last_use": last_use, **facts}


def a_table(*slots: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """Return a table at 100 s: a side request while the main session holds 37,359 tokens."""
    said: dict[str, Any] = {
        "now": 100.0,
        "engine": ENGINE,
        "request": {"verb": "BGEN", "client_slot": 1, "prompt": [[900_000, 300]]},
        "main": {"tokens": [[1_000, 37_359]], "last_use": 97.0},
        "slots": [*slots, *[{}] * (6 - len(slots))],
    }
    return {**said, **facts}


def run(*lines: Any, arguments: tuple[str, ...] = ()) -> Result:
    text = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return CliRunner().invoke(decide, list(arguments), input=b"".join(b"%b\n" % t for t in text))


def answered(*tables: Any) -> list[Any]:
    result = run(*tables)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_side_request_takes_a_blank_slot_and_the_conversation_is_parked() -> None:
    assert answered(a_table()) == [
        {
            "slot": 0,
            "reason": "reclaim",
            "source": None,
            "hint": 0,
            "score": 1.0,
            "park": {"slot": 2, "reason": "reclaim"},
        }
    ]


def test_the_parked_conversation_continues_where_it_was_parked() -> None:
    turn = {"verb": "BGEN", "client_slot": 0, "prompt": [[1_000, 37_352], [600, 40]]}
    table = a_table({}, {}, slot([1_000, 37_352]), main=None, request=turn)
    (decision,) = answered(table)
    assert (decision["slot"], decision["reason"]) == (2, "continue")
    assert (decision["source"], decision["hint"], decision["park"]) == (2, 37_352, None)
    assert 0.5 < decision["score"] < 1


def test_a_solo_request_takes_no_slot() -> None:
    (decision,) = answered(a_table(request={"verb": "GEN", "prompt": [5, 6, 7]}))
    assert (decision["slot"], decision["reason"], decision["score"]) == (None, "solo", None)
    assert decision["park"] == {"slot": 0, "reason": "reclaim"}


@pytest.mark.parametrize("said", [{}, {"batch_slots": None}, {"batch_slots": 0}])
def test_without_batch_slots_there_is_nothing_to_place(said: dict[str, Any]) -> None:
    (decision,) = answered(a_table(engine=said))
    assert (decision["slot"], decision["reason"], decision["park"]) == (None, "none_idle", None)


def test_what_is_missing_has_its_default() -> None:
    said: dict[str, Any] = {
        "state": "idle",
        "valid": True,
        "images": False,
        "cvec": 1,
        "checkpoints": [],
    }
    spelled_out = a_table(
        slot([1, 9_000], **said),
        settings={"ttl_max_s": 120, "sibling_share": 0.98},
        prompt_rate=0,
    )
    assert table_from_tokens(a_table(slot([1, 9_000]))) == table_from_tokens(spelled_out)
    nothing: dict[str, Any] = dict.fromkeys(said)
    assert table_from_tokens(a_table(slot([1, 9_000], **nothing))) == table_from_tokens(spelled_out)


def test_flags_are_also_read_as_the_engine_writes_them() -> None:
    as_info = {**ENGINE, "slot_cache": 1, "slot_padding_safe": 1, "slot_park": 1}
    assert table_from_tokens(a_table(engine=as_info)) == table_from_tokens(a_table())


def test_ids_and_runs_say_the_same() -> None:
    written_out = a_table(slot(900_000, 900_001, 900_002, 5))
    in_runs = a_table(slot([900_000, 3], [7, 0], 5))
    assert table_from_tokens(written_out) == table_from_tokens(in_runs)
    assert table_from_tokens(in_runs).slots[0].shared == 3


def test_settings_change_the_decision() -> None:
    version = slot([900_000, 290], [50, 10], last_use=99.9)
    table = a_table(version)
    lower = {**table, "settings": {"sibling_share": 0.9}}
    assert [each["reason"] for each in answered(table, lower)] == ["reclaim", "sibling"]


def test_empty_lines_are_skipped_and_no_lines_are_no_error() -> None:
    assert len(answered(a_table(), b"", b"  \r", a_table())) == 2
    assert answered() == []


def test_a_bad_line_is_answered_in_its_place_and_the_others_are_decided() -> None:
    result = run(a_table(), a_table(slot(5, last_use="then")), a_table())
    wrong = "line 2: slots[0].last_use: is 'then': give a finite number"
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(answer) == ["error"] for answer in answers] == [False, True, False]
    assert answers[1] == {"error": wrong}
    assert result.stderr == f"slotd decide: {wrong}\n"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{", "line 1: not JSON at column 2: "),
        (b'{"now": \xff}', "line 1: not UTF-8 at byte 9"),
        (b"[" * 100_000, "line 1: not a table: lists nested too deep"),
        (b'{"now": %s}' % (b"1" * 5_000), "line 1: holds a number with too many digits"),
        (b"[1]", "line 1: is [1]: give a JSON object"),
        (b'{"now": NaN}', "line 1: now: is nan: give a finite number"),
        (b'{"now": 1%b}' % (b"0" * 400), "line 1: now: is beyond every float: give a finite "),
        (b"{}", "line 1: now: missing: give a finite number"),
    ],
)
def test_what_is_no_table_is_said_in_one_line(line: bytes, error: str) -> None:
    result = run(line)
    assert json.loads(result.stdout)["error"].startswith(error)
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"engine": None}, "engine: missing: give a JSON object"),
        ({"engine": {"batch_slots": True}}, "engine.batch_slots: is True: give a whole number"),
        ({"prompt_rate": -1}, "prompt_rate: is -1.0: give tokens a second, 0 or more"),
        ({"request": {"verb": ["GEN"]}}, "request.verb: is ['GEN']: give GEN, GENI, "),
        ({"request": {"verb": "GEN", "prompt": "1,2"}}, "request.prompt: is '1,2': give a list"),
        ({"request": {"verb": "GEN", "prompt": [1, -2]}}, "request.prompt[1]: is -2: give a token"),
        ({"main": {"tokens": [[1, 2, 3]]}}, "main.tokens[0]: is [1, 2, 3]: give a token id up to"),
        ({"main": {"tokens": [[2**31 - 1, 2]]}}, "main.tokens[0]: is [2147483647, 2]: give a "),
        ({"main": {"tokens": [1]}}, "main.last_use: missing: give a finite number"),
        ({"slots": [{}]}, "slots: 1 given, engine.batch_slots is 6: give one for each"),
        ({"slots": {}}, "slots: is {}: give a list"),
        ({"slots": [*[{}] * 5, 7]}, "slots[5]: is 7: give a JSON object"),
        ({"slots": [{"state": "free"}, *[{}] * 5]}, "slots[0].state: is 'free': give idle, busy "),
        ({"slots": [{"checkpoints": [1.5]}, *[{}] * 5]}, "slots[0].checkpoints: is [1.5]: give a "),
        ({"slots": [{"cvec": "1"}, *[{}] * 5]}, "slots[0].cvec: is '1': give a whole number"),
        ({"slots": [{"valid": "yes"}, *[{}] * 5]}, "slots[0].valid: is 'yes': give true or false"),
        ({"settings": []}, "settings: is []: give a JSON object"),
        ({"settings": {"ttl_max": 1}}, "settings: 'ttl_max' is none of ttl_max_s, "),
        ({"settings": {"ttl_max_s": "1"}}, "settings.ttl_max_s: is '1': give a finite number"),
        ({"settings": {"ttl_max_s": -1}}, "settings: ttl_max_s is -1.0: give a finite number, 0 "),
        ({"settings": {"park_kept_share": 2}}, "settings: park_kept_share is 2.0: give a share "),
    ],
)
def test_a_wrong_field_is_named(facts: dict[str, Any], error: str) -> None:
    with pytest.raises(TableError) as refused:
        table_from_tokens(a_table(**facts))
    assert str(refused.value).startswith(error)


def test_tables_are_read_from_a_file(tmp_path: Path) -> None:
    tables = tmp_path / "tables.jsonl"
    tables.write_text(json.dumps(a_table()))
    assert json.loads(run(arguments=(str(tables),)).stdout)["reason"] == "reclaim"


def test_a_file_that_is_missing_is_a_usage_error(tmp_path: Path) -> None:
    result = run(arguments=(str(tmp_path / "missing"),))
    assert result.exit_code == 2
    assert "missing" in result.stderr


def test_each_table_is_answered_before_the_next_is_written() -> None:
    command = [sys.executable, "-c", "from slotd.cli.decide import decide; decide()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(json.dumps(a_table()).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["slot"] == 0
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0
