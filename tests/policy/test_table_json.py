import json
from typing import Any

import pytest

from slotd.policy.decide import RetentionDecider
from slotd.policy.json_fields import TableError
from slotd.policy.table import Table
from slotd.policy.table_json import as_logged, decision_to_json, table_from_json, table_to_json
from slotd.policy.token_tables import table_from_tokens
from tests.policy.builders import busy, main_row, matching, row, table
from tests.reference.random_tables import SeededChooser, random_table


def logged(of: Table) -> Any:
    return json.loads(json.dumps(table_to_json(of)))


def a_table() -> Table:
    return table(
        matching(0, 9_000, age=4.0004, checkpoints=(4_000, 8_000)),
        row(1, 300, valid=False),
        *busy(2, tokens=700),
        main=main_row(37_000, age=1.25, last_turn=36_000),
        prompt_rate=1_234.5678,
        sibling_share=0.9,
    )


def test_a_slot_is_written_with_what_the_rules_say_of_it() -> None:
    slots = logged(a_table())["slots"]
    assert slots[0] == {
        "slot": 0,
        "state": "idle",
        "tokens": 9_000,
        "age": 4.0,
        "valid": True,
        "images": False,
        "cvec": 1,
        "shared": 9_000,
        "shared_main": 0,
        "superseded": False,
        "checkpoints": [4_000, 8_000],
        "match": 9_000,
        "value": 0.148778,
        "retention": 0.148778,
        "ttl_left": 7.458,
        "load": 0,
        "blank": False,
        "protected": True,
    }
    assert [slot["load"] for slot in slots] == [0, 0, 1, 1, 0, 0]
    assert [slot["blank"] for slot in slots] == [False, True, False, True, True, True]


def test_a_table_holds_no_tokens_and_says_all_that_decides() -> None:
    written = logged(a_table())
    assert list(written) == ["engine", "settings", "prompt_rate", "request", "main", "slots"]
    assert written["request"] == {
        "verb": "BGEN",
        "client_slot": 0,
        "prompt": 50_000,
        "cvec": 1,
        "images": False,
    }
    assert written["main"] == {
        "tokens": 37_000,
        "age": 1.25,
        "images": False,
        "cvec": 1,
        "shared": 0,
        "last_turn": 36_000,
        "branches": [],
    }
    assert written["prompt_rate"] == 1_234.568


def test_what_was_computed_is_not_read_back() -> None:
    written = logged(a_table())
    for slot in written["slots"]:
        for computed in ("match", "value", "retention", "ttl_left", "load", "blank", "protected"):
            slot[computed] = "not looked at"
    assert table_from_json(written) == as_logged(a_table())


def test_the_logged_table_gives_the_same_decision_again() -> None:
    choose = SeededChooser(20)
    decider = RetentionDecider()
    for _ in range(500):
        of = as_logged(table_from_tokens(random_table(choose)))
        again = table_from_json(logged(of))
        assert again == of
        assert decider.decide(again) == decider.decide(of)


def test_as_logged_changes_nothing_once_done() -> None:
    of = as_logged(a_table())
    assert of.slots[0].age == 4.0
    assert as_logged(of) == of


def test_a_decision_is_written_with_the_names_of_the_command() -> None:
    decision = RetentionDecider().decide(a_table())
    assert (
        decision_to_json(decision)
        == {
            "slot": 4,
            "reason": "continue",
            "source": 0,
            "hint": 9_000,
            "score": decision.placement.score,
            "park": {"slot": 4, "reason": "reclaim"},
        }
        or decision_to_json(decision)["slot"] == 0
    )


@pytest.mark.parametrize(
    ("where", "name", "wrong", "message"),
    [
        ("request", "verb", "STOP", "request.verb: is 'STOP': give GEN, GENI, BGEN or BGENI"),
        ("request", "prompt", [1], "request.prompt: is [1]: give a whole number, 0 or more"),
        ("main", "last_turn", None, "main.last_turn: missing: give a whole number, 0 or more"),
        ("main", "age", "old", "main.age: is 'old': give a finite number"),
        ("engine", "slot_park", 2, "engine.slot_park: is 2: give true or false"),
        ("settings", "ttl", 3, "settings: 'ttl' is none of ttl_max_s, expired_keep_score, "),
    ],
)
def test_a_wrong_field_is_named(where: str, name: str, wrong: object, message: str) -> None:
    written = logged(a_table())
    written[where][name] = wrong
    with pytest.raises(TableError) as refused:
        table_from_json(written)
    assert str(refused.value).startswith(message)


def test_a_wrong_field_of_a_slot_is_named_with_the_slot() -> None:
    written = logged(a_table())
    written["slots"][3]["shared_main"] = -1
    with pytest.raises(TableError) as refused:
        table_from_json(written)
    assert refused.value.field == "slots[3].shared_main"
    del written["slots"][3]
    with pytest.raises(TableError, match=r"^slots: 5 given, engine\.batch_slots is 6: "):
        table_from_json(written)
