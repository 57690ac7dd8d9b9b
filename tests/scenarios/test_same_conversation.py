"""What counts as the same conversation: a park compares up to the main session's last turn.

Published in the policy's document: a 30K conversation that has 20K in common with the next chat
(system prompt and tools) is another conversation and is parked; a next turn sent back without the
reply's thinking, or the reply regenerated, shares the last turn and parks nothing; an engine that
does not say `turn_token=` counts any difference. And on v0.2.7: beside four other conversations, a
thinking chat's next turn reused 19,176 tokens in 0.58 s.
"""

from collections.abc import Callable

import pytest
from attrs import evolve

from protocol.tokens import TokenIds
from tests.scenarios.conversations import HEADER, Conversation, Writer
from tests.scenarios.stage import SIX_SLOTS, Answer, Ask, Person, Stage, decoding

CHAT, COMMON = 30_000, 20_000
THINKING_CHAT, THINKING_S = 19_176, 0.58
"""Tokens before the header of its reply, and seconds to its next turn's first token."""

THINKING, ANSWER = 900, 300
NEW = 97
"""Tokens of its next message, so that 400 are read: how long it was is not published."""

NO_TURN_TOKEN = evolve(SIX_SLOTS, announce_turn_token=False)


def test_chat_of_30k_with_20k_in_common_is_parked_when_the_next_one_comes() -> None:
    stage = Stage()
    writer = Writer(20)
    system = writer.text(COMMON)
    first, second = Conversation(writer, system), Conversation(writer, system)
    first.hear(stage.ask(first.say(CHAT - COMMON - 99), 100).tokens)
    stage.ask(second.say(2_000), 100, after=20)
    (park,) = stage.told("park")
    assert (park.fields["reason"], park.fields["main_tokens"]) == ("reclaim", CHAT)
    turn = stage.ask(first.say(40), 20, after=20)
    assert turn.reused == CHAT


def without_its_thinking(chat: Conversation, reply: Answer) -> TokenIds:
    """The next turn after a reply of which only the answer is sent back."""
    chat.hear(reply.tokens[THINKING:])
    return chat.say(NEW)


def regenerated(chat: Conversation, reply: Answer) -> TokenIds:
    """The same prompt again."""
    return chat.told


def follow(stage: Stage, next_prompt: Callable[[Conversation, Answer], TokenIds]) -> Answer:
    """Let a thinking chat have its first reply, then what follows."""
    chat = Conversation(Writer(19))
    reply = stage.ask(chat.say(THINKING_CHAT + HEADER), THINKING + ANSWER)
    return stage.ask(next_prompt(chat, reply), ANSWER, after=30)


FOLLOWING = [without_its_thinking, regenerated]


@pytest.mark.parametrize("next_prompt", FOLLOWING)
def test_following_prompt_parks_nothing_and_reuses_19176(
    next_prompt: Callable[[Conversation, Answer], TokenIds],
) -> None:
    stage = Stage()
    turn = follow(stage, next_prompt)
    assert stage.told("park") == stage.told("park_skip") == []
    assert turn.reused == THINKING_CHAT


@pytest.mark.parametrize("next_prompt", FOLLOWING)
def test_without_a_turn_token_any_difference_parks(
    next_prompt: Callable[[Conversation, Answer], TokenIds],
) -> None:
    stage = Stage(NO_TURN_TOKEN)
    turn = follow(stage, next_prompt)
    (park,) = stage.told("park")
    held = THINKING_CHAT + HEADER + THINKING + ANSWER - 1
    assert (park.fields["reason"], park.fields["main_tokens"]) == ("reclaim", held)
    assert [event.fields["tokens"] for event in stage.told("parked")] == [held]
    assert turn.reused == THINKING_CHAT


def test_without_a_turn_token_a_prompt_that_goes_on_with_all_of_it_parks_nothing() -> None:
    stage = Stage(NO_TURN_TOKEN)
    chat = Conversation(Writer(19))
    chat.hear(stage.ask(chat.say(THINKING_CHAT + HEADER), ANSWER).tokens)
    turn = stage.ask(chat.say(NEW), 20, after=30)
    assert stage.told("park") == stage.told("park_skip") == []
    assert turn.reused == THINKING_CHAT + HEADER + ANSWER - 1


def test_thinking_chat_beside_four_others_reuses_19176_in_0_58_seconds() -> None:
    stage = Stage()
    chat = Conversation(Writer(19))
    turns = list[Answer]()

    def person() -> Person:
        reply = yield Ask(chat.say(THINKING_CHAT + HEADER), THINKING + ANSWER, 1)
        turns.append((yield Ask(without_its_thinking(chat, reply), ANSWER, 30)))

    # The last of the others comes while the person reads, so that main holds another prompt.
    others = [
        decoding(Conversation(Writer(number)).say(2_000), after)
        for number, after in enumerate((0, 0, 0, 55))
    ]
    stage.play(person(), beside=others)
    assert turns[0].read == HEADER + ANSWER + NEW
    assert turns[0].reused == THINKING_CHAT
    assert turns[0].wait == pytest.approx(THINKING_S, abs=0.05)
