"""What the two people of the demo do: an order of requests and pauses, the same for every column.

Lives here: who says what after what, and how long the texts are. Must not live here: answers (they
are the engine's), time, or processes.

The texts are made up and mean nothing; only their lengths and what they have in common matter. Side
requests, the classifier's closing text and the two chats have the lengths of the generated working
day (`slotd.workload.figures`), the conversation is the published one of 37,000 tokens. The
classifier's transcript is shorter than published and grows faster, as a demo has few queries' time.
"""

import random

from attrs import define, field, frozen

from slotd.workload.figures import FIGURES
from slotd.workload.prompt import NOTHING, TURN, Prompt, text

_ROLE = 1
_CLASSIFIER_END = 2
_FIRST_FREE = 10
_STREAMS_A_SEED = 10_000
_ENDLESS = 100_000
"""Tokens of an answer that nobody reads to its end."""

CONVERSATION = "conversation"
"""The name of the long conversation whose next turns the demo is about."""


@frozen
class Say:
    """One request of a person's client."""

    who: str
    what: str
    conversation: str
    """The transcript it goes on with; a name that is new begins one."""

    words: Prompt
    """What is added to the transcript."""

    answer: int
    """Tokens the engine is asked for."""

    closing: Prompt = NOTHING
    """The end of this prompt only: the next one has something else in its place."""

    keeps_answer: bool = True
    """Whether closing and answer are part of the transcript from then on."""

    waits: bool = True
    """Whether the script goes on at the answer's end; else at its first token."""


@frozen
class Pause:
    """The people read, or a tool runs."""

    seconds: float
    """Seconds of engine time."""


@frozen
class Leave:
    """The clients that still get answers go away."""

    conversations: tuple[str, ...]


@frozen
class Scene:
    """A part of the script with a heading of its own."""

    title: str
    steps: tuple[Say | Pause | Leave, ...]


def write_script(seed: int) -> tuple[Scene, ...]:
    """Write the script; another seed gives other texts, message lengths and pauses."""
    writer = _Writer(random.Random(seed), seed * _STREAMS_A_SEED + _FIRST_FREE)
    return (
        _between_turns(writer),
        _classifier(writer),
        _beside_long_answers(writer),
        _two_chats(writer),
    )


def _header() -> Prompt:
    """Return the three tokens a message begins with; alone, they ask for the reply."""
    return TURN + text(_ROLE, 2)


@define
class _Writer:
    """Draws lengths and fresh texts."""

    chance: random.Random
    stream: int
    sides: int = field(default=0, init=False)

    def fresh(self, least: int, most: int | None = None) -> Prompt:
        """Return a new text of `least` to `most` tokens (exactly `least` without `most`)."""
        self.stream += 1
        return text(self.stream, self.chance.randint(least, most or least))

    def message(self, least: int, most: int | None = None) -> Prompt:
        """Return a message of a person or a tool, and the header of the reply."""
        return _header() + self.fresh(least, most) + _header()

    def pause(self, least: float, most: float) -> Pause:
        """Return a pause of `least` to `most` seconds of engine time."""
        return Pause(round(self.chance.uniform(least, most), 1))

    def next_turn(self, what: str = "next turn") -> Say:
        """Go on with the long conversation."""
        return Say("Ann", what, CONVERSATION, self.message(12, 60), answer=80)

    def side_request(self) -> Say:
        """Ask for something small in a conversation of its own, as agent clients do."""
        self.sides += 1
        name = f"side request {self.sides}"
        about = FIGURES["title"].whole
        return Say("Ann", "side request", name, self.message(about - 20, about + 20), answer=24)


def _between_turns(writer: _Writer) -> Scene:
    """Put a short request between two turns of a long conversation; each runs alone."""
    opening = Say("Ann", "opens a conversation", CONVERSATION, writer.message(36_995), answer=358)
    return Scene(
        "Ann's agent, and a side request between two turns",
        (
            opening,
            writer.pause(4, 8),
            writer.side_request(),
            writer.pause(4, 8),
            writer.next_turn(),
            writer.pause(4, 8),
        ),
    )


def _classifier(writer: _Writer) -> Scene:
    """Check each step of the agent by a query that rewrites the end of the one before it."""
    end = _header()
    closing = text(_CLASSIFIER_END, FIGURES["classifier_closing"].whole - len(end)) + end
    grows = [writer.fresh(24_000), *(writer.fresh(550, 700) for _ in range(3))]
    steps: list[Say | Pause | Leave] = []
    for number, new in enumerate(grows, start=1):
        query = Say(
            "Ann",
            f"safety check {number}",
            "classifier",
            new,
            answer=8,
            closing=closing,
            keeps_answer=False,
        )
        steps += [writer.next_turn("agent's step"), writer.pause(1, 2), query, writer.pause(1, 2)]
    return Scene("Every step of Ann's agent is checked by a classifier", tuple(steps))


def _beside_long_answers(writer: _Writer) -> Scene:
    """Do the same while two answers are being written, so that all of it runs in batch slots."""
    agents = ("agent 1", "agent 2")
    openings = tuple(
        Say("Ben", f"{name}, long answer", name, writer.message(6_000), _ENDLESS, waits=False)
        for name in agents
    )
    return Scene(
        "A side request again, while two of Ben's agents write long answers",
        (
            *openings,
            writer.pause(2, 3),
            writer.next_turn(),
            writer.pause(4, 8),
            writer.side_request(),
            writer.pause(4, 8),
            writer.next_turn(),
            Leave(agents),
            writer.pause(2, 3),
        ),
    )


def _two_chats(writer: _Writer) -> Scene:
    """Let two chats of one person take turns."""
    lengths = FIGURES["chat_lengths"]
    chats = (("chat 1", int(lengths.high)), ("chat 2", int(lengths.low)))
    steps: list[Say | Pause | Leave] = []
    for turn in (1, 2, 3):
        for name, length in chats:
            words = writer.message(length) if turn == 1 else writer.message(12, 60)
            steps += [Say("Ben", f"{name}, turn {turn}", name, words, 60), writer.pause(4, 8)]
    return Scene("Ben's two chats take turns", tuple(steps[:-1]))
