"""STRATA_SLOT_PARK_MIN_VALUE: from which worth on the main session's conversation is parked.

Published in the policy's document: at 0.1 a 50K conversation idle 25 minutes (value about 0.07) is
not parked and idle 20 minutes (about 0.13) it is; at the default of 0.01 a 5,000-token conversation
is parked and a 2,000-token one is not.
"""

import pytest

from slotd.policy.settings import PolicySettings
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.stage import Stage

CASES = [
    # PARK_MIN_VALUE, tokens held, seconds idle, its value then, whether it is parked
    (0.1, 50_000, 25 * 60, 0.07, False),
    (0.1, 50_000, 20 * 60, 0.13, True),
    (0.01, 50_000, 25 * 60, 0.07, True),
    (0.01, 5_000, 60, 0.025, True),
    (0.01, 2_000, 60, 0.0066, False),
]


@pytest.mark.parametrize(("least", "held", "idle_s", "value", "parked"), CASES)
def test_parked_from_this_value_on(
    least: float, held: int, idle_s: float, value: float, parked: bool
) -> None:
    stage = Stage(policy=PolicySettings(park_min_value=least))
    writer = Writer(50)
    long = Conversation(writer)
    long.hear(stage.ask(long.say(held - 9), 10).tokens)
    stage.ask(Conversation(writer).say(300), 20, after=idle_s)
    (told,) = [*stage.told("park"), *stage.told("park_skip")]
    assert (told.fields["main_tokens"], told.fields["main_age"]) == (held, idle_s)
    assert told.fields["main_value"] == pytest.approx(value, rel=0.1)
    assert told.fields["reason"] == ("reclaim" if parked else "main_low_value")
    turn = stage.ask(long.say(20), 10, after=5)
    assert turn.reused == (held if parked else 0)
