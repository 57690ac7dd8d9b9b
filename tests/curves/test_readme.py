"""The policy's page for operators names what there is."""

import re
from typing import get_args

from slotd.policy.park import ParkReason
from slotd.policy.place import PlaceReason
from slotd.policy.settings import DEFAULTS
from tests.paths import PROJECT

PAGE = (PROJECT / "slotd" / "policy" / "README.md").read_text()


def test_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert {name: float(default) for name, default in rows} == dict(DEFAULTS)


def test_every_reason_of_place_and_park() -> None:
    named = set(re.findall(r"\*\*([a-z_ ]+)\*\*", PAGE))
    reasons = {*get_args(PlaceReason), *get_args(ParkReason)}
    assert reasons <= {name.replace(" ", "_") for name in named}


def test_the_picture_and_the_command_that_makes_it() -> None:
    assert "](curves.png)" in PAGE
    assert "`slotd curves --png slotd/policy/curves.png`" in PAGE
