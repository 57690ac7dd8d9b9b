"""What a park by slotd's own request costs and saves: `python -m tests.emulated_park.measure`.

Two tables in virtual time, at the published speeds. First: the delay of the request that comes
between two turns of a conversation, and what the next turn saves. Second: generated working hours
of people with agents, with and without such parks, and with requests put low on padded rows.
"""

import argparse
import statistics
import sys
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import evolve, frozen
from click import echo

from protocol.tokens import TokenIds
from slotd.core.settings import SidecarSettings
from slotd.core.sidecar import Sidecar
from slotd.replay.drive import replay
from slotd.replay.policies import POLICIES
from slotd.sim.engine import SimEngine
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Request
from slotd.sim.token_model import HashModel
from slotd.sim.world import Plan, RequestRecord, World
from slotd.workload.agents import agent_day

REPLY, HEADER, SIDE = 358, 3, 300
LENGTHS = (5_000, 10_000, 37_359, 100_000, 170_000)
"""Tokens the main session holds before the request between."""

BATCH = SimOptions(batch_slots=4, batch_groups=1, active_rows=False)
PAD_ROWS = SimOptions(active_rows=False)
NATIVE = SimOptions()


@frozen
class Way:
    """One way to treat the conversation: an engine and slotd's settings."""

    name: str
    options: SimOptions
    settings: SidecarSettings


NOT_PARKED = Way("not parked", BATCH, SidecarSettings())
OWN_REQUEST = Way("slotd's own request", BATCH, SidecarSettings(park="emulated"))
BY_KEY = Way("the engine's park=", NATIVE, SidecarSettings())


@frozen
class Between:
    """What the request between and the next turn took. Times in seconds."""

    side_wait: float
    next_wait: float
    reused: int


def between(way: Way, held: int) -> Between:
    """Play a conversation's turn, a side request 10 s later, and the next turn 10 s after that."""
    model = HashModel()
    world = World(SimEngine(way.options, model), Sidecar(way.settings), Serve())
    prompt = _prompt(held)
    side = Request("side", _ids(_turn(2, SIDE - HEADER - 1)), 20)
    following = Request("next", _ids([*prompt, *model.reply(prompt, REPLY), *_turn(1, 40)]), 20)

    def after(record: RequestRecord, tokens: tuple[int, ...]) -> Iterable[Plan]:
        coming = {"first": side, "side": following}.get(record.id)
        return () if coming is None else [(record.end + 10, coming)]

    world.run([(0.0, Request("first", prompt, REPLY))], after)
    _, beside, last = world.records
    assert beside.wait is not None
    assert last.wait is not None
    return Between(beside.wait, last.wait, last.reused)


def _ids(tokens: Sequence[int]) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def _turn(number: int, length: int) -> list[int]:
    """Return a user's turn and the header of the reply to it."""
    begin = 1_000 + 1_000 * number
    return [TURN_TOKEN, *range(begin, begin + length), TURN_TOKEN, 1001, 1002]


def _prompt(held: int) -> TokenIds:
    """Return a prompt that, with its reply but the last token, has a length."""
    before = held - (REPLY - 1) - HEADER
    return _ids([*range(20_000, 20_000 + before), TURN_TOKEN, 1001, 1002])


def delays() -> None:
    """Print the first table."""
    echo("A request of 300 tokens between two turns of a conversation: seconds to first tokens\n")
    echo("| held | way | the request between | reused | the next turn |")
    echo("| ---: | --- | ---: | ---: | ---: |")
    for held in LENGTHS:
        base = between(NOT_PARKED, held)
        for way in (NOT_PARKED, OWN_REQUEST, BY_KEY):
            took = between(way, held)
            delay, saved = took.side_wait - base.side_wait, took.next_wait - base.next_wait
            echo(
                f"| {held:,} | {way.name} | {_changed(took.side_wait, delay)}"
                f" | {took.reused:,} | {_changed(took.next_wait, saved)} |"
            )


def _changed(seconds: float, by: float) -> str:
    return f"{seconds:.2f} ({by:+.2f})" if by else f"{seconds:.2f}"


@frozen
class Hours:
    """What working hours took under one way."""

    share: float
    """Of all prompt tokens, those reused."""
    wait: float
    """Mean seconds to a first token."""
    parked: int


def working_hours(way: Way, people: int, seed: int, hours: float) -> Hours:
    """Replay generated hours of so many people with agents."""
    policy = evolve(POLICIES["retention"], settings=way.settings)
    run = replay(agent_day(people=people, hours=hours, seed=seed), policy, way.options)
    assert run.drifts == 0
    prompt = sum(row.prompt for row in run.rows)
    return Hours(
        sum(row.reused for row in run.rows) / prompt,
        statistics.fmean(row.wait for row in run.rows),
        run.parks["parked"],
    )


def days(people: int, seeds: Sequence[int], hours: float) -> None:
    """Print the second table: each way's mean, and its gain over no parks on the same hours."""
    known = SidecarSettings(turn_token=TURN_TOKEN)
    own = evolve(known, park="emulated")
    who = "One person" if people == 1 else f"{people} people"
    echo(f"\n{who} with agents, {len(seeds)} days of {hours:g} h")
    echo("\n| engine | parks | requests | reused | against none | first token | parks a day |")
    echo("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name, options in (("4 slots", BATCH), ("6 slots, padded rows", PAD_ROWS)):
        ways = [Way("none", options, known), Way("own requests", options, own)]
        if options.pad_rows:
            ways += [Way(f"{way.name}, low", options, _low(way.settings)) for way in ways]
        base: list[Hours] = []
        for way in ways:
            played = [working_hours(way, people, seed, hours) for seed in seeds]
            base = base or played
            parks, _, low = way.name.partition(", ")
            echo(
                f"| {name} | {parks} | {low or 'any'} | {_mean(each.share for each in played):.1%}"
                f" | {_gain(played, base)} | {_mean(each.wait for each in played):.2f} s"
                f" | {_mean(each.parked for each in played):.0f} |",
            )


def _low(settings: SidecarSettings) -> SidecarSettings:
    return evolve(settings, pad_rows="low")


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def _gain(played: Sequence[Hours], base: Sequence[Hours]) -> str:
    """Return the mean difference on the same days, and twice its standard error."""
    gains = [100 * (mine.share - its.share) for mine, its in zip(played, base, strict=True)]
    if len(gains) < 2 or played == base:
        return f"{_mean(gains):+.1f} points"
    error = 2 * statistics.stdev(gains) / len(gains) ** 0.5
    return f"{_mean(gains):+.1f} ± {error:.1f} points"


def main(arguments: Sequence[str]) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--days", type=int, default=8, help="generated days (0: first table only)")
    parser.add_argument("--hours", type=float, default=1.0, help="hours of each")
    given = parser.parse_args(arguments)
    delays()
    if given.days:
        for people in (1, 2):
            days(people, range(1, given.days + 1), given.hours)


if __name__ == "__main__":
    main(sys.argv[1:])
