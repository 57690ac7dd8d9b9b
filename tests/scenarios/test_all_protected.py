"""Every history protected: no wait, and the least loss, within 10% by load.

Published in the policy's document: an earlier version waited up to 5 s first, and each wait ran its
full 5 s and ended in the same overwrite; now the least loss is overwritten at once, and losses
within 10% are ranked by group load.
"""

import pytest

from slotd.policy.place import loss
from slotd.policy.table import load, protected
from slotd.policy.table_json import table_from_json
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.stage import Answer, Ask, Person, Stage, decoding

SHORTEST = 10_900
"""Tokens of the history in slot 1. Clients decode in slots 0 and 2: groups 0 and 1 have load 1."""

OTHERS = [
    # Tokens of the histories in slots 3, 4 and 5, and the slot that the newcomer gets.
    (11_200, 5),  # Within 10%: of the group where nothing decodes, the one that loses less.
    (13_000, 1),  # More than 10% above: the least loss, whatever decodes beside it.
]


def newcomer_after_four_that_have_just_ended(others: int) -> tuple[Stage, Answer]:
    """Ask something new half a second after the last of four conversations."""
    stage = Stage()
    writer = Writer(10)
    answers = list[Answer]()
    # In the order of asking they go to slots 4, 1, 3 and 5. While one is read, those before it get
    # a token a chunk, so that all of them end within a second.
    lengths = [others + 100, SHORTEST, others, others]

    def person(number: int) -> Person:
        yield Ask(Conversation(writer).say(lengths[number]), 60 - 8 * number, 2)
        if number == 3:
            answers.append((yield Ask(Conversation(writer).say(500), 20, 0.5)))

    clients = [decoding(Conversation(writer).say(300)) for _ in range(2)]
    stage.play(*(person(number) for number in range(4)), beside=clients)
    return stage, answers[0]


@pytest.mark.parametrize(("others", "slot"), OTHERS)
def test_newcomer_gets_the_least_loss_within_ten_percent_by_load_at_once(
    others: int, slot: int
) -> None:
    stage, answer = newcomer_after_four_that_have_just_ended(others)
    moment, event = [each for each in stage.events if each[1].name == "place"][-1]
    table = table_from_json(event.fields["table"])
    idle = [row for row in table.slots if row.idle]
    assert [row.slot for row in idle] == [1, 3, 4, 5]
    assert all(protected(table, row) for row in idle)
    assert [load(table, row) for row in idle] == [1, 1, 0, 0]
    assert min(idle, key=lambda row: loss(table, row)).slot == 1
    assert (event.fields["reason"], event.fields["slot"]) == ("least_loss", slot)
    assert moment == answer.record.arrival
    assert answer.wait < 1
