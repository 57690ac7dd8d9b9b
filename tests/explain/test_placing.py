"""Every reason of place is explained: the rule by its name, and why the other slots lost."""

from attrs import evolve

from slotd.explain.account import Account
from slotd.policy.decide import Decision
from slotd.policy.place import Placement
from slotd.policy.table import Table, slot_score
from tests.explain.logs import explained, place_event
from tests.policy.builders import (
    FOUR_ALONE,
    LONG_AGO,
    PADDED,
    bgen,
    busy,
    gen,
    matching,
    row,
    table,
)


def accounts(of: Table) -> tuple[str, tuple[Account, ...]]:
    told = explained(place_event(of)).verdict
    return told.place_says, told.place_rules


def candidates(account: Account) -> list[tuple[int, str, str]]:
    return [(each.slot, each.shows, each.why) for each in account.candidates]


def others(account: Account) -> dict[int, str]:
    return {note.slot: note.why for note in account.others}


def test_continue_names_the_near_sources_and_their_margin() -> None:
    of = table(matching(0, 40_000), matching(2, 36_000), matching(4, 30_000), prompt_rate=2_000)
    says, [rule] = accounts(of)
    assert says == "the prompt continues its 40,000 tokens"
    assert (rule.rule, rule.decided) == ("continue / spread", True)
    assert rule.says[0] == (
        "The longest match is 40,000 tokens, slot 0. Near sources are at most 4,096 tokens below "
        "it: the most of 800 (2% of it), 2,000 (1 s of the prompt rate) and 4,096."
    )
    assert candidates(rule) == [
        (0, "near source, match 40,000, load 0", ""),
        (2, "near source, match 36,000, load 0", "shorter match: 36,000, slot 0 has 40,000"),
    ]
    assert others(rule)[4] == "match 30,000: 10,000 below, not near"
    assert others(rule)[1] == "blank, load 0: not below every near source's, 0"


def test_continue_in_a_near_source_says_so() -> None:
    of = table(matching(0, 40_000), *busy(1), matching(2, 39_000))
    says, [rule] = accounts(of)
    assert says == "the prompt continues its 39,000 tokens, a match about as long as the longest"
    assert candidates(rule)[1] == (
        0,
        "near source, match 40,000, load 1",
        "more load: 1, slot 2 has 0",
    )


def test_spread_says_where_the_history_is_copied_from() -> None:
    says, [rule] = accounts(table(*busy(1), matching(0, 40_000), row(2, 9_000)))
    assert says == "blank, in a less loaded group; the engine copies the history of slot 0 there"
    assert [slot for slot, _, _ in candidates(rule)] == [4, 3, 5, 0]
    assert candidates(rule)[1][2] == "after slot 4 in the spreading order"
    assert others(rule) == {2: "holds another conversation"}


def test_a_blank_slot_loses_to_a_source_of_its_load() -> None:
    of = table(*busy(1, 5), matching(0, 40_000), matching(2, 40_000), prompt_rate=0)
    _, [rule] = accounts(of)
    assert candidates(rule)[0][0] == 2
    assert others(rule)[3] == "blank, load 0: not below every near source's, 0"


def test_why_nothing_matched() -> None:
    of = table(
        row(0, 30_000, shared=30_000, state="busy"),
        row(1, 30_000, shared=30_000, valid=False),
        row(2, 30_000, shared=30_000, cvec=0),
        row(3, 30_000, shared=29_000),
        row(4, 50_000, shared=50_000),
    )
    _, rules = accounts(of)
    assert not rules[0].decided
    assert rules[0].says == ("No idle slot's whole history is the start of the prompt.",)
    assert others(rules[0]) == {
        0: "busy: only idle slots are candidates",
        1: "blank (may be lost): holds no history to continue",
        2: "its cvec is 0, the request's 1",
        3: "shares 29,000 of its 30,000 tokens, not all of them",
        4: "holds the whole prompt, 50,000 tokens: nothing would be left to read",
    }


def test_pictures_match_nothing() -> None:
    of = table(row(0, 30_000, shared=30_000), request=bgen(images=True))
    assert others(accounts(of)[1][0]) == {0: "the request holds pictures"}


def test_sibling_says_the_share() -> None:
    of = table(
        row(0, 43_700, shared=43_340),
        row(1, 43_400, shared=43_339),
        row(2, 43_700, shared=20_000),
        row(3, 43_700, shared=43_500, cvec=0),
    )
    says, rules = accounts(of)
    assert says == "an older version of the same conversation: shares 99.1% of its length"
    assert [(rule.rule, rule.decided) for rule in rules] == [
        ("continue / spread", False),
        ("sibling", True),
    ]
    assert "shares 98% or more of its length with the prompt" in rules[1].says[0]
    assert candidates(rules[1]) == [
        (0, "shares 43,340 of its 43,700 tokens, 99.1%", ""),
        (1, "shares 43,339 of its 43,400 tokens, 99.8%", "shares less: 43,339, slot 0 has 43,340"),
    ]
    assert others(rules[1]) == {
        2: "shares 20,000 of its 43,700 tokens, 45.7%",
        3: "its cvec is 0, the request's 1",
    }


def test_sibling_turned_off_says_so() -> None:
    _, rules = accounts(table(row(0, 43_700, shared=43_600), sibling_share=0))
    assert rules[1] == Account("sibling", False, ("Turned off: sibling_share is 0.",))


def test_reclaim_tells_the_order_it_gives_up_in() -> None:
    of = table(
        row(0, 9_000, age=60.0),
        row(1, 9_000, age=5.0),
        row(2, 2_400, age=60.0),
        row(3, 2_300, age=60.0),
        *busy(5),
    )
    says, rules = accounts(of)
    assert says == "expired, the one missed least"
    assert [rule.rule for rule in rules] == ["continue / spread", "sibling", "reclaim"]
    assert candidates(rules[2]) == [
        (3, "expired, value 0.00828, load 0", ""),
        (2, "expired, value 0.00887, load 0", "more value: 0.00887, slot 3 has 0.00828"),
        (4, "blank (empty), load 1", "more load: 1, slot 3 has 0"),
        (
            0,
            "expired, worth keeping, value 0.0504 >= keep score, load 0",
            "worth keeping, slot 3 is not",
        ),
    ]
    assert others(rules[2]) == {1: "protected for 6.5 s more"}


def test_reclaim_of_a_blank_slot_before_a_worthless_history() -> None:
    of = table(row(0, 9_000, age=LONG_AGO), *busy(1, 2, 3), engine=FOUR_ALONE)
    of = evolve(of, slots=(*of.slots[:2], row(2), of.slots[3]))
    says, rules = accounts(of)
    assert says == "blank (empty), the one missed least"
    assert candidates(rules[2])[1] == (
        0,
        "expired, value 0, load 0",
        "holds a history, slot 2 is blank",
    )


def test_reclaim_on_pad_rows_says_what_a_slot_would_cost() -> None:
    of = table(row(0, 50_000), row(2, 900, age=60.0), row(4, 900, age=60.0), engine=PADDED)
    _, rules = accounts(of)
    assert others(rules[2]) == {
        0: "protected for 65.0 s more",
        1: "blank (empty), but costs the protected histories below it 0.925",
    }


def test_least_loss_says_it_does_not_wait_and_what_is_within_10_percent() -> None:
    rows = [row(slot, 50_000, age=10.0 + slot) for slot in range(6)]
    rows[0] = row(0, 100_000, age=10.0)
    says, rules = accounts(table(*rows))
    assert says == "the least loss, 0.765, taken at once"
    assert [rule.rule for rule in rules][-2:] == ["reclaim", "least_loss"]
    assert rules[3].says[0].startswith("At once, without waiting. Loss is value + cost; the lowest")
    assert "within 10% of it" in rules[3].says[0]
    assert candidates(rules[3])[:2] == [
        (5, "loss 0.765, load 0, protected for 50.0 s", ""),
        (
            4,
            "loss 0.775, load 0, protected for 51.0 s",
            "more loss: 0.775, slot 5 has 0.765",
        ),
    ]
    assert others(rules[3]) == {0: "loss 1.431, load 0, protected for 80.0 s: not within 10%"}


def test_least_loss_on_pad_rows_adds_the_cost() -> None:
    of = table(*(row(slot, 50_000) for slot in range(6)), engine=PADDED)
    _, rules = accounts(of)
    assert others(rules[3])[1].startswith("loss 1.849 (0.925 its own, 0.925 of those below it)")


def test_none_idle_passes_the_line_as_it_is() -> None:
    says, rules = accounts(table(*busy(0, 1, 2, 3, 4, 5)))
    assert says == "no slot is idle: the line passes as the client wrote it"
    assert (rules[-1].rule, rules[-1].decided) == ("none_idle", True)
    assert rules[-1].says == ("No slot is idle.",)


def test_solo_takes_no_slot() -> None:
    says, rules = accounts(table(row(0, 9_000), request=gen()))
    assert says == "a solo request runs on the main session and takes no slot"
    assert rules == ()


def test_a_read_that_goes_on_was_not_placed_again() -> None:
    of = table(row(3, 20_480, state="yielded", shared=20_480))
    settled = Decision(Placement(3, "continue", 3, 20_480, slot_score(of, of.slots[3])), None)
    told = explained(place_event(of, decision=settled))
    assert told.agrees
    assert told.verdict.place_says == "the slot keeps the part read before the read gave way"
    [rule] = told.verdict.place_rules
    assert rule.rule == "goes on"
    assert rule.says == (
        "The part read before it gave way, 20,480 tokens, is kept in slot 3: it goes on there.",
    )


def test_another_policys_decision_is_not_explained_as_this_ones() -> None:
    of = table(matching(0, 40_000))
    other = Decision(Placement(5, "reclaim", 0, 40_000, 1.0), None)
    told = explained(place_event(of, decision=other))
    assert not told.agrees
    assert told.verdict.decision.placement.slot == 0
