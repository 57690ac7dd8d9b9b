"""What the demo says when slotd or the engine does not do its part."""

import sys
from pathlib import Path

import pytest

from slotd.demo import player
from slotd.demo.columns import COLUMNS, Column
from slotd.demo.script import write_script

ENDS = "raise SystemExit(3)"
REFUSES = (
    "print('READY 270000 stop', flush=True); input(); print('ERR not today', flush=True); input()"
)


@pytest.mark.parametrize(
    ("program", "said"),
    [(ENDS, "slotd or the engine has ended"), (REFUSES, "the engine refused a request: not today")],
)
async def test_a_column_that_cannot_be_played_is_named_with_its_logs(
    program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def instead(column: Column, config: Path, log: Path, speed: float) -> list[str]:
        return [sys.executable, "-c", program]

    monkeypatch.setattr(player, "command", instead)
    with pytest.raises(player.DemoError) as refused:
        await player.play_columns(COLUMNS[1:2], write_script(1), 500, tmp_path, lambda _: None)
    text = str(refused.value)
    assert text == f"with slotd: {said} (see {tmp_path}/with.stderr and {tmp_path}/with.log)"


async def test_logs_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing"
    with pytest.raises(player.DemoError, match=r"missing/with\.log: cannot be written: No such"):
        await player.play_columns(COLUMNS[1:2], write_script(1), 500, nowhere, lambda _: None)
