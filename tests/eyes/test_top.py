"""The full screen of `slotd top`, driven without a terminal."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from slotd.eyes.ask import NoAnswerError
from slotd.eyes.screen import TopScreen
from tests.daemon.processes import HANGS_AFTER
from tests.eyes.statuses import busy, slot

Scene = Callable[[Pilot[None]], Coroutine[Any, Any, None]]


class Asked:
    """Counts how often it is asked; answers from a list, the last one for ever."""

    def __init__(self, *answers: dict[str, Any] | None) -> None:
        self.times = 0
        self._answers = answers

    def __call__(self) -> dict[str, Any]:
        answer = self._answers[min(self.times, len(self._answers) - 1)]
        self.times += 1
        if answer is None:
            raise NoAnswerError("socket /x: nobody listens there")
        return answer


def play(asked: Asked, scene: Scene, size: tuple[int, int] = (80, 24), every_s: float = 60) -> None:
    async def run() -> None:
        async with TopScreen(asked, every_s).run_test(size=size) as pilot:
            await until(pilot, lambda: asked.times > 0)
            await settled(pilot)
            await scene(pilot)

    asyncio.run(run())


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANGS_AFTER):
        while not true():
            await pilot.pause(0.02)


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    for _ in range(3):  # what is to be done after a refresh is done after the next one
        await pilot.pause()


def lines(pilot: Pilot[None]) -> list[str]:
    """Return what is on the screen."""
    width, height = pilot.app.size
    rows = pilot.app.screen._compositor.render_strips()
    assert len(rows) == height
    assert all(row.cell_length == width for row in rows)
    return [row.text.rstrip() for row in rows]


def test_everything_is_readable_in_80x24() -> None:
    async def scene(pilot: Pilot[None]) -> None:
        shown = lines(pilot)
        assert shown[0].startswith("slotd 0.1.0 host")
        assert shown[5] == "now request 13 reading 32,768/91,000 for 13s"
        assert shown[7].split()[:3] == ["slot", "client", "state"]
        assert [row.split()[0] for row in shown[8:14]] == list("012345")
        assert shown[14].startswith("main")
        assert "request=95" in shown[22]
        assert shown[22].endswith("…")
        assert "Quit" in shown[23]

    play(Asked(busy()), scene)


def test_more_slots_than_fit_leave_room_for_events() -> None:
    status = busy()
    status["slots"] = [slot(number, "idle", 500) for number in range(64)]

    async def scene(pilot: Pilot[None]) -> None:
        shown = lines(pilot)
        assert any(row.startswith("main") for row in shown)
        assert "request=95" in shown[22]
        await pilot.press("tab", "end")
        await until(pilot, lambda: any(row.split()[:1] == ["63"] for row in lines(pilot)))

    play(Asked(status), scene)


def test_it_looks_again_and_keeps_the_picture_while_nobody_answers() -> None:
    changed = busy()
    changed["counters"]["requests"] = 14

    async def scene(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "requests 14" in "\n".join(lines(pilot)))
        await until(pilot, lambda: "nobody listens there" in lines(pilot)[0])
        assert "requests 14" in "\n".join(lines(pilot))

    play(Asked(busy(), changed, changed, None), scene, every_s=0.05)


def test_an_answer_after_none_takes_the_notice_away() -> None:
    async def scene(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: lines(pilot)[0].startswith("slotd 0.1.0"))

    play(Asked(None, busy()), scene, every_s=0.05)


def test_space_holds_the_picture_still_and_q_ends() -> None:
    asked = Asked(busy())

    async def scene(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        await settled(pilot)
        assert any("PAUSED" in row for row in lines(pilot))
        before = asked.times
        await pilot.pause(0.2)
        assert asked.times == before
        await pilot.press("space")
        await until(pilot, lambda: asked.times > before)
        await pilot.press("q")
        assert not pilot.app.is_running

    play(asked, scene, every_s=0.05)


def test_older_events_stay_in_view_while_new_ones_come() -> None:
    later = busy()
    later["counters"]["requests"] = 15
    asked = Asked(busy(), later)

    async def scene(pilot: Pilot[None]) -> None:
        await pilot.press("home")
        await until(pilot, lambda: any("request=0 " in row for row in lines(pilot)))
        await until(pilot, lambda: "requests 15" in "\n".join(lines(pilot)))
        await settled(pilot)
        assert any("request=0 " in row for row in lines(pilot))

    play(asked, scene, every_s=0.3)


@pytest.mark.parametrize("size", [(20, 5), (200, 60)])
def test_other_sizes_are_taken(size: tuple[int, int]) -> None:
    async def scene(pilot: Pilot[None]) -> None:
        assert lines(pilot)[0].startswith("slotd 0.1.0")
        assert pilot.app.query_one("#summary", Static).display

    play(Asked(busy()), scene, size=size)
