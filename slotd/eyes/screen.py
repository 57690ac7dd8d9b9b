"""`slotd top`: the page of a status, full screen and live.

Here: the terminal - where each part of the page goes, keys, looking again. Not here: what a part
says (`slotd.eyes.page`). Needs the extra `top`.

Made for 80 columns and 24 lines: eight slots and four events fit there. More slots than fit, and
older events, are scrolled to.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Footer, Static

from slotd.eyes.ask import NoAnswerError
from slotd.eyes.page import event_lines, heading, main_line, slot_line, summary
from slotd.eyes.part import Part

Ask = Callable[[], Mapping[str, object]]
"""Returns a status; raises NoAnswerError. May wait: it is called in a thread."""

_SCROLLBAR = 2
"""Columns that scrollbars take."""


class _Answer(Message):
    """What came of asking in the thread."""

    def __init__(self, status: Part | None, problem: str) -> None:
        super().__init__()
        self.status = status
        self.problem = problem


class TopScreen(App[None]):
    """The live view. It asks, and never tells."""

    TITLE = "slotd top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #notice { height: auto; background: $error; color: $text; display: none; }
    #summary { height: 6; }
    #heading { height: 1; margin-top: 1; text-style: bold; }
    #slots { height: auto; max-height: 50%; }
    #main { height: 1; }
    #about-events { height: 1; margin-top: 1; text-style: bold; }
    #events { height: 1fr; }
    #slots Static, #events Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("space", "pause", "Pause"),
    ]

    def __init__(self, ask: Ask, every_s: float = 1.0) -> None:
        """Show what `ask` returns, again every `every_s` seconds."""
        super().__init__()
        self._ask = ask
        self._every_s = every_s
        self._status = Part({})
        self._asking = False
        self._paused = False

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(id="notice")
        yield Static(id="summary")
        yield Static(id="heading")
        with VerticalScroll(id="slots"):
            yield Static(id="slot-lines")
        yield Static(id="main")
        yield Static(id="about-events")
        with VerticalScroll(id="events"):
            yield Static(id="event-lines")
        yield Footer()

    def on_mount(self) -> None:
        """Look at once, and then again and again."""
        self.query_one("#events").focus()
        self.set_interval(self._every_s, self._look)
        self._look()

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        self._show()

    def action_pause(self) -> None:
        """Hold the picture still, or let it go on."""
        self._paused = not self._paused
        self._show()

    def _look(self) -> None:
        if not self._asking and not self._paused:
            self._asking = True
            self.run_worker(self._ask_and_show, thread=True)

    def _ask_and_show(self) -> None:
        try:
            status, problem = Part(self._ask()), ""
        except NoAnswerError as error:
            status, problem = None, str(error)
        self.post_message(_Answer(status, problem))

    @on(_Answer)
    def _take(self, answer: _Answer) -> None:
        if not self.is_running:  # it came too late
            return
        self._asking = False
        notice = self.query_one("#notice", Static)
        notice.display = answer.status is None
        notice.update(Text(f"{answer.problem} (trying again; what is below is from before)"))
        if answer.status is not None:
            self._status = answer.status
        self._show()

    def _show(self) -> None:
        status, events = self._status, self.query_one("#events")
        stays = events.scroll_target_y >= events.max_scroll_y
        self._put("#summary", summary(status))
        self._put("#heading", [heading()])
        self._put("#slot-lines", map(slot_line, status.parts("slots")))
        self._put("#main", [main_line(status)])
        about = "last events (arrows: older ones, tab: to the slots and back)"
        self._put("#about-events", [Text(about + ("  PAUSED" if self._paused else ""))])
        self._put("#event-lines", event_lines(status))
        if stays:
            self.call_after_refresh(events.scroll_end, animate=False)

    def _put(self, where: str, lines: Iterable[Text]) -> None:
        """Show lines, each cut to what fits."""
        cut = list(lines)
        for line in cut:
            line.truncate(max(1, self.size.width - _SCROLLBAR), overflow="ellipsis")
        self.query_one(where, Static).update(Text("\n").join(cut))
