"""An account is what the policy did, on any table: nothing is told that it did not decide by."""

import pytest

from slotd.explain.account import behind
from slotd.explain.explanation import Explanation, explain, explanation_to_json
from slotd.explain.log import find
from slotd.policy.place import ReclaimRank, SiblingRank
from slotd.policy.table import Table
from slotd.policy.table_json import as_logged
from slotd.policy.token_tables import table_from_tokens
from tests.explain.logs import place_event
from tests.reference.random_tables import SeededChooser, random_table

TABLES = 600


def explained(of: Table) -> Explanation:
    [logged] = find([place_event(of)], None)
    return explain(logged, {"ttl_max_s": 1.0, "sibling_share": 0.5})


@pytest.mark.parametrize("first", range(0, TABLES, 100))
def test_the_last_rule_decided_and_took_what_was_decided(first: int) -> None:
    for seed in range(first, first + 100):
        told = explained(as_logged(table_from_tokens(random_table(SeededChooser(seed)))))
        assert told.agrees, seed
        assert told.what_if is not None
        for verdict in (told.verdict, told.what_if.verdict):
            placement, park = verdict.decision.placement, verdict.decision.park
            assert [rule.decided for rule in verdict.place_rules] == (
                [False] * (len(verdict.place_rules) - 1) + [True] if verdict.place_rules else []
            ), seed
            if verdict.place_rules:
                last = verdict.place_rules[-1]
                assert placement.reason in last.rule, seed
                taken = [each.slot for each in last.candidates if each.taken]
                assert taken == ([] if placement.slot is None else [placement.slot]), seed
            if park is not None:
                last = verdict.park_rules[-1]
                assert (last.rule, last.decided) == (park.reason, True), seed
                taken = [each.slot for each in last.candidates if each.taken]
                assert taken == ([] if park.slot is None else [park.slot]), seed
        assert explanation_to_json(told)["agrees"] is True


@pytest.mark.parametrize("first", range(0, TABLES, 200))
def test_every_idle_slot_is_told_of_where_a_slot_was_given_up(first: int) -> None:
    for seed in range(first, first + 200):
        of = as_logged(table_from_tokens(random_table(SeededChooser(seed))))
        idle = [row.slot for row in of.slots if row.idle]
        verdict = explained(of).verdict
        for rule in (*verdict.place_rules, *verdict.park_rules):
            if rule.rule in ("reclaim", "least_loss"):
                told = [candidate.slot for candidate in rule.candidates]
                told += [note.slot for note in rule.others]
                assert sorted(told) == idle, seed


def test_slots_of_one_rank_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two slots of the same rank"):
        behind(SiblingRank(-3, (0, 1)), SiblingRank(-3, (0, 1)), 2)


def test_values_that_look_alike_are_told_apart() -> None:
    low = ReclaimRank(False, 0, 0.0081234, True, (0, 0))
    high = ReclaimRank(False, 0, 0.0081239, True, (0, 1))
    assert behind(high, low, 2) == "more value: 0.008124, slot 2 has 0.008123"
