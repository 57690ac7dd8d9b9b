"""A parked conversation's next turn after a side request.

Published in the policy's document: a 37,359-token conversation reuses 37,352 tokens and takes about
1 s; without `park=` it reuses nothing and takes 14 s. Parking 36-37K tokens took 414-451 ms, and
24 parks in production 13.2 ms per 1,000 tokens.
"""

import pytest

from slotd.core.sidecar import Sidecar, SidecarSettings
from tests.scenarios.conversations import Conversation, Writer
from tests.scenarios.stage import Stage

CONVERSATION, HELD = 37_359, 37_352
REPLY = 358

PARKED = SidecarSettings()
WITHOUT_PARK = SidecarSettings(park="off")
OFF = SidecarSettings(policy_name="off")

REUSED_AND_SECONDS = [(PARKED, HELD, 1), (WITHOUT_PARK, 0, 14), (OFF, 0, 14)]
"""(settings, tokens of the next turn that are reused, seconds to its first token, rounded)."""


@pytest.mark.parametrize(("settings", "reused", "seconds"), REUSED_AND_SECONDS)
def test_next_turn_reuses_37352_in_a_second_or_nothing_in_14(
    settings: SidecarSettings, reused: int, seconds: int
) -> None:
    stage = Stage(sidecar=Sidecar(settings))
    writer = Writer(37)
    long = Conversation(writer)
    first = stage.ask(long.say(HELD - REPLY + 1), REPLY)
    long.hear(first.tokens)
    assert first.wait == pytest.approx(14.0, abs=0.2)
    side = stage.ask(Conversation(writer).say(300), 20, after=8)
    turn = stage.ask(long.say(CONVERSATION - HELD - 1), 20, after=4)
    assert (turn.record.prompt, turn.reused) == (CONVERSATION, reused)
    assert round(turn.wait) == seconds
    copies = [event.fields for event in stage.told("parked")]
    assert [fields["tokens"] for fields in copies] == ([HELD] if settings is PARKED else [])
    # The side request waits for the copy.
    assert side.wait == pytest.approx(0.7 if copies else 0.2, abs=0.05)
