"""The project's policy and the plain one decide the same, at scale and on the smallest table."""

import multiprocessing
import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from slotd.policy.survey import MainState, RequestState, SlotState, Tokens, survey
from slotd.policy.table_json import read_engine, read_settings
from slotd.policy.token_tables import read_tokens, table_from_tokens
from tests.reference import plain_policy, plain_runs
from tests.reference.agreement import (
    NOTHING,
    Block,
    compare_block,
    differing,
    project_decision,
    told,
)
from tests.reference.random_tables import NOW, OWN_IDS, SeededChooser, random_table

Json = dict[str, Any]

BLOCKS, TABLES_A_BLOCK = 80, 2_500
WORKERS = max(2, os.cpu_count() or 2)
AT_LEAST = 500
PLACE_REASONS = {"continue", "spread", "sibling", "reclaim", "least_loss", "none_idle", "solo"}
PARK_REASONS = {"older", "sibling", "reclaim", "main_low_value", "kept", "no_slot", NOTHING}


# -- (a) at scale -----------------------------------------------------------------------------


def test_both_decide_200_000_random_tables_alike() -> None:
    whole = Block()
    # Spawned: a worker that is forked off a process with threads may hang.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=spawn) as workers:
        seeds = range(BLOCKS)
        for block in workers.map(compare_block, seeds, [TABLES_A_BLOCK] * BLOCKS):
            whole.add(block)
    if whole.differ:
        shortest = min(whole.differ, key=lambda table: len(str(table)))
        pytest.fail(f"{len(whole.differ)} tables differ, the shortest of them:{told(shortest)}")
    assert whole.place.total() == 200_000
    assert set(whole.place) == PLACE_REASONS
    assert set(whole.park) == PARK_REASONS
    rare = {
        (what, reason): count
        for what, counts in (("place", whole.place), ("park", whole.park))
        for reason, count in counts.items()
        if count < AT_LEAST
    }
    assert not rare, f"reasons that {AT_LEAST} tables do not reach: {rare}"


# -- (b) the smallest table -------------------------------------------------------------------


class DrawnChooser:
    """The choices of a table as Hypothesis drew them, a string of bytes for each part of the table.

    A choice takes the next byte of its part (three, when it is among more than 256), and is the
    plainest when there is none left. So making a byte smaller, or taking a slot's string out,
    changes that choice or that slot alone.
    """

    def __init__(self, drawn: bytes, slots: int, parts: Mapping[str, bytes]) -> None:
        self._drawn = drawn
        self._at = 0
        self._slots = slots
        self._parts = {name: DrawnChooser(part, slots, {}) for name, part in parts.items()}

    def integer(self, low: int, high: int) -> int:
        behind, self._at = self._at, self._at + (1 if high - low < 256 else 3)
        return low + int.from_bytes(self._drawn[behind : self._at], "big") % (high - low + 1)

    def shape(self, shapes: Sequence[tuple[int, int]]) -> tuple[int, int]:
        groups = sorted({shape[1] for shape in shapes if shape[0] == self._slots}) or [1]
        return self._slots, groups[self.integer(0, len(groups) - 1)]

    def part(self, name: str) -> "DrawnChooser":
        return self._parts[name]


def choices(count: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=count, max_size=count)


PARTS = {"main": choices(16), "request": choices(16)}
PARTS |= {f"family {family}": choices(16) for family in range(3)}


@st.composite
def tables(draw: st.DrawFn) -> Json:
    whole = draw(choices(44))
    parts = draw(st.fixed_dictionaries(PARTS))
    slots = draw(st.lists(choices(20), min_size=1, max_size=8))
    parts |= {f"slot {number}": drawn for number, drawn in enumerate(slots)}
    return random_table(DrawnChooser(whole, len(slots), parts))


# Without the phase that explains: it takes most of the time, and bytes explain nothing.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]


@settings(
    max_examples=600,
    phases=PHASES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(tables())
def test_both_decide_any_table_alike(table: Json) -> None:
    ours, plain = project_decision(table), plain_policy.decide(table)
    if differing(ours, plain):
        pytest.fail(told(table), pytrace=False)


def smallest_with_planted_difference() -> tuple[Json, str]:
    """Return the smallest table that gives a faulty sibling rule away, and what is told of it."""

    def sibling_or_equal(idle: list[Json], request: Json, settings: Json) -> Json | None:
        for slot in idle:
            if plain_policy.may_match(slot, request) and slot["shared"] == slot["length"]:
                return slot
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_policy, "sibling", sibling_or_equal)
        table = find(
            tables(),
            lambda table: bool(differing(project_decision(table), plain_policy.decide(table))),
            settings=settings(max_examples=3_000, phases=PHASES, deadline=None, database=None),
            random=random.Random(1),
        )
        return table, told(table)


def test_a_planted_difference_shrinks_to_one_slot_of_a_few_tokens() -> None:
    # In a process of its own: Hypothesis takes numbers to try from the modules that are loaded, and
    # with those of all the other tests it finds, and shrinks, another table.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as worker:
        table, words = worker.submit(smallest_with_planted_difference).result()
    (slot,) = table["slots"]
    assert plain_runs.length(plain_runs.runs_of(slot["tokens"])) <= 3
    assert table["settings"] == {}
    assert "reason: slotd.policy" in words
    assert "plain_policy sibling" in words
    assert "slot 0: idle" in words


# -- (c) the reclaim order, shared by place and park ------------------------------------------


def reclaims(tables: int, seed: int, ratio: float, **engine: int) -> list[Json]:
    """Tables where place reclaims a slot, nothing can be resumed, and the main session's is new.

    Nothing but the reclaim order decides about the park then: its history is worth more than any
    (60,000 tokens used just now), nobody holds any of it, and a row costs no other history.
    """
    choose = SeededChooser(seed)
    found: list[Json] = []
    while len(found) < tables:
        table = random_table(choose)
        table["engine"] |= {"slot_padding_safe": 1, "slot_park": 1, **engine}
        table["settings"] |= {
            "park_min_value": 0,
            "park_kept_share": 1,
            "park_value_ratio": ratio,
        }
        table["main"] = {
            "tokens": [[OWN_IDS + 900_000_000, 60_000]],
            "last_use": NOW,
            "images": 0,
            "cvec": 1,
        }
        table["request"]["verb"] = "BGEN"
        decision = project_decision(table)
        if decision["reason"] == "reclaim" and decision["source"] is None:
            found.append(table)
    return found


def solo(table: Json) -> Json:
    """The same table, with the request on the main session: no slot is an admission's."""
    return {**table, "request": {**table["request"], "verb": "GEN", "client_slot": None}}


def worth_keeping(table: Json, number: int) -> bool:
    settings = {**plain_policy.DEFAULTS, **table["settings"]}
    slot = plain_policy.read_slots(table, settings)[number]
    return plain_policy.worth_keeping(slot, settings)


def test_a_park_that_may_take_any_expired_history_takes_what_place_takes() -> None:
    for table in reclaims(1_500, seed=1, ratio=1e-9):
        placed = project_decision(table)["slot"]
        assert project_decision(solo(table))["park"] == {"slot": placed, "reason": "reclaim"}
        assert plain_policy.decide(solo(table))["park"]["slot"] == placed


def test_a_park_that_may_take_nothing_worth_keeping_takes_what_place_takes_or_nothing() -> None:
    kept = taken = 0
    for table in reclaims(1_500, seed=2, ratio=0):
        placed = project_decision(table)["slot"]
        parked = project_decision(solo(table))["park"]
        if worth_keeping(table, placed):  # then every reclaimable history is
            kept += 1
            assert parked == {"slot": None, "reason": "no_slot"}
        else:
            taken += 1
            assert parked == {"slot": placed, "reason": "reclaim"}
    assert kept >= 50
    assert taken >= 50


def test_the_park_beside_an_admission_takes_what_place_takes_after_it() -> None:
    # One group: a slot that is busy now loads no other, so only the order decides.
    taken = left = 0
    for table in reclaims(1_500, seed=3, ratio=1e-9, batch_groups=1):
        decision = project_decision(table)
        slots = [dict(slot) for slot in table["slots"]]
        slots[decision["slot"]]["state"] = "busy"
        following = project_decision({**table, "slots": slots})
        if following["reason"] == "reclaim":
            taken += 1
            assert decision["park"] == {"slot": following["slot"], "reason": "reclaim"}
        else:
            left += 1
            assert decision["park"] == {"slot": None, "reason": "no_slot"}
    assert taken >= 50
    assert left >= 50


# -- the token lists of a running engine ------------------------------------------------------


def ids(tokens: list[Any]) -> Tokens:
    return read_tokens(tokens, "").ids()


def test_arrays_of_ids_give_the_table_that_runs_give() -> None:
    choose = SeededChooser(4)
    for _ in range(400):
        table = random_table(choose)
        request, main = table["request"], table["main"]
        surveyed = survey(
            now=table["now"],
            engine=read_engine(table["engine"]),
            settings=read_settings(table["settings"]),
            prompt_rate=float(table["prompt_rate"]),
            request=RequestState(
                verb=request["verb"],
                client_slot=request["client_slot"],
                prompt=ids(request["prompt"]),
                cvec=request["cvec"],
                images=bool(request["images"]),
            ),
            main=None
            if main is None
            else MainState(
                tokens=ids(main["tokens"]),
                last_use=main["last_use"],
                images=bool(main["images"]),
                cvec=main["cvec"],
            ),
            slots=[
                SlotState(
                    state=slot["state"],
                    tokens=ids(slot["tokens"]),
                    last_use=slot["last_use"],
                    valid=slot["valid"],
                    images=bool(slot["images"]),
                    cvec=slot["cvec"],
                    checkpoints=tuple(slot["checkpoints"]),
                )
                for slot in table["slots"]
            ],
        )
        assert surveyed == table_from_tokens(table), told(table)
