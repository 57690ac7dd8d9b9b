"""B and C take turns past their protection while two clients generate and A lies parked.

Published in the policy's document, "Earlier GPU checks": tokens reused on turns 1-3 under three
orderings of expired histories. The two clients start and finish their 1,500-token answers
together. When both ask again, two fresh histories of 1.5K are still protected; one slot holds an
older one, and the second of the two new requests takes the expired history that is worth least.
"""

from typing import Literal

import pytest
from attrs import evolve

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.policy.decide import Decider, RetentionDecider
from slotd.policy.table import SlotRow, Table, protected, worth_keeping
from slotd.policy.table_json import table_from_json
from slotd.sim.timing import Timing
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.orderings import GroupLoadFirst, WaitingServe
from tests.scenarios.stage import SIX_SLOTS, Ask, Person, Stage

A, B, C = 37_000, 9_000, 7_900
ANSWER = 1_500
NEW = 20
"""Tokens of B's and C's each next turn that nobody holds: the reply's last and the message."""

GAP_S = 30
Reuse = Literal["nothing", "all but the new"]

NOTHING: tuple[Reuse, ...] = ("nothing",) * 3
ALL: tuple[Reuse, ...] = ("all but the new",) * 3

ACCEPTED = (ALL, NOTHING)
"""(B, C) on turns 1-3, one still worth keeping goes last: the accepted row."""

BY_LOAD_FIRST = (NOTHING, NOTHING)
"""By group load first (an earlier version)."""

WITH_A_WAIT = (ALL, ALL)
"""With the wait for a cheaper slot about to leave its protection (removed)."""

B_INSTEAD = (
    ("nothing", "nothing", "all but the new"),
    ("all but the new", "all but the new", "nothing"),
)
"""Where both clients ask again inside C's 10 s of protection, B goes (turns 1 and 2)."""

RUNS = [(25, 40), (28, 40), (36, 40), (50, 10)]
"""(tokens a second of each client, seconds from their start to B's first turn)."""


def reuse(reused: int, prompt: int) -> Reuse:
    if reused == 0:
        return "nothing"
    assert prompt - reused == NEW
    return "all but the new"


def take_turns(
    tok_s: float, begins: float, decider: Decider, waits: bool = False
) -> tuple[Stage, tuple[tuple[Reuse, ...], ...]]:
    """Play the run; return the reuse of B and of C on turns 1-3."""
    timing = Timing(window_ms=(1000 / tok_s,), solo_step_ms=1000 / tok_s)
    sidecar = Sidecar(SidecarSettings(), decider)
    serve = WaitingServe(sidecar) if waits else None
    stage = Stage(evolve(SIX_SLOTS, timing=timing), sidecar=sidecar, serve=serve)
    writer = Writer(2528)
    stage.ask(Conversation(writer).say(A), 100)

    def client() -> Person:
        after = 1.0
        while True:
            yield Ask(Conversation(writer).say(100), ANSWER, after)
            after = 0.0

    chats = {"B": Conversation(writer), "C": Conversation(writer)}
    seen: dict[str, list[Reuse]] = {name: [] for name in chats}

    def user() -> Person:
        after = 1.0 + begins
        for turn in range(4):
            for name, opening in (("B", B), ("C", C)):
                prompt = chats[name].say(NEW - 1 if turn else opening)
                answer = yield Ask(prompt, 20, after)
                chats[name].hear(answer.tokens)
                if turn:
                    seen[name].append(reuse(answer.reused, len(prompt)))
                after = GAP_S

    stage.play(user(), beside=[client(), client()])
    return stage, (tuple(seen["B"]), tuple(seen["C"]))


def given_up(stage: Stage) -> list[tuple[Table, SlotRow]]:
    """The histories still worth keeping that were overwritten, with the tables of the moment."""
    tables = [
        (table_from_json(event.fields["table"]), event.fields["slot"])
        for event in stage.told("place")
        if event.fields["reason"] in ("reclaim", "least_loss")
    ]
    rows = [(table, table.slots[slot]) for table, slot in tables if isinstance(slot, int)]
    return [(table, row) for table, row in rows if worth_keeping(table, row)]


@pytest.mark.parametrize(("tok_s", "begins"), RUNS)
def test_one_still_worth_keeping_goes_last_keeps_b_and_gives_c_up(
    tok_s: float, begins: float
) -> None:
    stage, seen = take_turns(tok_s, begins, RetentionDecider())
    assert seen == ACCEPTED
    assert [event.fields["tokens"] for event in stage.told("parked")] == [A + 99]
    lost = [table for table, row in given_up(stage) if C <= row.tokens < B]
    assert len(lost) >= 3
    for table in lost:
        # Both clients' last answers are fresh when C's history goes.
        kept = [row for row in table.slots if row.idle and protected(table, row)]
        assert sum(ANSWER <= row.tokens < ANSWER + 100 for row in kept) == 2


@pytest.mark.parametrize(("tok_s", "begins"), RUNS)
def test_by_group_load_first_gives_both_up(tok_s: float, begins: float) -> None:
    _, seen = take_turns(tok_s, begins, GroupLoadFirst())
    assert seen == BY_LOAD_FIRST


@pytest.mark.parametrize(("tok_s", "begins"), RUNS)
def test_waiting_for_a_cheaper_slot_keeps_both(tok_s: float, begins: float) -> None:
    _, seen = take_turns(tok_s, begins, RetentionDecider(), waits=True)
    assert seen == WITH_A_WAIT


def test_a_restart_inside_cs_protection_takes_b_instead_at_21_tok_s() -> None:
    stage, seen = take_turns(21, 40, RetentionDecider())
    assert seen == B_INSTEAD
    protections = [
        [other.age for other in table.slots if C <= other.tokens < B and protected(table, other)]
        for table, row in given_up(stage)
        if B <= row.tokens < A
    ]
    assert len(protections) == 2
    assert all(len(ages) == 1 and ages[0] < 10 for ages in protections)
