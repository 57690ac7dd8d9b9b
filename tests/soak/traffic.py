"""The agent workload scaled down: the same conversations with every 16th token of each text.

Lives here: turning one request of a generated day into tokens, with the replies the engine really
gave in the places where the day has its replies. Must not live here: sending anything.

Texts that share a beginning still share it when every 16th token is kept, so what continues,
supersedes or branches off what is as it was.
"""

from collections.abc import Mapping, Sequence

from slotd.workload.prompt import TURN_STREAM, TURN_TOKEN, Prompt, text
from slotd.workload.traffic import RequestSpec

EVERY = 16
"""Of a text's tokens, one in so many is kept; of turn tokens, each."""

Replies = Mapping[int, Sequence[int]]
"""The tokens the engine gave for a reply's text, by the text's number."""


def tokens_of(prompt: Prompt, replies: Replies) -> list[int]:
    """Return the scaled tokens; where the prompt holds a reply, those of the real one."""
    tokens: list[int] = []
    for stream, start, count in prompt.runs.tolist():
        if stream == TURN_STREAM:
            tokens += [TURN_TOKEN] * count
            continue
        first, end = -(-start // EVERY), -(-(start + count) // EVERY)
        if stream in replies:
            tokens += replies[stream][first:end]
        elif end > first:
            tokens += text(stream, end - first, first).tokens().tolist()
    return tokens


def reply_lengths(request: RequestSpec) -> dict[int, int]:
    """Return how many scaled tokens its reply gives each of the reply's texts, in order."""
    lengths: dict[int, int] = {}
    for stream, start, count in request.reply.runs.tolist():
        assert start == 0, "a generated reply is texts of its own, from their beginnings"
        lengths[stream] = -(-count // EVERY)
    return lengths
