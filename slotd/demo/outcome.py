"""What a column of the demo came to: each turn, and their sums.

Lives here: the figures and how they are summed up. Must not live here: how they were got, and how
they look.
"""

from collections.abc import Sequence

from attrs import frozen

from slotd.demo.columns import Column


@frozen
class Turn:
    """One request and what it took. Lengths in tokens."""

    scene: str
    who: str
    what: str
    conversation: str
    prompt: int
    known: int
    """How much of the prompt the engine had read or written before, in this conversation."""

    reused: int
    """What the engine still held of the prompt."""

    read: int
    """What it had to read, over all the request's ways through the engine."""

    first_token_ms: float
    """Engine time from the request's arrival to its first token."""

    answer: tuple[int, ...] | None
    """The tokens got; None for one whose client went away."""

    @property
    def read_again(self) -> int:
        """Tokens read that had been read or written before."""
        return max(0, self.known - self.reused)

    def as_json(self) -> dict[str, str | int | float]:
        """Write the turn's figures with their names."""
        return {
            "scene": self.scene,
            "who": self.who,
            "what": self.what,
            "conversation": self.conversation,
            "prompt": self.prompt,
            "known": self.known,
            "reused": self.reused,
            "read": self.read,
            "read_again": self.read_again,
            "first_token_ms": round(self.first_token_ms, 1),
        }


@frozen
class Result:
    """What one column came to."""

    column: Column
    turns: tuple[Turn, ...]
    log: str
    """slotd's log of the run: a path."""

    @property
    def read(self) -> int:
        """Tokens read in all."""
        return sum(turn.read for turn in self.turns)

    @property
    def read_again(self) -> int:
        """Tokens read in all that had been read or written before."""
        return sum(turn.read_again for turn in self.turns)

    @property
    def waited_s(self) -> float:
        """Seconds of engine time that people waited for first tokens, in all."""
        return sum(turn.first_token_ms for turn in self.turns) / 1000

    def as_json(self) -> dict[str, object]:
        """Write the column with its sums and turns."""
        return {
            "name": self.column.name,
            "title": self.column.title,
            "about": self.column.about,
            "log": self.log,
            "read": self.read,
            "read_again": self.read_again,
            "waited_s": round(self.waited_s, 3),
            "turns": [turn.as_json() for turn in self.turns],
        }


def same_answers(results: Sequence[Result]) -> bool:
    """Whether every turn whose answer was read to its end got the same tokens in every column."""
    for row in zip(*(result.turns for result in results), strict=True):
        answers = {turn.answer for turn in row if turn.answer is not None}
        if len(answers) > 1:
            return False
    return True
