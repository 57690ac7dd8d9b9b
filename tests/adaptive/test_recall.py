import numpy as np

from protocol.tokens import TokenIds
from slotd.core.recall import MEMORY, Recall, milestones
from slotd.policy.story import Story

TURN = 7


def tokens(seed: int, count: int) -> TokenIds:
    return np.random.default_rng(seed).integers(1000, 200_000, count, dtype=np.int32)


def joined(*parts: TokenIds) -> TokenIds:
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])


def filed(recall: Recall, number: int, prompt: TokenIds, reply: TokenIds, at: float) -> Story:
    story = recall.story(number, prompt, TURN, at)
    recall.file(joined(prompt, reply[:-1]), story, at + 1)
    return story


def header() -> TokenIds:
    return np.array([TURN, 1, 2], dtype=np.int32)


def test_a_first_request_has_a_story_of_its_own() -> None:
    story = Recall().story(1, tokens(1, 500), None, 3.0)
    assert (story.turn, story.gap, story.continues, story.conversation) == (1, None, None, 1)


def test_the_next_turn_continues_the_history_it_holds_whole() -> None:
    recall = Recall()
    prompt, reply = tokens(1, 5000), tokens(2, 300)
    filed(recall, 1, prompt, reply, 10.0)
    story = recall.story(2, joined(prompt, reply, tokens(3, 40)), TURN, 31.0)
    assert (story.continues, story.how, story.turn) == (1, "whole", 2)
    assert (story.gap, story.added, story.returned) == (20.0, 41, 1.0)
    assert story.conversation == 1
    assert not story.leg


def test_a_request_that_moves_is_a_leg_of_the_same_turn() -> None:
    recall = Recall()
    prompt, reply = tokens(1, 5000), tokens(2, 300)
    first = filed(recall, 1, prompt, reply, 10.0)
    story = recall.story(2, joined(prompt, reply), TURN, 12.0)
    assert story.leg
    assert (story.turn, story.gap, story.added) == (first.turn, first.gap, first.added)


def test_a_reply_sent_back_changed_continues_from_the_last_turn() -> None:
    recall = Recall()
    prompt = joined(tokens(1, 5000), header())
    filed(recall, 1, prompt, tokens(2, 300), 10.0)
    story = recall.story(2, joined(prompt, tokens(3, 100)), TURN, 20.0)
    assert (story.continues, story.how) == (1, "turn")
    assert story.returned == 5000 / 5302


def test_a_rewritten_end_is_another_version() -> None:
    recall = Recall()
    body, closing = tokens(1, 40_000), joined(tokens(2, 36), header())
    filed(recall, 1, joined(body, closing), tokens(3, 10), 10.0)
    story = recall.story(2, joined(body, tokens(4, 250), closing), TURN, 20.0)
    assert (story.continues, story.how, story.returned) == (1, "version", 0.0)


def test_sharing_a_system_prompt_continues_nothing() -> None:
    recall = Recall()
    system = tokens(1, 5000)
    filed(recall, 1, joined(system, tokens(2, 2000), header()), tokens(3, 50), 1.0)
    story = recall.story(2, joined(system, tokens(4, 2000), header()), TURN, 2.0)
    assert story.continues is None


def test_the_longest_history_is_the_one_continued() -> None:
    recall = Recall()
    prompt, reply = tokens(1, 3000), tokens(2, 100)
    filed(recall, 1, prompt, reply, 1.0)
    second = joined(prompt, reply, tokens(3, 50))
    filed(recall, 2, second, tokens(4, 100), 10.0)
    story = recall.story(3, joined(second, tokens(4, 100), tokens(5, 5)), TURN, 20.0)
    assert (story.continues, story.turn) == (2, 3)


def test_memory_is_bounded_and_the_oldest_is_forgotten() -> None:
    recall = Recall(memory=3)
    for number in range(1, 6):
        filed(recall, number, tokens(number, 200), tokens(100 + number, 50), float(number))
    assert len(recall) == 3
    gone = joined(tokens(1, 200), tokens(101, 50), tokens(9, 9))
    kept = joined(tokens(5, 200), tokens(105, 50), tokens(9, 9))
    assert recall.story(10, gone, None, 9.0).continues is None
    assert recall.story(11, kept, None, 9.0).continues == 5
    assert MEMORY == 4096


def test_very_short_and_empty_prompts_are_nobodys() -> None:
    recall = Recall()
    filed(recall, 1, tokens(1, 30), tokens(2, 5), 1.0)
    story = recall.story(2, joined(tokens(1, 30), tokens(2, 5), tokens(3, 5)), TURN, 2.0)
    assert story.continues is None
    assert recall.story(3, tokens(1, 0), TURN, 2.0).continues is None


def test_milestones_rise_to_the_length() -> None:
    assert list(milestones(63)) == []
    assert list(milestones(3000)) == [64, 128, 256, 512, 1024, 2048]
