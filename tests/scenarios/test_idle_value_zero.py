"""STRATA_SLOT_IDLE_VALUE_ZERO_S=150: what a conversation is worth while its user is away.

Published in the policy's document, "With STRATA_SLOT_IDLE_VALUE_ZERO_S=150": a park kept the last
use (slot age 27.0 s, not 0); a main history idle for 160 s was not parked (`main_low_value`); with
six slots worth keeping (0.056 each) and main 12.9K there was no park; main 42.1K (0.202) was
parked into the lowest-value slot, and its next turn reused 42,092 of 42,119 tokens in 0.7 s.
"""

import pytest

from slotd.policy.settings import PolicySettings
from slotd.policy.table import slot_value
from slotd.policy.table_json import table_from_json
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.stage import Ask, Person, Stage, decoding

ZERO_AT_150_S = PolicySettings(idle_value_zero_s=150)
COPY_MS_PER_1K = 13.2

PARKED_AGE_S = 27.0
TOO_OLD_S = 160

EACH_SLOT = 0.056
SHORT = 12_900
LONG, LONG_TURN, LONG_VALUE, LONG_SECONDS = 42_092, 42_119, 0.202, 0.7


def test_park_keeps_the_last_use_of_27_seconds_ago() -> None:
    stage = Stage(policy=ZERO_AT_150_S)
    writer = Writer(27)
    held = Conversation(writer)
    stage.ask(held.say(37_000), 100)
    last_use = stage.now
    copy_s = (37_000 + 99) * COPY_MS_PER_1K / 1e6
    stage.ask(Conversation(writer).say(300), 20, after=PARKED_AGE_S - copy_s)
    ((parked_at, parked),) = [each for each in stage.events if each[1].name == "parked"]
    assert parked_at - last_use == pytest.approx(PARKED_AGE_S)
    slot = stage.snapshot().slots[0]
    assert (slot.slot, slot.tokens) == (parked.fields["slot"], parked.fields["tokens"])
    assert slot.age - (stage.now - parked_at) == pytest.approx(PARKED_AGE_S, abs=0.01)


def test_main_idle_for_160_seconds_is_not_parked() -> None:
    stage = Stage(policy=ZERO_AT_150_S)
    writer = Writer(160)
    stage.ask(Conversation(writer).say(37_000), 100)
    stage.ask(Conversation(writer).say(300), 20, after=TOO_OLD_S)
    (skip,) = stage.told("park_skip")
    assert skip.fields["reason"] == "main_low_value"
    assert (skip.fields["main_age"], skip.fields["main_value"]) == (TOO_OLD_S, 0)
    assert stage.told("park") == stage.told("parked") == []


def fill_six_slots(stage: Stage, writer: Writer) -> None:
    """Leave a history of 12.9K in each of the six slots; five of the people go away with the last.

    The main session then holds the last one's prompt, which a slot keeps.
    """

    def last() -> Person:
        yield Ask(Conversation(writer).say(12_900), 20)

    stage.play(last(), beside=[decoding(Conversation(writer).say(12_900)) for _ in range(5)])


def slots_worth_0_056_and_main_of(held: int) -> tuple[Stage, Conversation]:
    """Ask something else while the slots are worth that and the main session holds so many tokens.

    The slots were used 81 s ago then, and the main session's conversation when it was asked 6 s
    after them.
    """
    stage = Stage(policy=ZERO_AT_150_S)
    writer = Writer(150)
    fill_six_slots(stage, writer)
    filled = stage.now
    held_by_main = Conversation(writer)
    held_by_main.hear(stage.ask(held_by_main.say(held - 19), 20, after=6).tokens)
    stage.ask(Conversation(writer).say(300), 20, after=filled + 81 - stage.now)
    return stage, held_by_main


def slot_values(stage: Stage) -> list[float]:
    """What each slot was worth when the last request came."""
    table = table_from_json(stage.told("place")[-1].fields["table"])
    return [slot_value(table, row) for row in table.slots]


def test_main_of_12900_is_not_parked_over_six_slots_worth_0_056() -> None:
    stage, _ = slots_worth_0_056_and_main_of(SHORT)
    assert [round(value, 3) for value in slot_values(stage)] == [EACH_SLOT] * 6
    skip = stage.told("park_skip")[-1].fields
    assert (skip["reason"], skip["main_tokens"]) == ("no_slot", SHORT)
    assert stage.told("park") == stage.told("parked") == []


def test_main_of_42092_worth_0_202_is_parked_in_the_lowest_and_reused() -> None:
    stage, conversation = slots_worth_0_056_and_main_of(LONG)
    values = slot_values(stage)
    assert [round(value, 3) for value in values] == [EACH_SLOT] * 6
    (park,) = stage.told("park")
    assert park.fields["main_tokens"] == LONG
    assert park.fields["main_value"] == pytest.approx(LONG_VALUE, abs=0.0005)
    assert park.fields["slot"] == values.index(min(values))
    turn = stage.ask(conversation.say(LONG_TURN - LONG - 1), 10, after=5)
    assert (turn.reused, turn.record.prompt) == (LONG, LONG_TURN)
    assert turn.wait == pytest.approx(LONG_SECONDS, abs=0.05)
