import pytest

from slotd.explain.what_if import SlotChange, settings_given
from slotd.policy.settings import SettingError
from tests.explain.logs import explained, place_event
from tests.policy.builders import gen, main_row, row, table


def test_settings_are_given_by_their_short_names() -> None:
    assert settings_given(["ttl_max_s=60", "sibling_share=0", "ttl_max_s=30"]) == {
        "ttl_max_s": 30.0,
        "sibling_share": 0.0,
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ttl_max_s", "'ttl_max_s' sets nothing: write it as NAME=VALUE"),
        ("ttl=3", "unknown setting 'ttl': give one of ttl_max_s, expired_keep_score, "),
        ("STRATA_SLOT_TTL_MAX_S=3", "unknown setting 'STRATA_SLOT_TTL_MAX_S': give one of ttl_max"),
        ("ttl_max_s=soon", "ttl_max_s is 'soon': give a finite number, 0 or more (default 120)"),
        ("sibling_share=1.5", "sibling_share is '1.5': give a share from 0 to 1 (default 0.98)"),
        ("ttl_max_s=", "ttl_max_s is '': give a finite number"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(SettingError) as refused:
        settings_given([text])
    assert str(refused.value).startswith(says)


ALL_PROTECTED = table(*(row(slot, 50_000 - slot, age=30.0) for slot in range(6)))


def test_another_slot_and_another_rule() -> None:
    rows = (row(0, 9_000, age=60.0), *(row(slot, 50_000, age=70.0) for slot in range(1, 6)))
    told = explained(place_event(table(*rows)), given={"ttl_max_s": 360.0})
    assert told.what_if is not None
    assert told.verdict.decision.placement.reason == "reclaim"
    assert told.what_if.changed == {"ttl_max_s": 360.0}
    assert told.what_if.slots == (
        *(
            SlotChange(
                slot,
                "expired, worth keeping, value 0.231",
                "protected, value 0.676, 125.0 s left",
            )
            for slot in range(1, 6)
        ),
    )


def test_protection_off_reclaims_what_was_least_loss() -> None:
    told = explained(place_event(ALL_PROTECTED), given={"ttl_max_s": 0.0})
    assert told.what_if is not None
    assert told.verdict.decision.placement.reason == "least_loss"
    assert told.what_if.verdict.decision.placement.reason == "reclaim"
    assert told.what_if.verdict.place_rules[-1].rule == "reclaim"


def test_a_park_that_would_have_been() -> None:
    of = table(main=main_row(12_000, age=1_500.0), request=gen(), park_min_value=0.1)
    told = explained(place_event(of), given={"park_min_value": 0.01})
    assert told.what_if is not None
    park, other = told.verdict.decision.park, told.what_if.verdict.decision.park
    assert park is not None
    assert other is not None
    assert (park.reason, other.reason, other.slot) == ("main_low_value", "reclaim", 0)


def test_a_setting_as_it_is_changes_nothing() -> None:
    told = explained(place_event(ALL_PROTECTED), given={"ttl_max_s": 120.0})
    assert told.what_if is not None
    assert told.what_if.changed == {}
    assert told.what_if.slots == ()
    assert told.what_if.verdict == told.verdict


def test_without_settings_nothing_is_decided_again() -> None:
    assert explained(place_event(ALL_PROTECTED)).what_if is None
