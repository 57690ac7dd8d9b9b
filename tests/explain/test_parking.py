"""Every outcome of park is explained: the rule by its name, and why the other slots lost."""

from typing import Any

from attrs import evolve

from slotd.explain.account import Account
from slotd.policy.table import MainRow, SlotRow, Table
from tests.explain.logs import explained, place_event
from tests.policy.builders import (
    LONG_AGO,
    PADDED,
    SIX_IN_THREE,
    gen,
    main_row,
    matching,
    row,
    table,
)

MAIN = main_row(37_000, age=31.0, shared=12)


def accounts(
    *rows: SlotRow, main: MainRow | None = MAIN, **settings: Any
) -> tuple[str, tuple[Account, ...]]:
    told = explained(place_event(table(*rows, main=main, request=gen(), **settings))).verdict
    return told.park_says, told.park_rules


def names(rules: tuple[Account, ...]) -> list[str]:
    return [rule.rule for rule in rules]


def candidates(account: Account) -> list[tuple[int, str, str]]:
    return [(each.slot, each.shows, each.why) for each in account.candidates]


def others(account: Account) -> dict[int, str]:
    return {note.slot: note.why for note in account.others}


def test_older_takes_the_longest_copy() -> None:
    says, rules = accounts(
        row(1, 20_000, shared_main=20_000), row(4, 30_000, shared_main=30_000, age=9.0)
    )
    assert says == "over its own older copy in slot 4"
    assert names(rules) == ["main_low_value", "kept", "older"]
    assert [rule.decided for rule in rules] == [False, False, True]
    assert candidates(rules[2]) == [
        (4, "30,000 tokens, all of them the main session's first", ""),
        (
            1,
            "20,000 tokens, all of them the main session's first",
            "shorter: 20,000, slot 4 has 30,000",
        ),
    ]
    assert others(rules[1]) == {1: "idle, holds 54.0% of it", 4: "idle, holds 81.0% of it"}


def test_sibling_takes_the_version_that_shares_most() -> None:
    says, rules = accounts(
        row(1, 30_000, shared_main=29_900),
        row(2, 30_000, shared_main=29_950),
        row(3, 30_000, shared_main=9_000),
    )
    assert says == "over an older version of it in slot 2"
    assert names(rules)[-1] == "sibling"
    assert candidates(rules[3]) == [
        (2, "shares 29,950 of its 30,000 tokens, 99.8%", ""),
        (
            1,
            "shares 29,900 of its 30,000 tokens, 99.6%",
            "shares less: 29,900, slot 2 has 29,950",
        ),
    ]
    assert others(rules[3]) == {3: "shares 9,000 of its 30,000 tokens, 30.0%"}


def test_sibling_turned_off_says_so() -> None:
    _, rules = accounts(row(1, 30_000, shared_main=29_900), sibling_share=0)
    assert rules[3] == Account("sibling", False, ("Turned off: sibling_share is 0.",))


def test_reclaim_uses_the_shared_order_and_the_ratio() -> None:
    says, rules = accounts(
        row(0, 9_000, age=60.0),
        row(1, 9_000, age=5.0),
        row(2, 60_000, age=100.0),
        row(3, 2_400, age=60.0),
        row(4, 50_000, age=0.0),
        row(5, 50_000, age=0.0),
    )
    assert says == "into slot 3, expired, the one missed least"
    assert names(rules)[-1] == "reclaim"
    assert "worth 2 times as much; a protected one never" in rules[4].says[0]
    assert candidates(rules[4]) == [
        (3, "expired, value 0.00887, load 0", ""),
        (
            0,
            "expired, worth keeping, value 0.0504 >= keep score, load 0",
            "worth keeping, slot 3 is not",
        ),
    ]
    assert others(rules[4])[1] == "protected for 6.5 s more"
    assert others(rules[4])[2] == (
        "worth keeping, 0.266: the main session's is worth 1.481 times that"
    )


def test_reclaim_never_takes_the_admissions_slot_or_the_source() -> None:
    of = table(matching(0, 40_000), *(row(slot, 50_000) for slot in (2, 3, 4, 5)), main=MAIN)
    of = evolve(of, slots=(*of.slots[:1], row(1, 900, state="busy"), *of.slots[2:]))
    told = explained(place_event(of)).verdict
    assert told.decision.placement.slot == 0
    assert others(told.park_rules[4])[0] == "the admission's slot"

    spread = table(matching(0, 40_000), row(1, 900, state="busy"), main=MAIN)
    told = explained(place_event(spread)).verdict
    assert told.decision.placement.reason == "spread"
    assert others(told.park_rules[4])[0] == "the request is restored from it"


def test_no_slot_says_what_each_is_kept_for() -> None:
    rows = [row(slot, 50_000, age=100.0) for slot in range(5)]
    says, rules = accounts(*rows, row(5, 50_000), park_value_ratio=0)
    assert says == "no park: no slot may be overwritten for it"
    assert names(rules)[-2:] == ["reclaim", "no_slot"]
    assert rules[5].says == ("No slot is left that a park may overwrite.",)
    assert "park_value_ratio is 0: a history worth keeping never counts" in rules[4].says[0]
    assert others(rules[4])[0] == (
        "worth keeping, 0.231: the main session's is worth 1.704 times that"
    )
    assert others(rules[4])[5] == "protected for 65.0 s more"


def test_no_slot_with_histories_kept_though_they_are_worth_nothing() -> None:
    rows = [row(slot, 9_000, age=LONG_AGO) for slot in range(6)]
    _, rules = accounts(*rows, expired_keep_score=0, park_value_ratio=0)
    assert others(rules[4])[0] == (
        "worth keeping, 0: the main session's is worth any number of times that"
    )


def test_main_low_value_gives_both_numbers() -> None:
    says, rules = accounts(main=main_row(2_000, age=31.0))
    assert says == "no park: worth 0.00656, less than park_min_value 0.01"
    assert names(rules) == ["main_low_value"]
    assert rules[0].decided
    assert rules[0].says == (
        "The main session holds 2,000 tokens of another conversation: the prompt shares 0 of them, "
        "not all 2,000 tokens it holds.",
        "Last used 31.0 s ago it is worth 0.00656, less than park_min_value 0.01.",
    )


def test_kept_names_the_slots_that_keep_it() -> None:
    says, rules = accounts(
        row(1, 37_000, shared_main=36_999, state="busy"),
        row(4, 36_990, shared_main=36_990),
        row(5, 37_000, shared_main=20_000),
    )
    assert says == "no park: it is already kept in slots 1 and 4"
    assert names(rules) == ["main_low_value", "kept"]
    assert rules[1].says == (
        "A valid history that begins with 98% of it is already in slots 1 and 4.",
    )
    assert others(rules[1]) == {
        1: "busy, holds 99.9% of it",
        4: "idle, holds 99.9% of it",
        5: "idle, holds 54.0% of it",
    }


def nothing(of: Table) -> str:
    told = explained(place_event(of)).verdict
    assert told.park_rules == ()
    assert told.decision.park is None
    return told.park_says


def test_nothing_to_park_says_why() -> None:
    says = "nothing to park: "
    without = evolve(SIX_IN_THREE, slot_park=False)
    assert nothing(table(main=MAIN, engine=without)) == (
        f"{says}the engine reads no park= (no slot_park=1), or parking is off"
    )
    assert nothing(table()) == f"{says}the main session holds nothing, or another request uses it"
    assert nothing(table(main=main_row(37_000, images=True))) == (
        f"{says}the main session holds pictures"
    )
    assert nothing(table(main=main_row(37_000, shared=37_000))) == (
        f"{says}the prompt continues the main session: shares all 37,000 tokens it holds"
    )
    thinking = main_row(37_000, shared=36_500, last_turn=36_400)
    assert nothing(table(main=thinking)) == (
        f"{says}the prompt continues the main session: shares the 36,400 tokens up to its last turn"
    )


def test_a_read_that_gives_way_parks_nothing() -> None:
    of = table(main=MAIN, engine=PADDED)
    told = explained(place_event(of, verb="BYIELD", park=None))
    assert told.agrees
    assert told.verdict.park_says == (
        "nothing to park: the read that gives way is in the main session"
    )
