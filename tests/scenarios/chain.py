"""The published classifier chain: six queries, and an agent that takes the main session in between.

Lives here: the table of the checkpoints' document and the prompts that lead to it, for the
simulated and for the reference engine. Must not live here: what drives them (the tests).
"""

from attrs import define, field, frozen

from tests.scenarios.conversations import HEADER, Classifier, Conversation, Writer


@frozen
class Row:
    """One query: tokens reused and read and milliseconds to its answer, without and with.

    With: STRATA_SLOT_CHECKPOINTS=2 STRATA_BRANCH_CHECKPOINT=1024.
    """

    without: tuple[int, int]
    without_ms: int
    with_checkpoints: tuple[int, int]
    with_ms: int

    @property
    def tokens(self) -> int:
        """The query's length."""
        return sum(self.without)


CHAIN = [
    Row((0, 43_379), 14_146, (0, 43_379), 14_255),
    Row((0, 43_624), 14_112, (32_768, 10_856), 7_577),
    Row((0, 43_874), 14_277, (43_340, 534), 1_253),
    Row((0, 44_134), 14_399, (43_340, 794), 1_430),
    Row((0, 44_400), 14_535, (43_340, 1_060), 1_652),
    Row((0, 44_669), 14_596, (43_340, 1_329), 1_818),
]

AGENT = 27_341
"""Tokens of the agent's transcript before the header of its next reply."""

SHORT_ANSWER = 8


@define(eq=False)
class Scene:
    """The two conversations, with texts of their own for each seed."""

    seed: int
    writer: Writer = field(init=False)
    agent: Conversation = field(init=False)
    classifier: Classifier = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.writer = Writer(self.seed)
        self.agent = Conversation(self.writer)
        self.agent.say(AGENT + HEADER)
        self.classifier = Classifier(self.writer)
