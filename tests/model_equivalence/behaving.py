"""The machines of the client that behaves, as Hypothesis plays them.

Lives here: the rules and their arguments. Must not live here: what an act does (`play`).
"""

from collections.abc import Iterable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.model_equivalence.engines import LEVELS, OWN_PARKS, SETTINGS, WITHOUT_PARKS
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

WHICH = st.integers(0, 5)
HISTORY = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5])
CHANGE = st.integers(0, len(CHANGES) - 1)
SALT = st.integers(0, 2)
MANNER = st.integers(0, len(MANNERS) - 1)
STEPS = st.sampled_from([0, 1, 2, 3, 5, 9, 20, 300, None])
FEW = st.sampled_from([0, 1, 2, 3, 5, None])


WRITTEN = st.sampled_from([1 << 30, 0, 5, 30])


def setting(
    levels: Iterable[str], settings: Iterable[str], arbitrary: Iterable[int | None]
) -> st.SearchStrategy[Setting]:
    """Draw an engine of some levels and a sidecar of some settings and deciders."""
    return st.builds(
        Setting,
        level=st.sampled_from([*levels]),
        settings=st.sampled_from([*settings]),
        arbitrary=st.sampled_from([*arbitrary]),
        end_every=st.sampled_from([0, 0, 4, 9]),
        drafting=st.integers(0, len(DRAFTING) - 1),
        faults=st.integers(0, len(FAULTS) - 1),
        spread=st.integers(1, 3),
        sizes=st.integers(0, len(SIZES) - 1),
    )


class BehavingClient(RuleBasedStateMachine):
    """Conversations of one serve process, through a sidecar, with an engine of any level."""

    play: Play
    last: str

    @initialize(
        setting=setting(LEVELS, SETTINGS, (None, None, 1, 2, 3)), last=st.sampled_from(LAST)
    )
    def begin(self, setting: Setting, last: str) -> None:
        self.play, self.last = Play(setting), last

    @precondition(lambda self: self.play.may_ask)
    @rule(which=WHICH, history=HISTORY, change=CHANGE, salt=SALT, manner=MANNER, steps=STEPS)
    def ask_in_a_slot(
        self, which: int, history: int, change: int, salt: int, manner: int, steps: int | None
    ) -> None:
        self.play.ask(which, history, change, salt, manner, steps)

    @precondition(lambda self: self.play.may_ask)
    @rule(history=HISTORY, change=CHANGE, salt=SALT, manner=MANNER, steps=STEPS)
    def ask_alone(
        self, history: int, change: int, salt: int, manner: int, steps: int | None
    ) -> None:
        self.play.ask(None, history, change, salt, manner, steps)

    @precondition(lambda self: self.play.may_ask)
    @rule(which=st.one_of(st.none(), WHICH), history=HISTORY, manner=MANNER, steps=STEPS)
    def ask_next_turn(
        self, which: int | None, history: int, manner: int, steps: int | None
    ) -> None:
        self.play.ask(which, history, 1, 0, manner, steps)

    @precondition(lambda self: self.play.may_give_way)
    @rule(which=WHICH, steps=FEW)
    def give_way(self, which: int, steps: int | None) -> None:
        self.play.give_way(which, steps)

    @precondition(lambda self: self.play.kept and self.play.may_ask)
    @rule(which=WHICH, again=st.sampled_from([True, True, False]), steps=STEPS)
    def go_on_or_not(self, which: int, again: bool, steps: int | None) -> None:
        if again:
            self.play.ask_again(which, steps)
        else:
            self.play.forget(which)

    @rule(slot=st.one_of(st.none(), WHICH), steps=FEW)
    def stop(self, slot: int | None, steps: int | None) -> None:
        if slot is None:
            self.play.stop(steps)
        else:
            self.play.stop_slot(slot, steps)

    @precondition(lambda self: self.play.may_ask)
    @rule(
        kind=st.sampled_from([*REFUSALS, *ASIDES, *BODIES]),
        which=st.one_of(st.none(), WHICH),
        manner=MANNER,
        steps=FEW,
    )
    def ask_aside(
        self, kind: str | bytes, which: int | None, manner: int, steps: int | None
    ) -> None:
        if isinstance(kind, str):
            self.play.ask_what_is_refused(kind, which, manner)
        elif kind in ASIDES:
            self.play.ask_aside(kind, steps)
        else:
            self.play.send_a_grammar(kind, which, steps)

    @rule(steps=st.sampled_from([1, 2, 3, 5, 10, 30]))
    def everything_arrives(self, steps: int) -> None:
        self.play.bench.run(steps)

    @rule(
        pipe=st.sampled_from(PIPES),
        most=st.sampled_from([1 << 30, 1, 4, 20, 100]),
        ahead=st.sampled_from([0, 1, 3, 10]),
    )
    def some_bytes_arrive(self, pipe: str, most: int, ahead: int) -> None:
        self.play.engine_is_ahead(ahead)
        self.play.bytes_arrive(pipe, most)

    @rule(
        seconds=st.sampled_from([0.3, 20, 3000]),
        sizes=st.sampled_from([None, *SIZES]),
        settings=st.sampled_from([None, None, None, *SETTINGS]),
    )
    def something_else_happens(
        self, seconds: float, sizes: tuple[int, ...] | None, settings: str | None
    ) -> None:
        self.play.something_else(seconds, sizes, settings)

    @rule()
    def everything_ends(self) -> None:
        self.play.end()

    @rule(most=WRITTEN)
    def client_leaves(self, most: int) -> None:
        self.play.client_leaves(most)

    def teardown(self) -> None:
        if hasattr(self, "play"):
            self.play.hang_up(self.last)


class ParkingClient(BehavingClient):
    """The same beside requests of slotd's own, one of which may begin at any time."""

    @initialize(
        setting=setting(WITHOUT_PARKS, OWN_PARKS, (None,)),
        last=st.sampled_from(LAST),
        number=st.integers(0, 999),
    )
    def begin_with_a_park(self, setting: Setting, last: str, number: int) -> None:
        self.begin(setting, last)
        self.park(None, number, 9, None)

    @rule(
        which=st.one_of(st.none(), WHICH),
        number=st.integers(0, 999),
        reply=st.sampled_from([1, 2, 9, 25]),
        steps=st.sampled_from([None, 0, 0, 1, 2]),
    )
    def park(self, which: int | None, number: int, reply: int, steps: int | None) -> None:
        self.play.leave_something_to_park(number, reply)
        self.play.ask_something_new(which, number + 1000, 9, steps)
