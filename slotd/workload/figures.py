"""The figures of the generated working day, each with where it comes from.

"Policy" is the document that describes the placement policy, "checkpoints" the one that describes
slot checkpoints (both in the shared seeds).  Where neither says anything the figure is an
assumption of this project, and says so: of a range whose source gives one end, the other.  What the
generator (`slotd.workload.agents`) draws and waits for is all in here.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

ASSUMED: Final = "assumption"


@frozen
class Figure:
    """One figure: `value` is a number or a (low, high) range in `unit`, `source` where it is from.

    Ranges are drawn from evenly, unless the unit says that they are the 16th and 84th percentile of
    a log-normal distribution ("log").
    """

    value: float | tuple[float, float]
    unit: str
    source: str

    @property
    def low(self) -> float:
        """The range's low end; a plain number itself."""
        return self.value[0] if isinstance(self.value, tuple) else self.value

    @property
    def high(self) -> float:
        """The range's high end; a plain number itself."""
        return self.value[1] if isinstance(self.value, tuple) else self.value

    @property
    def whole(self) -> int:
        """The figure as a whole number (its low end)."""
        return int(self.low)


FIGURES: Final[dict[str, Figure]] = {
    # The service
    "people": Figure(2, "people", "policy: a server used by two people with agent clients"),
    "long_prompts_a_day": Figure(
        504, "prompts of 8K or more", "policy: 3,027 in six days of log; the day is set to meet it"
    ),
    "day": Figure(8, "hours", ASSUMED),
    "day_begin": Figure((0, 600), "seconds into the day at which a person begins", ASSUMED),
    "lunch_after": Figure((3.5, 4.5), "hours from the day's begin", ASSUMED),
    "lunch": Figure((40, 70), "minutes", ASSUMED),
    "read_tok_s": Figure(2668, "tokens/s", "policy: 37,359 tokens take 14 s; for arrivals only"),
    "decode_tok_s": Figure(67, "tokens/s", "policy: 67.3 with one client; for arrivals only"),
    # Agent sessions
    "agent_system": Figure(20_000, "tokens", "policy: 20K in common of a 30K conversation"),
    "agent_opening": Figure(
        (1_000, 10_000), "tokens", "policy: the other 10K of those 30K; the low end assumed"
    ),
    "opening_wait": Figure(1, "seconds to a session's first prompt", ASSUMED),
    "session_limit": Figure(170_000, "tokens", "policy: parks of 10K to 170K tokens"),
    "summary": Figure((4_000, 8_000), "tokens kept when a full session is summarised", ASSUMED),
    "rounds": Figure((3, 8), "rounds a session (a person's prompt each)", ASSUMED),
    "steps": Figure((2, 8), "model calls a round, one a tool call and the answer", ASSUMED),
    "person_text": Figure((20, 400), "tokens a prompt of a person, log", ASSUMED),
    "tool_result": Figure((150, 2_500), "tokens a tool call brings in, log", ASSUMED),
    "step_reply": Figure((60, 350), "tokens a reply that calls a tool, log", ASSUMED),
    "answer": Figure(
        (100, 1_500),
        "tokens of a round's answer",
        "policy: 1,500-token answers; the low end assumed",
    ),
    "tool_time": Figure((1, 12), "seconds a tool call takes, log", ASSUMED),
    "reading": Figure((150, 1_000), "seconds a person reads and types, log", ASSUMED),
    "new_session": Figure((600, 4_200), "seconds between two sessions, log", ASSUMED),
    # Sub-agents
    "subagent_share": Figure(0.15, "of the rounds start sub-agents", ASSUMED),
    "subagents": Figure((1, 3), "sub-agents beside each other", ASSUMED),
    "subagent_system": Figure(8_000, "tokens", ASSUMED),
    "subagent_steps": Figure((2, 6), "model calls a sub-agent", ASSUMED),
    # The safety classifier
    "classifier_people": Figure(0.5, "of the people run it, the first included", ASSUMED),
    "classifier_system": Figure(2_000, "tokens of the transcript: its instructions", ASSUMED),
    "classifier_transcript": Figure((42_000, 74_000), "tokens", "checkpoints: 42-74K-token"),
    "classifier_growth": Figure(
        (245, 269), "tokens a query", "checkpoints: 43,379 43,624 43,874 44,134 44,400 44,669"
    ),
    "classifier_closing": Figure(39, "tokens", "checkpoints: 43,379 left at 43,340"),
    "classifier_queries": Figure(
        (1, 3), "queries a step", "checkpoints: several per agent step; how many assumed"
    ),
    "classifier_wait": Figure(0.2, "seconds before each query", ASSUMED),
    "classifier_answer": Figure((5, 20), "tokens", "checkpoints: short answers; length assumed"),
    "classifier_from": Figure(42_000, "tokens of the session that calls it first", ASSUMED),
    # Side requests
    "title": Figure(300, "tokens", "policy: a side request's 300 tokens"),
    "title_answer": Figure((8, 30), "tokens", ASSUMED),
    "side_text": Figure((40, 80), "tokens of either that no other request has", ASSUMED),
    "side": Figure(1_500, "tokens", "policy: the side request's 1.5K history"),
    "side_share": Figure(0.5, "of the rounds have one", ASSUMED),
    # Chats
    "chat_begin": Figure((0.02, 0.9), "of the day gone when chats begin", ASSUMED),
    "chat_lengths": Figure((7_900, 9_000), "tokens", "policy: conversations B (9K) and C (7.9K)"),
    "chat_gap": Figure(30, "seconds between turns of two chats", "policy: about every 30 s"),
    "chat_new": Figure(20, "tokens a turn brings in", "policy: all but the ~20 new"),
    "chat_turns": Figure((3, 8), "turns each", ASSUMED),
    "chats_a_day": Figure(2, "pairs of chats a person and day", ASSUMED),
    "chat_reply": Figure((60, 500), "tokens, log", ASSUMED),
    "thinking_chat": Figure(19_176, "tokens", "policy: its next turn reused 19,176"),
    "thinking": Figure((200, 1_200), "tokens of thinking, not sent back, log", ASSUMED),
    "thinking_turns": Figure((3, 8), "turns", ASSUMED),
    "thinking_chats_a_day": Figure(2, "a person and day", ASSUMED),
}
"""Every figure by name."""


def figures_table() -> str:
    """Write the figures as lines of text: name, value, unit, source."""
    lines = []
    for name, figure in FIGURES.items():
        value = (
            f"{figure.low:g}" if figure.low == figure.high else f"{figure.low:g}-{figure.high:g}"
        )
        lines.append(f"{name:22} {value:>14} {figure.unit}  [{figure.source}]")
    return "\n".join(lines)
