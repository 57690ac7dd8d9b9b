"""Random slot tables for the equivalence test, as the JSON objects `slotd decide` takes.

Here live the choices that make a table and nothing that decides one. Every choice is one integer
asked of a `Chooser`, so that the same code serves a seeded generator (fast) and a Hypothesis
strategy (which shrinks towards the low end: zero is always the plainest choice).

Conversations come in families: a family is one long text, a root that all families may begin
with and then turns; histories, main session and prompt are starts of these texts, starts with
another end, or texts of their own. So prefixes, equal histories and older versions are common.
"""

import random
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from tests.reference.plain_policy import DEFAULTS, ttl

Json = dict[str, Any]
Runs = list[list[int]]
Option = TypeVar("Option")

NOW = 10_000.0
TURN = 7
FAMILY_IDS = 100_000_000  # family f's own ids begin at (f + 1) times this
TURN_IDS = 1_000_000  # and its k-th turn's at k times this above
ROOT_IDS = 1_000
OWN_IDS = 1_000_000_000  # ids of texts that nothing else begins with

SHAPES = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2), (4, 4)]  # slots, groups
SHAPES += [(5, 1), (6, 1), (6, 2), (6, 3), (6, 3), (8, 1), (8, 2), (8, 4)]

SETTING_CORNERS: dict[str, list[float]] = {
    "ttl_max_s": [0, 1, 30, 1200],
    "expired_keep_score": [0, 0.002, 0.05, 0.2, 1],
    "idle_value_zero_s": [0, 1, 60, 150, 100_000],
    "park_value_ratio": [0, 1, 0.25, 20],
    "park_min_value": [0, 0.001, 0.1, 1],
    "park_kept_share": [0, 0.5, 0.9, 1],
    "sibling_share": [0, 0.01, 0.5, 0.9, 1],
}

STEPS = [1, 5, 40, 300, 2_000, 4_096, 4_097, 6_000]  # from one cut of a family to the next


class Chooser(Protocol):
    """Makes the choices of one table."""

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from low to high, both included."""
        ...


class SeededChooser:
    """Choices of a seeded generator, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from low to high, both included and equally likely."""
        return low + int(self._random() * (high - low + 1))


def random_table(choose: Chooser) -> Json:
    """Make one table."""
    return _Maker(choose).table()


def total(runs: Runs) -> int:
    """Count the tokens."""
    return sum(count for _, count in runs)


def start_of(runs: Runs, n: int) -> Runs:
    """Cut the first n tokens out (all, when there are fewer)."""
    cut: Runs = []
    for first, count in runs:
        if n <= 0:
            break
        cut.append([first, min(count, n)])
        n -= count
    return cut


def last_turn(runs: Runs) -> int:
    """Count the tokens before the last turn (all, when there is none)."""
    behind = total(runs)
    for first, count in reversed(runs):
        behind -= count
        if first == TURN:
            return behind
    return total(runs)


class _Maker:
    """One table being made: the families and what was chosen already."""

    def __init__(self, choose: Chooser) -> None:
        self.integer = choose.integer
        self.own_texts = 0
        self.settings = self._settings()
        self.ages = [self.integer(0, 40), self.integer(0, 400), self.integer(0, 2_500)]
        self.rate = self.pick([0, 800, 5_000])
        self.root = self.pick([0, 0, 20, 600, 3_000])
        families = self.integer(1, 3)
        self.cuts = [self._cuts() for _ in range(families)]
        self.texts = [self._text(family) for family in range(families)]
        # How much goes on in this table, the plainest first.
        self.busy_in_ten = self.pick([0, 2, 2, 3, 4, 8])
        self.empty_in_ten = self.pick([5, 2, 1, 0, 0])
        self.odd_in_forty = self.pick([0, 0, 2, 8])
        self.fresh_in_ten = self.pick([0, 3, 6, 9, 10])

    # -- choices ------------------------------------------------------------------------------

    def pick(self, options: Sequence[Option]) -> Option:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, part: int, of: int) -> bool:
        """Say yes in `part` of `of` cases; no is the plainer answer."""
        return self.integer(1, of) > of - part

    def odd(self) -> bool:
        """Say yes where a history is invalid, of another cvec, or has pictures."""
        return self.odd_in_forty > 0 and self.chance(self.odd_in_forty, 40)

    def _settings(self) -> dict[str, float]:
        settings: dict[str, float] = {}
        changes = self.pick([0, 0, 1, 2, 7])
        for name, corners in SETTING_CORNERS.items():
            if changes and self.chance(changes, 7):
                settings[name] = self.pick(corners)
        return settings

    # -- texts --------------------------------------------------------------------------------

    def _size(self) -> int:
        """A length, long ones rare: they are slow to compare where they are spread out."""
        low, high = self.pick(
            [(1, 40), (50, 2_000), (1_000, 4_000), (2_000, 9_000), (2_000, 9_000), (3_000, 20_000)]
        )
        if self.chance(1, 60):
            low, high = 20_000, 262_144
        if self.chance(1, 6):
            return 50 * self.integer(-(-low // 50), high // 50) or 50  # exact shares of 0.98
        if self.chance(1, 10):
            return self.pick([500, 2_000, 8_000])  # protection has a corner here
        return self.integer(low, high)

    def _cuts(self) -> list[int]:
        """Three lengths at which histories of one family end."""
        first = self._size()
        second = first + self.pick([*STEPS, self.rate + 1])
        return [first, second, second + self.pick(STEPS)]

    def _text(self, family: int) -> Runs:
        """A family's text, with a turn beginning now and then, a little longer than its cuts."""
        text: Runs = [[ROOT_IDS, self.root]] if self.root else []
        left = self.cuts[family][-1] + 10
        for turn in range(self.integer(1, 3)):
            count = self.integer(1, left)
            text.append([(family + 1) * FAMILY_IDS + turn * TURN_IDS, count])
            text.append([TURN, 1])
            left = max(left - count, 1)
        text.append([(family + 1) * FAMILY_IDS + 9 * TURN_IDS, left])
        return text

    def own(self, count: int) -> Runs:
        """A text that no other begins with."""
        self.own_texts += 1
        return [[OWN_IDS + self.own_texts * TURN_IDS, max(count, 1)]]

    def family_start(self) -> Runs:
        """The start of a family's text that ends at one of its cuts."""
        family = self.integer(0, len(self.texts) - 1)
        return start_of(self.texts[family], self.pick(self.cuts[family]))

    def another_end(self, runs: Runs, keep: int) -> Runs:
        """The first `keep` tokens with another end, so that they are about 98% of it, or less."""
        return start_of(runs, keep) + self.own(
            self.pick([1, keep // 49, keep // 49 + 1, 30, 3_000])
        )

    def near_end(self, runs: Runs) -> int:
        """A length just short of the whole, around the shares that make an older version."""
        n = total(runs)
        return max(self.pick([n - 1, n * 49 // 50, n * 49 // 50 - 1, n * 9 // 10, n // 2]), 0)

    # -- the table ----------------------------------------------------------------------------

    def table(self) -> Json:
        batch_slots, batch_groups = self.pick(SHAPES)
        slots = [self.slot() for _ in range(batch_slots)]
        held = [slot["tokens"] for slot in slots if slot["tokens"]]
        main = self.main(held)
        has_turns = self.integer(0, 3) > 0
        return {
            "now": NOW,
            "engine": {
                "batch_slots": batch_slots,
                "batch_groups": batch_groups,
                "slot_cache": 0 if self.chance(1, 40) else 1,
                "slot_padding_safe": self.integer(0, 1),
                "slot_park": 1 - self.integer(0, 4) // 4,
                "turn_token": self.pick([TURN, TURN, TURN, 9]) if has_turns else None,
            },
            "settings": self.settings,
            "prompt_rate": self.rate,
            "request": self.request(held, main, batch_slots),
            "main": main,
            "slots": slots,
        }

    def last_use(self, tokens: Runs) -> float:
        """A last use: of a few that come up again, or around an end of protection or of value."""
        n = total(tokens)
        settings = {**DEFAULTS, **self.settings}
        protection = ttl(n, settings)
        zero = settings["idle_value_zero_s"]
        if self.fresh_in_ten and self.chance(self.fresh_in_ten, 10):
            age = self.pick([protection / 2, 0.0, protection * 0.9, protection - 0.05])
        else:
            around: list[float] = [protection + 0.05, protection - 0.05, zero, zero - 1, 5_000]
            if n in (2_000, 8_000) and settings["ttl_max_s"] == DEFAULTS["ttl_max_s"]:
                around.append(protection)  # a whole number here: exactly its end
            age = self.pick([*self.ages, *around])
        return round(NOW - max(age, 0.0), 3)

    def slot(self) -> Json:
        state = "idle"
        if self.busy_in_ten and self.chance(self.busy_in_ten, 10):
            state = self.pick(["busy", "busy", "yielded"])
        tokens: Runs = []
        if not self.empty_in_ten or not self.chance(self.empty_in_ten, 10):
            tokens = self.history()
        n = total(tokens)
        checkpoints = []
        if n > 1 and self.chance(1, 3):
            checkpoints = sorted({self.integer(1, n), max(last_turn(tokens), 1)})
        return {
            "state": state,
            "tokens": tokens,
            "last_use": self.last_use(tokens),
            "valid": not self.odd(),
            "images": int(self.odd()),
            "cvec": 0 if self.odd() else 1,
            "checkpoints": checkpoints,
        }

    def history(self) -> Runs:
        kind = self.integer(0, 9)
        if kind < 4:
            return self.own(self._size())
        if kind < 8:
            return self.family_start()
        text = self.family_start()
        return self.another_end(text, self.near_end(text))

    def main(self, held: list[Runs]) -> Json | None:
        kind = self.integer(0, 11)
        if kind == 0:
            return None
        tokens: Runs
        if kind == 1:
            tokens = []
        elif kind < 6 or not held:
            tokens = self.own(self._size())
        elif kind < 8:
            tokens = self.family_start()
        else:
            slot = self.pick(held)
            tokens = [
                lambda: slot + self.own(self.pick([1, 50, 2_000])),
                lambda: self.another_end(slot, self.near_end(slot)),
                lambda: self.another_end(slot, total(slot) // 2),
                lambda: [*slot, [TURN, 1], *self.own(5)],
            ][kind - 8]()
        return {
            "tokens": tokens,
            "last_use": NOW if self.chance(1, 2) else self.last_use(tokens),
            "images": int(self.odd()),
            "cvec": 0 if self.odd() else 1,
        }

    def request(self, held: list[Runs], main: Json | None, batch_slots: int) -> Json:
        solo = self.chance(1, 8)
        images = self.odd()
        return {
            "verb": ("GEN" if solo else "BGEN") + ("I" if images else ""),
            "client_slot": None if solo else self.integer(0, batch_slots - 1),
            "cvec": 0 if self.odd() else 1,
            "images": int(images),
            "prompt": self.prompt(held, main),
        }

    def prompt(self, held: list[Runs], main: Json | None) -> Runs:
        kind = self.integer(0, 9)
        if kind < 2:
            return self.own(self._size())
        if kind == 2:
            return self.family_start()
        if kind < 5:
            return self.family_start() + self.own(self.pick([1, 30, 500]))
        if kind == 5 and main is not None and main["tokens"]:
            around = max(last_turn(main["tokens"]) + self.pick([0, -1, 1]), 0)
            return start_of(main["tokens"], around) + self.own(20)
        slot: Runs = self.pick(held) if held else self.own(self._size())
        if kind < 8:
            return slot + self.own(self.pick([1, 30, 500]))
        if kind == 8:
            return self.another_end(slot, self.near_end(slot))
        return self.pick([slot, start_of(slot, self.near_end(slot)) or slot])
