"""When a park by slotd's own request is thought of, and when it is left alone."""

import pytest
from attrs import evolve

from slotd.core.own_park import AFFORDABLE_READ
from slotd.core.settings import ParkSetting
from slotd.core.sidecar import SidecarSettings
from slotd.policy.settings import PolicySettings
from tests.core.transcript import ACTIVE_ROWS
from tests.emulated_park.transcript import EMULATED, HELD, LONG, PLAIN, ParkTranscript, parking

TURN = 9
"""The turn token of the tests that set one."""


def with_settings(settings: SidecarSettings, info: str = PLAIN) -> ParkTranscript:
    talk = ParkTranscript(info, settings)
    talk.solo(LONG)
    return talk


def skips(talk: ParkTranscript) -> list[object]:
    return [told["reason"] for told in talk.told("park_skip")]


@pytest.mark.parametrize("setting", ["auto", "native", "off"])
def test_only_the_setting_emulated_sends_anything(setting: ParkSetting) -> None:
    talk = with_settings(evolve(EMULATED, park=setting))
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk) == []


def test_an_engine_that_has_a_park_is_asked_by_its_key() -> None:
    talk = with_settings(EMULATED, f"batch_slots=4 {ACTIVE_ROWS}")
    talk.act(">> GEN 5 1,2,3\n> GEN 5 park=0 1,2,3")


@pytest.mark.parametrize("info", ["batch_slots=4", "batch_slots=4 slot_cache=0", "slot_cache=1"])
def test_an_engine_whose_slots_keep_nothing_is_left_alone(info: str) -> None:
    with_settings(EMULATED, info).act(">> GEN 5 1,2,3\n=")


def test_policy_off_sends_nothing() -> None:
    with_settings(evolve(EMULATED, policy_name="off")).act(">> GEN 5 1,2,3\n=")


def test_the_refusals_are_the_policys() -> None:
    talk = parking(policy=PolicySettings(park_min_value=1))
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk) == ["main_low_value"]
    assert [place["park"] for place in talk.told("place")] == [
        {"slot": None, "reason": "main_low_value"}
    ]


def test_a_prompt_that_continues_the_main_session_parks_nothing() -> None:
    talk = parking()
    talk.act(f">> GEN 5 {LONG},500,7\n=")
    assert skips(talk) == []


def test_a_client_that_keeps_its_keys_parks_itself() -> None:
    talk = with_settings(evolve(EMULATED, keep_client_keys=True))
    talk.act(">> GEN 5 park=2 1,2,3\n=")


def test_nothing_is_parked_while_another_request_is_on_its_way() -> None:
    talk = parking()
    talk.act(">> VRAM 5\n=\n>> GEN 5 1,2,3\n=")


def test_the_other_setting_of_cvec_comes_along() -> None:
    talk = ParkTranscript()
    talk.act(f">> GEN 9 cvec=0 {LONG}\n=\n<< RESUME 0\n=\n<< T 5\n=")
    talk.act(f"<< DONE 1 {HELD} 1000.0 1.0 length 0 0 0\n=")
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 cvec=0 {LONG},5")


@pytest.mark.parametrize(("context", "room"), [(HELD + 11, True), (HELD + 10, False)])
def test_the_context_must_have_room_for_it(context: int, room: bool) -> None:
    talk = parking()
    talk.model.capabilities = talk.model.capabilities.with_ready(context, stop=True)
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {LONG},500" if room else ">> GEN 5 1,2,3\n=")
    assert skips(talk) == ([] if room else ["no_room"])
    assert talk.told("place")[0]["park"] == ({"slot": 0, "reason": "reclaim"} if room else None)


def drafted(reply: int, settings: SidecarSettings = EMULATED) -> ParkTranscript:
    """A reply of some tokens has ended the main session's, with drafts: it may hold more."""
    talk = ParkTranscript(settings=settings)
    tokens = "\n".join(f"<< T {500 + number}\n=" for number in range(reply))
    talk.act(f">> GEN 99999 {LONG}\n=\n<< RESUME 0\n=\n{tokens}")
    talk.act(f"<< DONE {reply} {HELD} 1000.0 1.0 stop 5 9 0\n=")
    return talk


def test_what_may_be_a_few_drafts_more_is_tried_where_a_wrong_guess_is_cheap() -> None:
    talk = drafted(3)
    assert not talk.main.exact
    talk.act(f">> GEN 5 1,2,3\n> BGEN 0 2 {LONG},500,501,502")
    talk.act(f"<< RESUME {HELD}\n<< PP {HELD + 2} {HELD + 3} 1.0 1.0\n<< T 600")
    assert talk.drifts() == []


def test_it_is_not_where_the_reply_is_longer_than_a_chunk() -> None:
    talk = drafted(AFFORDABLE_READ + 1)
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk) == ["inexact"]


def test_it_is_not_where_a_wrong_guess_cannot_be_stopped() -> None:
    talk = drafted(3)
    talk.model.capabilities = talk.model.capabilities.with_ready(270_000, stop=False)
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk) == ["inexact"]


RETURNED = "[100..8000]"
"""A prompt, and beside it in the slot 99 tokens of a reply."""


def returned(settings: SidecarSettings = EMULATED) -> ParkTranscript:
    """A conversation was taken back from slot 0 to the main session, where it went on.

    A slot gives all it holds back without its checkpoints.
    """
    talk = ParkTranscript(settings=settings)
    tokens = " ".join(str(number) for number in range(8001, 8100))
    assert talk.admit(0, RETURNED, tokens=tokens) == 0
    talk.finish(0, "cancel")
    talk.solo("1,2,3")
    prompt = f"{RETURNED},500,{tokens.replace(' ', ',')}"
    talk.act(f">> GEN 9999 {prompt}\n=\n<< RESUME {7901 + 99}\n=")
    talk.act("\n".join(f"<< T {token}\n=" for token in range(10_000, 10_400)))
    talk.act(f"<< DONE 400 {7901 + 100} 1.0 1.0 length 0 0 {7901 + 99}\n=")
    talk.now = 100.0
    return talk


def test_a_copy_without_a_checkpoint_does_not_replace_an_older_one() -> None:
    talk = returned()
    assert talk.main.boundary == 0
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk)[-1] == "no_checkpoint"


def test_it_may_replace_anything_else() -> None:
    talk = returned()
    talk.slot(0).lose()
    output = talk.put(">>", b"GEN 5 1,2,3\n")
    assert b"".join(output.to_engine).startswith(b"BGEN 0 2 100,")


def test_a_last_token_that_is_not_known_is_not_made_up() -> None:
    talk = parking()
    talk.main.pending = None
    talk.act(">> GEN 5 1,2,3\n=")
    assert skips(talk) == ["inexact"]


def test_what_the_parks_slot_had_for_checkpoints_is_forgotten_once_it_is_sent() -> None:
    talk = parking()
    talk.slot(0).checkpoints = (3,)
    talk.put(">>", b"GEN 5 1,2,3\n")
    assert talk.slot(0).checkpoints == ()
