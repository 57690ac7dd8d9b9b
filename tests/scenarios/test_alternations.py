"""Six alternations of an agent's conversation and a classifier chain, each in its own slot.

Published in the policy's document, "GPU run": STRATA_SLOT_PARK_MIN_VALUE=0.1 and the checkpoints
on; alone and with a client decoding beside them, every agent turn reused its 27,341 tokens and
every classifier query from the third on reused 43,340.
"""

import pytest

from slotd.policy.settings import PolicySettings
from slotd.policy.table_json import table_from_json
from tests.scenarios.chain import AGENT, CHAIN, SHORT_ANSWER, Scene
from tests.scenarios.conversations import Conversation
from tests.scenarios.stage import CHECKPOINTS, Ask, Person, Stage, decoding

AGENT_REUSES = [AGENT] * 6
CLASSIFIER_REUSES = [0, 32_768, 43_340, 43_340, 43_340, 43_340]

DEPLOYED = PolicySettings(park_min_value=0.1)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a client"])
def test_agent_reuses_27341_and_classifier_43340_from_the_third_query_on(beside: bool) -> None:
    stage = Stage(CHECKPOINTS, DEPLOYED)
    scene = Scene(seed=27)
    agent, queries = list[int](), list[int]()

    def alternate() -> Person:
        step = scene.agent.told
        yield Ask(step, 60, after=5)
        for row in CHAIN:
            queries.append((yield Ask(scene.classifier.query(row.tokens), SHORT_ANSWER, 1)).reused)
            # The agent's step is taken again, from where its reply begins.
            agent.append((yield Ask(step, 60, after=1)).reused)

    client = [decoding(Conversation(scene.writer).say(300))] if beside else []
    stage.play(alternate(), beside=client)
    assert agent == AGENT_REUSES
    assert queries == CLASSIFIER_REUSES
    (agents_slot,), (classifiers_slot,) = slots_of(stage, 27_000), slots_of(stage, 43_000)
    assert agents_slot != classifiers_slot


def slots_of(stage: Stage, least: int) -> set[int]:
    """The slots that held between `least` and 2,000 tokens more whenever a request came."""
    tables = [table_from_json(event.fields["table"]) for event in stage.told("place")]
    rows = [row for table in tables for row in table.slots]
    return {row.slot for row in rows if least <= row.tokens < least + 2_000}
