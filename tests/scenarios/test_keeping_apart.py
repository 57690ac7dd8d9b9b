"""Two idle conversations are never moved into each other's slots.

Published in the policy's document: an early version moved two idle Claude Code conversations into
each other's slot on every turn, and each turn read 60-100K tokens from token 0. A conversation
goes on in its own slot or in a blank slot of a less loaded group, never over another's.
"""

from slotd.core.sidecar import Sidecar, SidecarSettings
from slotd.policy.decide import Decider, RetentionDecider
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.orderings import IntoAnySlot
from tests.scenarios.stage import Ask, Person, Stage, decoding

LONG, SHORTER = 100_000, 60_000
TURNS = 4
NEW = 20


def take_turns(decider: Decider) -> tuple[Stage, list[tuple[int, int]]]:
    """Let the two take turns while no slot is blank and one group is less loaded than the other.

    Returns:
        The stage, and what each turn read: (the long one's, the shorter one's).
    """
    stage = Stage(sidecar=Sidecar(SidecarSettings(), decider))
    writer = Writer(60)
    chats = [Conversation(writer), Conversation(writer)]
    read: list[list[int]] = [[], []]

    def side(after: float) -> Ask:
        return Ask(Conversation(writer).say(3_000), 20, after)

    def user() -> Person:
        # Slot 0 decodes: they go to slots 2 and 4. Then a client decodes in slot 3 beside the long
        # one, and two short conversations fill slots 5 and 1.
        for chat, opening in zip(chats, (LONG, SHORTER), strict=True):
            chat.hear((yield Ask(chat.say(opening), 20, 1)).tokens)
        yield side(5)
        yield side(1)
        for _ in range(TURNS):
            for number, chat in enumerate(chats):
                answer = yield Ask(chat.say(NEW - 1), 20, 10)
                chat.hear(answer.tokens)
                read[number].append(answer.read)

    client = decoding(Conversation(writer).say(300))
    beside = decoding(Conversation(writer).say(300), after=70)
    stage.play(user(), beside=[client, beside])
    return stage, list(zip(*read, strict=True))


def test_each_goes_on_in_its_own_slot() -> None:
    stage, read = take_turns(RetentionDecider())
    assert read == [(NEW, NEW)] * TURNS
    turns = stage.told("place")[-2 * TURNS :]
    assert [(event.fields["reason"], event.fields["slot"]) for event in turns] == [
        ("continue", 2),
        ("continue", 4),
    ] * TURNS


def test_into_any_slot_of_a_less_loaded_group_60k_to_100k_are_read_again() -> None:
    _, read = take_turns(IntoAnySlot())
    again = [tokens for pair in read for tokens in pair if tokens != NEW]
    assert len(again) == 3
    assert all(SHORTER <= tokens < LONG + 500 for tokens in again)
