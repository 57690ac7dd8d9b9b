"""The README's table of engines again, in front of the reference engine.

Lives here: one conversation for each row that the reference engine can show, what is to be seen of
it on the lines, in slotd's log and in the engine's ledger, and why a row has none. Must not live
here: the rows themselves (`engines`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.clients.levels import ACTIVE_ROWS, CHECKPOINTS, GROUPS, clean_environment
from tests.clients.reference import TURN, engine_command, expected_tokens
from tests.clients.slotd import alarms, behind_slotd, named, read_log
from tests.compatibility.engines import ROWS
from tests.faults.talk import talking

Tokens = tuple[int, ...]

FIRST: Tokens = tuple(range(1000, 1060))
OTHER: Tokens = tuple(range(2000, 2040))
THIRD: Tokens = tuple(range(3000, 3020))
REPLY = 3
HELD = len(FIRST) + REPLY - 1
"""What a state holds of `FIRST` and its reply: all but the last token."""
PARKS = {"STRATA_SLOT_PARK_MIN_VALUE": "0"}
"""Parks are worth it at any length."""
FOUR = ("--batch", "4")


def answered(prompt: Tokens, *more: int) -> Tokens:
    """The prompt, its reply, and what comes after it."""
    return prompt + expected_tokens(prompt, REPLY) + more


def solo(prompt: Tokens, keys: str = "") -> tuple[str, str]:
    """A solo request, and the line it ends with."""
    return f"GEN {REPLY} {keys}{_ids(prompt)}", "DONE"


def batch(slot: int, prompt: Tokens) -> tuple[str, str]:
    """A request in a slot, and the line it ends with."""
    return f"BGEN {slot} {REPLY} {_ids(prompt)}", f"BDONE {slot}"


def _ids(prompt: Tokens) -> str:
    return ",".join(map(str, prompt))


@frozen
class Seen:
    """What there was to see of a conversation."""

    said: Sequence[str]
    heard: Sequence[str]
    events: list[dict[str, Any]]
    ledger: list[dict[str, Any]]
    """The reference engine's own account, a row a request."""

    def resumed(self) -> tuple[int, int]:
        """From how many tokens and which slot the engine went on at the last request."""
        return self.ledger[-1]["resume"], self.ledger[-1]["source"]

    def said_to_expect(self) -> int:
        """From how many tokens slotd took the engine to go on at the last request."""
        hint: int = named(self.events, "place")[-1]["hint"]
        return hint


def no_batch(seen: Seen) -> None:
    assert named(seen.events, "place") == []
    assert seen.ledger[0]["keys"] == {"park": "2", "slot": "1"}
    assert seen.ledger[0]["bytes"] == len(seen.said[0]) + 1
    assert seen.heard[-1].startswith("ERR")


def batch_without_cache(seen: Seen) -> None:
    assert seen.said_to_expect() == 0
    assert seen.resumed() == (0, -1)
    assert named(seen.events, "park") + named(seen.events, "park_skip") == []


def one_group(seen: Seen) -> None:
    chosen = named(seen.events, "place")[-1]
    assert (chosen["reason"], chosen["hint"]) == ("continue", HELD)
    assert seen.resumed() == (HELD, chosen["slot"])
    assert named(seen.events, "park") == []


def pad_rows(seen: Seen) -> None:
    # It had been in engine slot 0, below one that ran in its group. Had slotd believed in it, what
    # the engine said would have been a drift.
    assert seen.resumed() == (0, -1)


def padding_safe(seen: Seen) -> None:
    assert seen.resumed() == (HELD, 0)


def parks(seen: Seen) -> None:
    told = named(seen.events, "park")[0]
    assert told["how"] == "native"
    assert f"PARKED {told['slot']} {HELD}" in seen.heard
    assert seen.ledger[1]["parked"] == {"park": told["slot"], "used": True, "tokens": HELD}
    assert seen.resumed() == (HELD, told["slot"])


def turns(seen: Seen) -> None:
    # The last reply came back changed: not another conversation.
    assert named(seen.events, "park") == []
    assert seen.ledger[-1]["parked"] is None
    assert named(seen.events, "engine_info")[0]["turn_token"] == TURN


def checkpoints(seen: Seen) -> None:
    at = len(FIRST)
    assert seen.said_to_expect() == at
    assert seen.resumed()[0] == at
    assert seen.ledger[-1]["how"] == "slot checkpoint"
    # Whatever slot the engine has it in, the client hears its own number of it.
    assert any(line.startswith(f"BCHECKS 3 {at + 2} {at}") for line in seen.heard)


def no_stop(seen: Seen) -> None:
    assert [event["stop"] for event in named(seen.events, "engine_ready")] == [False]
    assert named(seen.events, "solo_done")[0]["generated"] == REPLY


def later_versions(seen: Seen) -> None:
    assert named(seen.events, "engine_info")[0]["engine"] == "0.9.0"
    assert seen.ledger[0]["keys"]["new_key"] == "1"
    assert [line.split()[0] for line in seen.heard].count("ERR") == 1


@frozen
class Shown:
    """A conversation that shows a row: each request is sent when the one before has ended."""

    options: tuple[str, ...]
    variables: Mapping[str, str]
    lines: Sequence[tuple[str, str]]
    check: Callable[[Seen], None]
    slotd: tuple[str, ...] = ()


SIDE = [batch(0, FIRST), batch(1, OTHER), solo(THIRD), batch(2, answered(FIRST, 7))]
"""A conversation, two others, and the first one goes on."""
SAFE = ACTIVE_ROWS | PARKS
OFF = ("--policy", "off")
TURNED = (*FIRST, TURN, 5)

SHOWN = {
    "no_batch": Shown(
        (), {}, [solo(FIRST, "park=2 slot=1 "), (batch(0, OTHER)[0], "ERR")], no_batch
    ),
    "batch_without_cache": Shown((*FOUR, "--no-slot-cache"), {}, SIDE, batch_without_cache),
    "one_group": Shown(FOUR, {}, SIDE, one_group),
    "pad_rows": Shown((*FOUR, "--batch-groups", "2"), {}, SIDE, pad_rows, OFF),
    "padding_safe": Shown((*FOUR, "--batch-groups", "2"), SAFE, SIDE, padding_safe, OFF),
    "parks": Shown(GROUPS, SAFE, [solo(FIRST), solo(OTHER), solo(answered(FIRST, 7))], parks),
    "turns": Shown(GROUPS, SAFE, [solo(TURNED), solo((*TURNED, 8, 9, 10))], turns),
    "checkpoints": Shown(
        GROUPS,
        SAFE | CHECKPOINTS,
        [batch(0, THIRD), batch(3, TURNED), solo(OTHER), batch(1, (*FIRST, TURN, 6, 6))],
        checkpoints,
    ),
    "no_stop": Shown((*FOUR, "--no-stop"), {}, [("STOP", ""), solo(FIRST)], no_stop),
    "later_versions": Shown(
        (*FOUR, "--version", "0.9.0"),
        {},
        [solo(FIRST, "new_key=1 "), ("FRESHVERB 1 2", "ERR")],
        later_versions,
    ),
}
"""By the name of a row's own check."""

NOT_SHOWN = {
    "frames": "the reference engine takes no grammars",
    "emulated": "shown by tests.emulated_park.test_on_the_reference_engine",
}


@pytest.mark.parametrize("name", SHOWN)
async def test_the_reference_engine_shows_it(name: str, tmp_path: Path) -> None:
    shown = SHOWN[name]
    log, ledger = tmp_path / "log", tmp_path / "ledger"
    engine = engine_command(*shown.options, "--ledger", str(ledger))
    command = behind_slotd(engine, log, *shown.slotd)
    environment = clean_environment() | dict(shown.variables)
    async with talking(command, environment, tmp_path / "errors") as talk:
        await talk.until(b"READY")
        for line, ends in shown.lines:
            await talk.say(f"{line}\n".encode())
            if ends:
                await talk.until(ends.encode())
        talk.check_tokens()
        assert await talk.end() == 0
    events = read_log(log)
    assert [event for event in alarms(events) if event.get("where") != "engine"] == []
    shown.check(
        Seen(
            [line for line, _ in shown.lines],
            [line.decode().strip() for line in talk.heard],
            events,
            [json.loads(row) for row in ledger.read_text().splitlines()],
        )
    )


def test_every_row_is_shown_or_says_why_not() -> None:
    assert {row.check.__name__ for row in ROWS} == SHOWN.keys() | NOT_SHOWN.keys()
