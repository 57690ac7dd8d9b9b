"""How the demo looks: the table side by side, and what it means in plain words.

Lives here: widths, colours and sentences. Must not live here: figures that are not in `outcome`.

Columns stand side by side as far as they fit; the rest follow below, beside the same turns.
"""

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from rich.text import Text

from slotd.demo.columns import GROUPS, SLOTS
from slotd.demo.outcome import Result, Turn, same_answers
from slotd.demo.script import CONVERSATION

WIDEST, NARROWEST = 100, 80
"""Columns of the terminal that the screen is made for."""

_NAME = 25
_FIGURES = (("reused", 9), ("read", 8), ("wait", 8))
_BLOCK = sum(width for _, width in _FIGURES)
_MUCH = 1_000
"""Tokens read again from which on it is worth a colour."""


def screen(
    results: Sequence[Result], speed: float, seconds: float, width: int, program: str = "slotd"
) -> Iterator[Text]:
    """Yield the lines of everything there is to say.

    Args:
        results: what every column came to; the first is what the others are compared with.
        speed: how many times as fast as a real engine it ran.
        seconds: real seconds that it took.
        width: columns of the terminal.
        program: how slotd can be called, for the commands to go on with.
    """
    width = max(NARROWEST, min(WIDEST, width))
    yield from _paragraph(
        f"Two people with agent clients share one (simulated) engine with {SLOTS} batch slots in "
        f"{GROUPS} groups.",
        width,
    )
    for result in results:
        yield from _paragraph(f"{result.column.title}: {result.column.about}", width, "  ")
    yield Text()
    together = (width - _NAME) // _BLOCK
    for first in range(0, len(results), together):
        yield from _table(results[first : first + together])
        yield Text()
    yield from _paragraph(
        "reused: tokens of the prompt the engine still held. read: tokens it had to read. wait: "
        f"seconds of the engine's time to the first token; here it ran {speed:g} times as fast as "
        f"a real one, so that all of this took {seconds:.0f} s.",
        width,
    )
    yield Text()
    for sentence in _conclusions(results):
        yield from _paragraph(sentence, width)
    yield Text()
    yield from _paragraph("What slotd did, and why it put a request where it did:", width)
    log = next((result.log for result in results if result.column.name == "with"), results[-1].log)
    yield Text(f"  {program} tail --no-follow {log}")
    yield Text(f"  {program} explain {log} --request 2")


def _table(results: Sequence[Result]) -> Iterator[Text]:
    yield _line("", [[(f"  {result.column.title:^{_BLOCK - 2}}", "bold")] for result in results])
    heading = [(f"{name:>{width}}", "dim") for name, width in _FIGURES]
    yield _line("", [heading] * len(results))
    scene = ""
    for row in zip(*(result.turns for result in results), strict=True):
        if row[0].scene != scene:
            scene = row[0].scene
            yield Text(scene, "bold")
        yield _line(f"  {row[0].who:<4} {row[0].what}", [_figures(turn) for turn in row])
    yield _line("In all", [_sums(result) for result in results])


def _line(name: str, blocks: Sequence[Sequence[tuple[str, str]]]) -> Text:
    line = Text(f"{name:<{_NAME}}")
    for block in blocks:
        start = len(line)
        for text, style in block:
            line.append(text, style)
        line.append(" " * (_BLOCK - (len(line) - start)))
    line.rstrip()
    return line


def _figures(turn: Turn) -> list[tuple[str, str]]:
    again = turn.read_again >= _MUCH
    styles = (
        "green" if turn.reused else "dim",
        "red" if again else "",
        "bold red" if again else "bold green" if turn.reused else "",
    )
    texts = (f"{turn.reused:,}", f"{turn.read:,}", _seconds(turn.first_token_ms / 1000))
    return _aligned(texts, styles)


def _sums(result: Result) -> list[tuple[str, str]]:
    reused = sum(turn.reused for turn in result.turns)
    texts = (f"{reused:,}", f"{result.read:,}", _seconds(result.waited_s))
    return _aligned(texts, ("bold",) * len(texts))


def _aligned(texts: Sequence[str], styles: Sequence[str]) -> list[tuple[str, str]]:
    widths = (width for _, width in _FIGURES)
    return [
        (f"{text:>{width}}", style)
        for text, width, style in zip(texts, widths, styles, strict=True)
    ]


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"


def _conclusions(results: Sequence[Result]) -> Iterator[str]:
    """Yield what there is to learn, a sentence each."""
    yield (
        "Tokens read again that the engine had read before: "
        + _each(results, lambda result: f"{result.read_again:,}")
        + "."
    )
    yield (
        "Waiting for first tokens, in all: " + _each(results, lambda r: f"{r.waited_s:.0f} s") + "."
    )
    yield (
        "The long conversation's next turn after the side request: "
        + _each(results, lambda result: _seconds(_next_turn(result).first_token_ms / 1000))
        + "."
    )
    yield (
        "What it costs: the side request's own first token took "
        + _each(results, lambda result: _seconds(_side_request(result).first_token_ms / 1000))
        + ", as the conversation was copied into a slot before it."
    )
    if same_answers(results):
        yield "The answers are the same, token for token."
    else:
        yield "The answers differ, which must never happen: please report it, with the logs."


def _each(results: Sequence[Result], figure: Callable[[Result], str]) -> str:
    return ", ".join(f"{figure(result)} {result.column.phrase}" for result in results)


def _next_turn(result: Result) -> Turn:
    """Return the long conversation's second turn."""
    return [turn for turn in result.turns if turn.conversation == CONVERSATION][1]


def _side_request(result: Result) -> Turn:
    """Return the side request before it."""
    return result.turns[result.turns.index(_next_turn(result)) - 1]


def _paragraph(text: str, width: int, indent: str = "") -> Iterator[Text]:
    for line in wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent)
    ):
        yield Text(line)
