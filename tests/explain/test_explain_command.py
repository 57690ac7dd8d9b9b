"""`slotd explain` on a log the real sidecar wrote."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from slotd.cli.explain import WIDTH
from slotd.explain.explanation import explain
from slotd.explain.log import find
from slotd.explain.screen import screen
from slotd.logs.records import read_record
from slotd.policy.settings import DEFAULTS
from tests.explain import story
from tests.explain.logs import lines, place_event, run, shown
from tests.policy.builders import matching, row, table

REQUESTS = range(story.LONG, story.GOES_ON + 1)


def test_a_spread_from_its_table_to_what_came_of_it() -> None:
    assert (
        shown(story.log(), "--request", str(story.NEXT_TURN))
        == """\
Request 4  BGEN of 37,560 tokens for client slot 3   2026-01-31T12:00:20.000Z
Engine     4 slots in 2 groups of 2, slot_cache, slot_padding_safe, slot_park; prompt rate 2,664
           tok/s
Settings   the defaults
Resumes    37,359 tokens from slot 0

slot client state tokens shared  match   age ttl left    value load
   0      0 idle  37,359 37,359 37,359 6.0 s   45.0 s    0.670    1 resumed from; protected
   1      2 busy     300      -      - 0.0 s        -        -    1
   2      1 idle   9,001      -      - 1.0 s   10.5 s    0.188    0 protected
   3      3 idle       -      -      -     -        -        -    0 CHOSEN; blank (empty)
main                 300      -      - 2.0 s        - 0.000118    -

Place  slot 3, spread: blank, in a less loaded group; the engine copies the history of slot 0 there
  1 continue / spread: decided
    The longest match is 37,359 tokens, slot 0. Near sources are at most 4,096 tokens below it: the
    most of 747 (2% of it), 2,664 (1 s of the prompt rate) and 4,096.
    Candidates are the near sources and the blank idle slots whose load is below every near
    source's; taken is the lowest load, then a source before a blank, the longest match, the
    spreading order.
    > slot 3  blank (empty), load 0              taken
      slot 0  near source, match 37,359, load 1  more load: 1, slot 3 has 0
    - slot 2  holds another conversation

Park  no park: worth 0.000118, less than park_min_value 0.01
  1 main_low_value: decided
    The main session holds 300 tokens of another conversation: the prompt shares 0 of them, not all
    300 tokens it holds.
    Last used 2.0 s ago it is worth 0.000118, less than park_min_value 0.01.

What came of it
  12:00:20.500  cache_source  the engine restored 37,359 tokens from slot 0
  12:00:20.500  admitted      in slot 3: reused 37,359 of 37,560 tokens (99.4%), read 201, in 520 ms
"""
    )


def test_a_park_and_what_another_setting_would_have_done() -> None:
    log, request = story.log(), str(story.PARKS)
    told = shown(log, "--request", request, "--what-if", "park_min_value=0.1")
    assert told.endswith("""\
Place  no slot, solo: a solo request runs on the main session and takes no slot

Park  reclaim: into slot 0, blank (superseded), the one missed least
  1 main_low_value: no
    The main session holds 5,001 tokens of another conversation: the prompt shares 0 of them, not
    all 5,001 tokens it holds.
    Last used 1.6 s ago it is worth 0.0815, not less than park_min_value 0.01.
  2 kept: no
    No slot, busy or idle, holds a valid history that begins with 98% of it.
  3 older: no
    No idle history is the start of the main session's.
  4 sibling: no
    No idle history shares 98% of its length with the main session's.
  5 reclaim: decided
    The slot missed least, by the order place reclaims in. A history worth keeping counts only where
    the main session's is worth 2 times as much; a protected one never.
    > slot 0  blank (superseded), load 1      taken
    - slot 2  protected for 6.5 s more

What came of it
  12:00:24.000  park       a park into slot 0 asked for (native)
  12:00:24.100  parked     5,001 tokens are in slot 0, in 100 ms
  12:00:24.100  solo_done  reused 0 of 1,000 tokens (0%), read 1,000, generated 2 (finish stop, in
                           440 ms)

WHAT IF  park_min_value = 0.1 (logged: 0.01)
  Instead of no slot (solo), park in slot 0 (reclaim):
  no slot (solo), no park (main_low_value).

Park  no park: worth 0.0815, less than park_min_value 0.1
  1 main_low_value: decided
    The main session holds 5,001 tokens of another conversation: the prompt shares 0 of them, not
    all 5,001 tokens it holds.
    Last used 1.6 s ago it is worth 0.0815, less than park_min_value 0.1.
""")


def test_a_read_that_gave_way_is_told_in_two_decisions() -> None:
    told = shown(story.log(), "--request", str(story.READ))
    assert "Request 8  GEN of 60,000 tokens " in told
    assert "Request 8  BYIELD of 60,000 tokens for client slot 1 " in told
    assert "Place  slot 2, least_loss: the least loss, 0.0697, taken at once" in told
    assert "Park  nothing to park: the read that gives way is in the main session" in told
    assert "yielded    the read gave way: 20,480 tokens are kept in slot 2" in told


def test_the_read_goes_on_where_its_part_is() -> None:
    told = shown(story.log())
    assert told == shown(story.log(), "--last") == shown(story.log(), "--request", "9")
    assert "Place  slot 2, continue: the slot keeps the part read before the read gave way" in told
    assert "1 goes on: decided" in told
    assert "error  engine: the engine answered request 9 with ERR" in told


def test_drift_is_told_with_what_was_corrected() -> None:
    told = shown(story.log(), "--request", str(story.RETURNS))
    assert "drift      resume: expected 5,001, the engine said 0; corrected: slot 0" in told
    assert "expected to resume 5,001" in told


@pytest.mark.parametrize("request_number", REQUESTS)
def test_every_decision_of_the_sidecar_is_explained_by_the_rules(request_number: int) -> None:
    told = shown(
        story.log(), "--request", str(request_number), "--what-if", "ttl_max_s=0", "--what-if",
        "sibling_share=0",
    )  # fmt: skip
    assert "The log says" not in told
    assert "WHAT IF  ttl_max_s = 0 (logged: 120), sibling_share = 0 (logged: 0.98)" in told
    assert max(map(len, told.splitlines())) <= WIDTH
    assert "\x1b" not in told


def test_several_settings_count_together_and_one_that_changes_nothing_says_so() -> None:
    told = shown(story.log(), "--request", "1", "--what-if", "park_kept_share=0.5")
    assert told.endswith(
        "WHAT IF  park_kept_share = 0.5 (logged: 0.98)\n"
        "  The same: slot 0 (reclaim), nothing to park.\n"
    )


def test_another_policys_decision_is_said_to_be_one() -> None:
    event = place_event(table(matching(0, 40_000)), slot=5, reason="expected_loss")
    told = " ".join(shown(lines(event)).split())
    assert "The log says slot 5 (expected_loss), nothing to park; with its table and" in told
    assert "these rules give slot 0 (continue), nothing to park. Another policy" in told


def test_what_a_policy_that_learns_expected_is_beside_the_slots() -> None:
    expected: dict[str, Any] = {"losses": [11.5, 0, 0, 0, 0, 0], "chances": [0.25, 0, 0, 0, 0, 0]}
    of = table(row(0, 40_000))
    told = shown(lines(place_event(of, slot=5, **expected)))
    assert "protected; loss 12, returns 25%" in told
    said = " ".join(told.split())
    assert (
        "A policy that learns decided: slot 5 (reclaim), nothing to park. Slot 5 is blank:" in said
    )
    assert "give slot 2 (reclaim)," in " ".join(told.split())
    alike = " ".join(shown(lines(place_event(of, **expected))).split())
    assert "The published rules, told below, give the same." in alike


def test_json_holds_what_the_screen_shows() -> None:
    arguments = ("--request", str(story.NEXT_TURN), "--what-if", "ttl_max_s=0", "--json")
    told = json.loads(shown(story.log(), *arguments))
    assert (told["request"], told["verb"], told["agrees"]) == (4, "BGEN", True)
    assert told["logged"]["slot"] == told["decision"]["slot"] == 3
    assert told["decision"]["reason"] == "spread"
    assert told["client_slots"] == {"0": 0, "1": 2, "2": 1, "3": 3}
    assert told["table"]["slots"][0]["match"] == 37_359
    [rule] = told["place"]["rules"]
    assert rule["candidates"][1]["why"] == "more load: 1, slot 3 has 0"
    assert [each["event"] for each in told["outcome"]] == ["cache_source", "admitted"]
    assert told["what_if"]["settings"] == {"ttl_max_s": 0}
    assert told["what_if"]["changes_the_decision"] is False
    assert told["what_if"]["slots"][0] == {
        "slot": 0,
        "was": "protected, value 0.670, 45.0 s left",
        "now": "expired, worth keeping, value 0.184",
    }


def test_json_has_a_line_for_each_decision() -> None:
    printed = shown(story.log(), "--request", str(story.READ), "--json").splitlines()
    assert [json.loads(line)["verb"] for line in printed] == ["GEN", "BYIELD"]


def journal(log: bytes) -> bytes:
    """Return a log as `journalctl -o json --all` has it: every field is text, the table JSON."""
    exported = []
    for line in log.splitlines():
        record: dict[str, Any] = json.loads(line)
        clock = record["ts"]
        micros = (int(story.STARTED) + int(clock[17:19])) * 1_000_000 + int(clock[20:23]) * 1_000
        entry = {"_SOURCE_REALTIME_TIMESTAMP": str(micros), "PRIORITY": "6", "MESSAGE": "x"}
        for name, value in record.items():
            if name not in ("ts", "level"):
                text = value if isinstance(value, str) else json.dumps(value)
                entry[f"SLOTD_{name.upper()}"] = text
        exported.append(json.dumps(entry).encode() + b"\n")
    return b"".join(exported)


@pytest.mark.parametrize("request_number", REQUESTS)
def test_the_journals_export_says_the_same(request_number: int) -> None:
    arguments = ("--request", str(request_number))
    assert shown(journal(story.log()), *arguments) == shown(story.log(), *arguments)


def test_a_journal_export_without_long_fields_says_what_to_do() -> None:
    exported = [json.loads(line) for line in journal(story.log()).splitlines()]
    short = b"".join(
        json.dumps({**entry, "SLOTD_TABLE": None}).encode() + b"\n" for entry in exported
    )
    result = run(short)
    assert result.exit_code == 1
    assert "export the journal with `journalctl -o json --all`" in result.output


def test_other_lines_in_a_log_are_passed_over() -> None:
    noise = b"engine: loading\n\xff\xfe\n{}\n[1]\n" + b'{"event": 3}\n{"event": "place"}\n'
    assert shown(noise + story.log() + b'{"event":"pla') == shown(story.log())


def test_no_token_of_a_prompt_is_told() -> None:
    told = "".join(shown(story.log(), "--request", str(number)) for number in REQUESTS)
    for token in (100_000, 137_351, 200_000, 500_000, 800_000):
        assert str(token) not in told.replace(",", "")


def test_a_terminal_gets_colours_and_no_more_columns_than_it_has() -> None:
    records = [read for line in story.log().splitlines() if (read := read_record(line))]
    [logged] = find(records, story.NEXT_TURN)
    console = Console(force_terminal=True, color_system="standard", width=80)
    with console.capture() as captured:
        console.print(screen(explain(logged, dict(DEFAULTS))))
    told = captured.get()
    assert "\x1b[1;32m" in told  # the slot that was taken, bold and green
    plain = Console(width=80)
    with plain.capture() as captured:
        plain.print(screen(explain(logged, dict(DEFAULTS))))
    assert max(map(len, captured.get().splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["LOG", "--request", "77"], 1, "no decision about request 77 in this log: from 1 to 9"),
        (["/dev/null"], 1, "/dev/null: no decision in this log: it has no place event"),
        (["LOG", "--what-if", "ttl=1"], 2, "--what-if: unknown setting 'ttl': give one of ttl_max"),
        (["LOG", "--what-if", "ttl_max_s=-1"], 2, "--what-if: ttl_max_s is '-1': give a finite"),
        (["LOG", "--what-if", "ttl_max_s"], 2, "--what-if: 'ttl_max_s' sets nothing"),
        (["LOG", "--request", "one"], 2, "'one' is not a valid integer"),
        (["LOG", "--last", "--request", "1"], 2, "--last and --request: give one of them"),
        (["/nowhere/log"], 2, "/nowhere/log: cannot be read: No such file or directory"),
        (["/"], 2, "/: cannot be read: Is a directory"),
        ([], 2, "Missing argument 'LOG'"),
    ],
)
def test_errors_are_one_line(arguments: list[str], status: int, says: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(story.log())
    given = [str(log) if argument == "LOG" else argument for argument in arguments]
    command = [sys.executable, "-c", "from slotd.cli.main import main; main()", "explain", *given]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == status
    assert ended.stdout == ""
    assert says in ended.stderr
    assert ended.stderr.count("\n") == 1
