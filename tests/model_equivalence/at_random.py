"""The same acts, chosen by a seed: no shrinking, and ten times the conversations in the same time.

Lives here: how often each act comes. Must not live here: what an act does (`play`).
"""

from collections.abc import Callable
from random import Random

from attrs import evolve

from tests.model_equivalence.client import Use
from tests.model_equivalence.engines import ALL_SETTINGS, LEVELS, OWN_PARKS, SETTINGS, WITHOUT_PARKS
from tests.model_equivalence.play import (
    ASIDES,
    BODIES,
    DRAFTING,
    FAULTS,
    LAST,
    MANNERS,
    PIPES,
    REFUSALS,
    SIZES,
    Play,
    Setting,
)
from tests.model_equivalence.prompts import CHANGES
from tests.model_equivalence.rough import SPACED, UNANSWERED, RoughPlay


def random_setting(random: Random) -> Setting:
    return Setting(
        level=random.choice(list(LEVELS)),
        settings=random.choice(list(SETTINGS)),
        arbitrary=random.choice((None, random.randrange(1000))),
        end_every=random.choice((0, 4, 9, 30)),
        drafting=random.randrange(len(DRAFTING)),
        faults=random.randrange(len(FAULTS)),
        spread=random.choice((1, 1, 2, 3)),
        sizes=random.randrange(len(SIZES)),
    )


class RandomPlay:
    """One play of a seed."""

    def __init__(self, seed: int, own_parks: bool = False) -> None:
        self.random = Random(seed)
        setting = random_setting(self.random)
        if own_parks:
            level = self.random.choice(WITHOUT_PARKS)
            settings = self.random.choice(list(OWN_PARKS))
            setting = evolve(setting, level=level, settings=settings, arbitrary=None)
        self.play = Play(setting)
        # Some plays are calm, others full of interruptions: each act has its own weight in each.
        acts: dict[Callable[[], object], int] = {
            self.ask: 8,
            self.give_way: 3,
            self.go_on_or_not: 3,
            self.stop: 1,
            self.stop_slot: 2,
            self.ask_aside: 1,
            self.everything_arrives: 3,
            self.some_bytes_arrive: 3,
            self.something_else: 1,
            self.play.end: 1,
            self.leave: 1,
        }
        if own_parks:
            acts |= {self.have_something_parked: 4}
        self.acts = list(acts)
        self.weights = [weight * self.random.choice((0.2, 1, 2)) for weight in acts.values()]

    def run(self, acts: int) -> None:
        for act in self.random.choices(self.acts, self.weights, k=acts):
            act()
        self.play.hang_up(self.random.choice(LAST))

    def ask(self) -> None:
        if self.play.may_ask:
            choice = self.random
            which = choice.choice((None, choice.randrange(6), choice.randrange(6)))
            change = choice.choice((1, 1, 1, choice.randrange(len(CHANGES))))
            history = choice.choice((0, 0, 1, choice.randrange(6)))
            manner = choice.choice((0, 1, 4, choice.randrange(len(MANNERS))))
            self.play.ask(which, history, change, choice.randrange(3), manner, self.steps())

    def leave(self) -> None:
        self.play.client_leaves(self.random.choice((0, 5, 30, 1 << 30)))

    def have_something_parked(self) -> None:
        choice = self.random
        self.play.leave_something_to_park(choice.randrange(1000), choice.choice((1, 2, 9, 25)))
        which = choice.choice((None, choice.randrange(6)))
        self.play.ask_something_new(which, choice.randrange(1000), 9, choice.choice((None, 0, 1)))
        interruptions = (self.stop, self.give_way, self.stop_slot, self.some_bytes_arrive)
        for act in choice.choices((*interruptions, self.leave, self.ask), k=choice.randrange(5)):
            act()

    def steps(self) -> int | None:
        return self.random.choice((0, 1, 2, 3, 5, 9, 20, 300, None))

    def give_way(self) -> None:
        if not self.play.may_give_way and self.play.may_ask and not self.play.client.waiting:
            which = self.random.choice((None, 1, 2))
            self.play.ask(which, 0, 2, self.random.randrange(3), 1, self.random.randrange(5))
        if self.play.may_give_way:
            self.play.give_way(self.random.randrange(6), self.steps())

    def go_on_or_not(self) -> None:
        if self.play.kept and self.play.may_ask:
            if self.random.random() < 0.6:
                self.play.ask_again(self.random.randrange(6), self.steps())
            else:
                self.play.forget(self.random.randrange(6))

    def stop(self) -> None:
        self.play.stop(self.random.choice((None, 0, 1, 2, 300)))

    def stop_slot(self) -> None:
        uses = self.play.client.uses
        busy = [slot for slot, use in enumerate(uses) if use is Use.DECODING]
        if busy and self.random.random() < 0.7:
            self.play.stop_slot(self.random.choice(busy), self.steps())
        else:
            self.play.stop_slot(self.random.randrange(6), self.steps())

    def ask_aside(self) -> None:
        if not self.play.may_ask:
            return
        kind = self.random.randrange(3)
        if kind == 0:
            which = self.random.choice((None, self.random.randrange(6)))
            manner = self.random.randrange(len(MANNERS))
            self.play.ask_what_is_refused(self.random.choice(REFUSALS), which, manner)
        elif kind == 1:
            self.play.ask_aside(self.random.choice(ASIDES), self.steps())
        else:
            change = self.random.choice((None, 0, 1))
            self.play.send_a_grammar(self.random.choice(BODIES), change, self.steps())

    def everything_arrives(self) -> None:
        self.play.bench.run(self.random.choice((1, 2, 3, 5, 10, 30)))

    def some_bytes_arrive(self) -> None:
        self.play.engine_is_ahead(self.random.choice((0, 1, 3, 10)))
        self.play.bytes_arrive(self.random.choice(PIPES), self.random.choice((1 << 30, 1, 20, 90)))

    def something_else(self) -> None:
        sizes = self.random.choice((None, *SIZES))
        settings = self.random.choice((None, None, None, *ALL_SETTINGS))
        self.play.something_else(self.random.choice((0.3, 20, 3000)), sizes, settings)


def play_roughly(seed: int, acts: int) -> RoughPlay:
    """Play a client that does not behave."""
    random = Random(seed)
    play = RoughPlay(random_setting(random), greeted=random.random() < 0.8)
    weights = [weight * random.choice((0.2, 1, 2)) for weight in (8, 2, 2, 4, 3, 3, 1)]

    def number() -> int:
        return random.choice((random.randrange(6), random.randrange(6), random.randrange(-1, 7)))

    for act in random.choices(range(len(weights)), weights, k=acts):
        steps = random.choice((0, 1, 2, 5, 9, 30, -1))
        match act:
            case 0:
                change = random.choice((1, 1, random.randrange(len(CHANGES))))
                manner = random.choice((0, 1, random.randrange(len(MANNERS))))
                times = random.choice((1,) * 20 + (3, 70))
                where = random.choice((None, number(), number()))
                play.ask(where, random.randrange(4), change, manner, times, steps)
            case 1:
                play.ask_oddly(random.randrange(len(SPACED)), number(), steps)
            case 2:
                play.write(random.choice((*UNANSWERED, *ASIDES, *BODIES)), steps)
            case 3:
                verb = random.choice((b"BSTOP", b"BYIELD", b"BYIELD"))
                play.write_about_a_slot(verb, number(), steps)
            case 4:
                play.bench.run(random.choice((1, 3, 10, 30)))
            case 5:
                most = random.choice((1 << 30, 1, 20, 90))
                play.arrive(random.choice(PIPES), most, random.choice((0, 1, 3, 10)))
            case _:
                play.write(b"STOP\n", steps)
    play.end()
    return play
