"""Which turn checkpoint the main session is known to have."""

import pytest
from attrs import evolve

from slotd.core.boundary import EVERY
from tests.core.transcript import spelled
from tests.emulated_park.transcript import EMULATED, ParkTranscript

TURN = 9
FIRST = "[100..199],9,1,2"
"""A prompt of 103 tokens whose last turn begins after 100."""
REPLY = "500,501,502"
HELD = 105


def conversation(turn_token: int | None = TURN) -> ParkTranscript:
    """One turn of a conversation is in the main session."""
    talk = ParkTranscript(settings=evolve(EMULATED, turn_token=turn_token))
    talk.solo(FIRST, REPLY.replace(",", " "))
    return talk


def go_on(talk: ParkTranscript, prompt: str, said: int) -> int | None:
    """Play a solo request that resumes `said` tokens; return the checkpoint known afterwards."""
    talk.put(">>", b"GEN 9 " + talk_ids(prompt) + b"\n")
    length = talk_ids(prompt).count(b",") + 1
    talk.put("<<", b"RESUME %d\nT 7\nDONE 1 %d 1 1 length 0 0 %d\n" % (said, length, said))
    assert talk.main.valid
    return talk.main.boundary


def talk_ids(text: str) -> bytes:

    return spelled(text).encode()


def test_a_read_that_crosses_the_last_turn_saves_one_there() -> None:
    assert conversation().main.boundary == 100


def test_the_turn_must_not_be_the_prompts_last_token() -> None:
    assert go_on(conversation(), "[300..350],9,5,9", 0) == 51


def test_without_a_turn_it_has_none() -> None:
    assert go_on(conversation(), "[300..350]", 0) == 0


def test_without_a_turn_token_nothing_is_known_of_what_was_read() -> None:
    assert conversation(None).main.boundary is None


@pytest.mark.parametrize("turn_token", [None, TURN])
def test_what_is_resumed_without_reading_keeps_what_it_had(turn_token: int | None) -> None:
    talk = conversation(turn_token)
    kept = talk.main.boundary
    assert go_on(talk, f"{FIRST},{REPLY}", HELD) == kept


def test_the_next_turn_saves_its_own() -> None:
    assert go_on(conversation(), f"{FIRST},{REPLY},9,30,9,1,2", HELD) == HELD + 3


def test_a_reply_that_is_sent_back_changed_resumes_at_the_checkpoint_and_keeps_it() -> None:
    assert go_on(conversation(), f"{FIRST},77,78", 100) == 100


def test_a_whole_slot_comes_without_its_checkpoints() -> None:
    talk = conversation()
    talk.admit(0, "[300..350],9,1,2", tokens="600 601")
    talk.finish(0)
    talk.solo("7,8")
    assert go_on(talk, "[300..350],9,1,2,500,600,601", 56) == 0


def test_a_reported_checkpoint_of_a_slot_comes_along() -> None:
    talk = conversation()
    slot = talk.fill(0, "[300..350],9,1,2")
    talk.slot(slot).checkpoints = (51,)
    talk.solo("7,8")
    assert go_on(talk, "[300..350],9,1,7", 51) == 51


def test_what_nothing_explains_is_not_known() -> None:
    assert go_on(conversation(), f"{FIRST},{REPLY},7,8", 104) is None


def test_a_periodic_checkpoint_behind_the_turn_leaves_it_unknown() -> None:
    before = f"[1000..{1000 + EVERY - 3}]"
    assert go_on(conversation(), f"{before},9,1,2,3", 0) is None
    assert go_on(conversation(), f"{before},1,2,3,4,5,6,9,1,2", 0) == EVERY + 4


def test_another_setting_counts_from_the_next_request_on() -> None:
    talk = conversation(None)
    talk.sidecar.replace_settings(evolve(EMULATED, turn_token=TURN))
    assert go_on(talk, f"{FIRST},{REPLY},9,30,9,1,2", HELD) == HELD + 3
    talk.sidecar.engine_eof(1.0)
    assert talk.model.capabilities.turn_token == TURN


def test_an_engines_own_turn_token_goes_first() -> None:
    talk = ParkTranscript("batch_slots=4 slot_cache=1 turn_token=8", evolve(EMULATED, turn_token=9))
    talk.sidecar.replace_settings(evolve(EMULATED, turn_token=7))
    assert talk.model.capabilities.turn_token == 8
