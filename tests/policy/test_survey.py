from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from protocol.tokens import TokenIds
from slotd.policy.runs import Runs
from slotd.policy.settings import PolicySettings
from slotd.policy.survey import (
    MainState,
    RequestState,
    SlotState,
    Tokens,
    last_turn,
    shared_start,
    survey,
)
from slotd.policy.table import EngineShape, Table
from tests.policy.builders import SIX_IN_THREE

NOW = 1_000.0


def ids(*tokens: int) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def slot(*tokens: int, **facts: Any) -> SlotState:
    said: dict[str, Any] = {"state": "idle", "last_use": NOW, **facts}
    return SlotState(tokens=ids(*tokens), **said)


def surveyed(
    *slots: SlotState,
    prompt: tuple[int, ...] = (1, 2, 3, 4, 5, 6),
    main: MainState | None = None,
    engine: EngineShape = SIX_IN_THREE,
) -> Table:
    return survey(
        now=NOW,
        engine=engine,
        settings=PolicySettings(),
        prompt_rate=0.0,
        request=RequestState("BGEN", 0, ids(*prompt)),
        main=main,
        slots=slots,
    )


def superseded(*slots: SlotState, **facts: Any) -> list[int]:
    return [row.slot for row in surveyed(*slots, **facts).slots if row.superseded]


def test_shared_is_counted_with_the_prompt_and_the_main_session() -> None:
    main = MainState(ids(1, 2, 9), NOW - 5)
    of = surveyed(slot(1, 2, 3), slot(1, 2, 9, 9), slot(), slot(7), main=main)
    assert [row.shared for row in of.slots] == [3, 2, 0, 0]
    assert [row.shared_main for row in of.slots] == [2, 3, 0, 0]
    assert [row.tokens for row in of.slots] == [3, 4, 0, 1]
    assert of.main is not None
    assert (of.main.tokens, of.main.shared, of.main.age) == (3, 2, 5)
    assert of.request.prompt == 6


def test_age_is_never_negative() -> None:
    of = surveyed(slot(1, last_use=NOW + 3), slot(1, last_use=NOW - 3))
    assert [row.age for row in of.slots] == [0, 3]


def test_what_the_slots_say_is_kept() -> None:
    said = slot(1, 2, state="yielded", valid=False, images=True, cvec=0, checkpoints=(1,))
    row = surveyed(said).slots[0]
    assert (row.state, row.valid, row.images, row.cvec, row.checkpoints) == (
        "yielded",
        False,
        True,
        0,
        (1,),
    )


def test_superseded_is_a_proper_prefix_of_another_history() -> None:
    assert superseded(slot(1, 2), slot(1, 2, 3), slot(1, 9), slot(8, 2)) == [0]


def test_superseded_follows_a_chain() -> None:
    assert superseded(slot(8, 8), slot(8, 8, 8), slot(8), slot(9, 8)) == [0, 2]


@pytest.mark.parametrize("state", ["busy", "yielded"])
def test_superseded_by_busy_slots_whatever_their_cvec(state: str) -> None:
    assert superseded(slot(8), slot(8, 9, state=state, cvec=0)) == [0]


@pytest.mark.parametrize("facts", [{"valid": False}, {"images": True}])
def test_superseded_by_valid_histories_only(facts: dict[str, bool]) -> None:
    assert superseded(slot(8), slot(8, 9, **facts)) == []
    assert superseded(slot(8, **facts), slot(8, 9)) == []


def test_an_empty_slot_supersedes_nothing_and_is_not_superseded() -> None:
    assert superseded(slot(), slot(8), slot()) == []


def test_of_equal_histories_all_but_the_most_recently_used_are_superseded() -> None:
    assert superseded(
        slot(8, 9, last_use=NOW - 9), slot(8, 9, last_use=NOW - 1), slot(8, 9, last_use=NOW - 5)
    ) == [0, 2]


def test_of_equally_recent_ones_all_but_the_lowest_slot() -> None:
    assert superseded(slot(7), slot(8, 9), slot(8, 9), slot(8, 9)) == [2, 3]


def test_the_main_session_supersedes_nothing() -> None:
    assert superseded(slot(8), main=MainState(ids(8, 9), NOW)) == []


def test_nothing_is_superseded_without_slot_cache() -> None:
    engine = evolve(SIX_IN_THREE, slot_cache=False)
    assert superseded(slot(8), slot(8, 9), engine=engine) == []


few_tokens = st.lists(st.integers(1, 2), max_size=4)


@given(
    st.lists(st.tuples(few_tokens, st.integers(0, 2).map(float)), max_size=6),
    few_tokens,
    few_tokens,
)
def test_superseded_does_not_depend_on_what_it_is_compared_with(
    held: list[tuple[list[int], float]], prompt: list[int], main: list[int]
) -> None:
    def expected(short: int) -> bool:
        tokens, used = held[short]
        return bool(tokens) and any(
            other[: len(tokens)] == tokens
            and (len(other), other_used, -number) > (len(tokens), used, -short)
            for number, (other, other_used) in enumerate(held)
        )

    slots = [slot(*tokens, last_use=used) for tokens, used in held]
    found = superseded(*slots, prompt=tuple(prompt), main=MainState(ids(*main), NOW))
    assert found == [number for number in range(len(held)) if expected(number)]


def as_runs(*tokens: int) -> Runs:
    return Runs([(token, 1) for token in tokens])


@pytest.mark.parametrize("form", [ids, as_runs])
def test_last_turn_is_what_comes_before_the_last_turn_token(form: Callable[..., Tokens]) -> None:
    assert last_turn(form(7, 1, 7, 2), 7) == 2
    assert last_turn(form(7, 1), 7) == 0
    assert last_turn(form(1, 2), 7) == 2
    assert last_turn(form(7, 1, 7, 2), None) == 4


def test_the_last_turn_of_the_main_session_uses_the_engines_token() -> None:
    main = MainState(ids(1, 5, 2, 5, 3), NOW)
    of = surveyed(main=main, engine=evolve(SIX_IN_THREE, turn_token=5))
    assert of.main is not None
    assert of.main.last_turn == 3


def test_ids_and_runs_are_compared_alike() -> None:
    assert shared_start(ids(4, 5, 6), Runs([(4, 9)])) == 3
    assert shared_start(Runs([(4, 2), (9, 1)]), ids(4, 5, 6)) == 2
