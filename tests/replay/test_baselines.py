"""What each baseline chooses, by its public description."""

import pytest

from slotd.policy.decide import RetentionDecider
from slotd.policy.park import Park
from slotd.policy.settings import PolicySettings
from slotd.policy.table import SlotRow
from slotd.replay.baselines import LeastRecentlyUsed, LlamaCpp
from slotd.replay.policies import POLICIES
from slotd.sim.serve_slots import GroupsAlone, LongestStart
from tests.policy.builders import FOUR_ALONE, bgen, busy, gen, main_row, matching, row, table

LRU, LLAMA = LeastRecentlyUsed(), LlamaCpp()
FULL = (row(0, 9_000, age=50), row(1, 9_000, age=20), row(2, 300, age=90), row(3, 90_000, age=10))


def chosen(decider: LeastRecentlyUsed | LlamaCpp, *rows: SlotRow, prompt: int = 50_000) -> object:
    return decider.decide(table(*rows, engine=FOUR_ALONE, request=bgen(prompt))).placement.slot


def test_the_names_stand_for_what_they_say() -> None:
    assert isinstance(POLICIES["serve"].strategy, LongestStart)
    assert isinstance(POLICIES["serve-groups"].strategy, GroupsAlone)
    assert isinstance(POLICIES["lru"].decider(None), LeastRecentlyUsed)
    assert isinstance(POLICIES["llama.cpp"].decider(None), LlamaCpp)
    for name in ("retention", "value"):
        assert isinstance(POLICIES[name].decider(None), RetentionDecider)
    assert POLICIES["retention"].settings.policy == PolicySettings()
    assert POLICIES["value"].settings.policy == PolicySettings(ttl_max_s=0)


@pytest.mark.parametrize("decider", [LRU, LLAMA])
def test_a_stranger_goes_to_an_empty_slot_else_to_the_least_recently_used(
    decider: LeastRecentlyUsed | LlamaCpp,
) -> None:
    assert chosen(decider, *FULL) == 2
    assert chosen(decider, *FULL[:3]) == 3
    assert chosen(decider, *FULL[:2], *busy(2), FULL[3]) == 0
    assert chosen(decider, *busy(0, 1, 2, 3)) is None


@pytest.mark.parametrize("decider", [LRU, LLAMA])
def test_a_copy_that_another_slot_supersedes_counts_by_its_last_use(
    decider: LeastRecentlyUsed | LlamaCpp,
) -> None:
    copy = row(3, 90_000, age=10, superseded=True)
    assert chosen(decider, *FULL[:3], copy) == 2


def test_lru_goes_on_in_the_longest_history_the_prompt_continues() -> None:
    assert chosen(LRU, FULL[0], matching(1, 9_000), matching(2, 300), FULL[3]) == 1


def test_llama_cpp_takes_the_most_similar_slot_above_a_tenth_of_the_prompt() -> None:
    def among(shared: int) -> object:
        return chosen(LLAMA, *FULL[:3], row(3, 90_000, age=10, shared=shared))

    assert among(5_000) == 2
    assert among(5_001) == 3
    more = row(1, 9_000, age=20, shared=8_000)
    assert chosen(LLAMA, FULL[0], more, FULL[2], row(3, 90_000, age=10, shared=7_000)) == 1


@pytest.mark.parametrize("decider", [LRU, LLAMA])
def test_both_park_by_the_rule_they_place_by(decider: LeastRecentlyUsed | LlamaCpp) -> None:
    def parked(*rows: SlotRow) -> Park | None:
        engine = FOUR_ALONE
        return decider.decide(
            table(*rows, engine=engine, main=main_row(10_000), request=gen())
        ).park

    assert parked(*FULL) == Park(2, "reclaim")
    assert parked(*FULL[:3], row(3, 9_900, shared_main=9_900)) == Park(None, "kept")
    assert parked(*FULL[:3], row(3, 5_000, shared_main=5_000)) == Park(3, "older")
    assert parked(*busy(0, 1, 2, 3)) == Park(None, "no_slot")


def test_llama_cpp_parks_over_a_similar_history() -> None:
    similar = row(0, 9_000, age=1, shared_main=2_000)
    found = LLAMA.decide(table(similar, *FULL[1:], engine=FOUR_ALONE, main=main_row(10_000)))
    assert found.park == Park(0, "reclaim")
