"""A minute of the soak; `SLOTD_SOAK_SECONDS` makes it longer or shorter."""

import os
from pathlib import Path

from tests.soak.__main__ import failures, warm_up
from tests.soak.soaking import soak
from tests.soak.traffic import EVERY

SECONDS = float(os.environ.get("SLOTD_SOAK_SECONDS", "60"))


async def test_a_minute_of_agents_is_exact_and_leaves_nothing_behind(tmp_path: Path) -> None:
    soaked = await soak(SECONDS, tmp_path)
    assert failures(soaked, warm_up(SECONDS)) == []
    assert soaked.ended > EVERY
    assert soaked.left > 0
    # Every kind of thing was on: requests were placed, parked, and read alone.
    assert {"place", "parked", "admitted", "solo_done", "cache_source"} <= soaked.events.keys()
