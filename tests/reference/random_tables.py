"""Random slot tables for the equivalence test, as the JSON objects `slotd decide` takes.

Here live the choices that make a table and nothing that decides one. Every choice is one integer
asked of a `Chooser`, so that the same code serves a seeded generator (fast) and a Hypothesis
strategy (which shrinks towards the low end: that is always the plainest choice).

Conversations come in families: a family is one long text, a root that all families may begin
with and then turns; histories, main session and prompt are starts of these texts, starts with
another end, or texts of their own. So prefixes, equal histories and older versions are common.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from tests.reference.plain_policy import DEFAULTS, ttl

Json = dict[str, Any]
Runs = list[list[int]]
Option = TypeVar("Option")
Made = TypeVar("Made")

NOW = 10_000.0
TURN = 7
FAMILY_IDS = 100_000_000  # family f's own ids begin at (f + 1) times this
TURN_IDS = 1_000_000  # and its k-th turn's at k times this above
ROOT_IDS = 1_000
OWN_IDS = 1_000_000_000  # ids of texts that nothing else begins with

# Slots and groups. Few slots are quick to compare and rules need no more than a few; the large
# shapes that people run are there as well.
SHAPES = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (2, 1), (3, 1), (4, 1), (4, 2), (4, 4)]
SHAPES += [(5, 1), (6, 3), (6, 2), (7, 1), (8, 4)]
GROUPED = [(4, 2), (4, 2), (4, 2), (4, 2), (6, 3), (6, 2), (8, 2)]

# What a table is about, so that no rule is reached by luck alone: anything; full of histories that
# are protected and worth about the same; one conversation in many slots, cut at several places;
# expired histories that are still worth something; versions of the main session's conversation.
THEMES = ["any", "any", "any", "crowded", "near", "expired", "versions"]

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

# Ranges of lengths (from, to, in steps of), as often as each is listed. Multiples of 50: 98% of
# them is a whole number; one value: the protection curve has a corner there.
SIZES = [(1, 40, 1), (50, 2_000, 1), (50, 2_000, 50), (1_000, 4_000, 1), (1_000, 4_000, 50)]
SIZES += [(2_000, 9_000, 1), (2_000, 9_000, 50), (3_000, 20_000, 1), (3_000, 20_000, 50)] * 2
SIZES += [(500, 500, 1), (2_000, 2_000, 1), (8_000, 8_000, 1), (20_000, 262_144, 1)]


class Chooser(Protocol):
    """Makes the choices of one table."""

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from low to high, both included."""
        ...

    def shape(self, shapes: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Choose how many slots there are, in how many groups; of `shapes` if it can."""
        ...

    def part(self, name: str) -> "Chooser":
        """Return the chooser for one part of the table: a family, a slot, main or request."""
        ...


class SeededChooser:
    """Choices of a seeded generator, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from low to high, both included and equally likely."""
        return low + int(self._random() * (high - low + 1))

    def shape(self, shapes: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Choose one of the shapes, all equally likely."""
        return shapes[self.integer(0, len(shapes) - 1)]

    def part(self, name: str) -> "SeededChooser":
        """Return itself: a seed gives one sequence of choices."""
        return self


def random_table(choose: Chooser) -> Json:
    """Make one table."""
    return _Maker(choose).table()


def total(runs: Runs) -> int:
    """Count the tokens."""
    tokens = 0
    for _, count in runs:
        tokens += count
    return tokens


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
        self.choose = choose
        self.integer = choose.integer
        self.own_texts = 0
        self.theme = self.pick(THEMES)
        self.settings = self._settings()
        self.in_force = {**DEFAULTS, **self.settings}
        self.ages = [self.integer(0, 40), self.integer(0, 400), self.integer(0, 2_500)]
        self.rate = self.pick([0, 800, 5_000])
        self.root = self.pick([0, 0, 20, 600, 3_000])
        self.families = self.integer(1, 3)
        self.cuts: dict[int, list[int]] = {}
        self.texts: dict[int, Runs] = {}
        # How much goes on in this table, the plainest first.
        self.busy_in_ten = self.pick([0, 2, 2, 3, 4, 8])
        self.empty_in_ten = self.pick([5, 2, 1, 0, 0])
        self.odd_in_ten = self.pick([0, 0, 1, 5])
        self.fresh_in_ten = self.pick([0, 3, 6, 9, 10])
        # The length and the age that the histories of a crowded or an expired table have, about.
        self.like = self.size()
        self.like_age = self.pick([0.05, *self.ages])

    # -- choices ------------------------------------------------------------------------------

    def within(self, part: str, make: Callable[[], Made]) -> Made:
        """Make something by the choices of one part of the table."""
        outside, self.integer = self.integer, self.choose.part(part).integer
        made = make()
        self.integer = outside
        return made

    def pick(self, options: Sequence[Option]) -> Option:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, part: int, of: int) -> bool:
        """Say yes in `part` of `of` cases; no is the plainer answer."""
        return self.integer(1, of) > of - part

    def oddity(self) -> str:
        """Say what is odd about something: mostly nothing, else one of three things."""
        if self.odd_in_ten and self.chance(self.odd_in_ten, 10):
            return self.pick(["invalid", "images", "cvec"])
        return ""

    def _settings(self) -> dict[str, float]:
        settings: dict[str, float] = {}
        changes = self.pick([0, 0, 1, 2, 7])
        for name, corners in SETTING_CORNERS.items():
            if changes and self.chance(changes, 7):
                settings[name] = self.pick(corners)
        if self.theme == "expired" and self.chance(1, 3):
            settings["park_value_ratio"] = 1  # a tie is possible
        return settings

    # -- texts --------------------------------------------------------------------------------

    def size(self) -> int:
        """A length."""
        low, high, step = self.pick(SIZES)
        return low if low == high else low + step * self.integer(0, (high - low) // step)

    def text(self, family: int) -> Runs:
        """A family's text, with a turn beginning now and then, a little longer than its cuts."""
        if family not in self.texts:
            self.within(f"family {family}", partial(self._begin, family))
        return self.texts[family]

    def _begin(self, family: int) -> None:
        self.cuts[family] = cuts = self._cuts()
        text: Runs = [[ROOT_IDS, self.root]] if self.root else []
        left = cuts[-1] + 10
        for turn in range(self.integer(1, 3)):
            count = self.integer(1, left)
            text.append([(family + 1) * FAMILY_IDS + turn * TURN_IDS, count])
            text.append([TURN, 1])
            left = max(left - count, 1)
        text.append([(family + 1) * FAMILY_IDS + 9 * TURN_IDS, left])
        self.texts[family] = text

    def _cuts(self) -> list[int]:
        """Three lengths at which histories of one family end."""
        if self.theme == "near":
            if self.chance(1, 5):  # so long that 2% is more than 4,096 tokens
                whole = 50 * self.integer(4_097, 5_200)
                return [whole - whole // 50 - self.integer(0, 1), whole - 4_097, whole]
            first = self.size()
            second = first + self.pick([1, 4_096, 4_097, self.rate, self.rate + 1])
            return [first, second, second + self.pick([1, 4_096, 4_097])]
        steps = STEPS[4:] if self.theme == "versions" else STEPS
        first = self.size()
        second = first + self.pick(steps)
        return [first, second, second + self.pick(steps)]

    def own(self, count: int) -> Runs:
        """A text that no other begins with."""
        self.own_texts += 1
        return [[OWN_IDS + self.own_texts * TURN_IDS, max(count, 1)]]

    def family_start(self) -> Runs:
        """The start of a family's text that ends at one of its cuts."""
        family = self.integer(0, self.families - 1)
        text = self.text(family)
        return start_of(text, self.pick(self.cuts[family]))

    def another_end(self, runs: Runs, keep: int) -> Runs:
        """The first `keep` tokens with another end, so that they are about 98% of it, or less."""
        return start_of(runs, keep) + self.own(
            self.pick([1, keep // 49, keep // 49 + 1, 30, 3_000])
        )

    def near_end(self, runs: Runs) -> int:
        """A length just short of the whole, around the shares that make an older version."""
        n = total(runs)
        return max(self.pick([n - 1, n * 49 // 50, n * 49 // 50 - 1, n * 9 // 10, n // 2]), 0)

    def written(self, runs: Runs) -> list[Any]:
        """The same tokens, now and then written as another list of ids and runs."""
        if runs and self.chance(1, 10):
            first, count = runs[0]
            split = self.integer(1, count)
            return [first, [first + 1, split - 1], [first + split, count - split], *runs[1:]]
        return [*runs]

    # -- the table ----------------------------------------------------------------------------

    def table(self) -> Json:
        grouped = self.theme == "near" or (self.theme == "crowded" and self.chance(3, 4))
        batch_slots, batch_groups = self.choose.shape(GROUPED if grouped else SHAPES)
        parts = [f"slot {number}" for number in range(batch_slots)]
        texts = [self.within(part, self.slot_text) for part in parts]
        held = [text for text in texts if text]
        main = self.within("main", partial(self.main_text, held))
        prompt = self.within("request", partial(self.prompt, held, main))
        return {
            "now": NOW,
            "engine": {
                "batch_slots": batch_slots,
                "batch_groups": batch_groups,
                "slot_cache": 0 if self.chance(1, 40) else 1,
                "slot_padding_safe": self.integer(0, 1),
                "slot_park": 0 if self.chance(1, 6) else 1,
                "turn_token": self.pick([None, TURN, TURN, TURN, ROOT_IDS + 5]),
            },
            "settings": self.settings,
            "prompt_rate": self.rate,
            "request": self.within("request", partial(self.request, prompt, batch_slots)),
            "main": None if main is None else self.within("main", partial(self.main, main)),
            "slots": [
                self.within(part, partial(self.slot, text))
                for part, text in zip(parts, texts, strict=True)
            ],
        }

    def last_use(self, n: int) -> float:
        """A last use: of a few that come up again, or around an end of protection or of value."""
        protection = ttl(n, self.in_force)
        zero = self.in_force["idle_value_zero_s"]
        if self.theme == "crowded" and self.chance(9, 10):
            age = self.pick([0.0, protection / 2, protection * 0.6])
        elif self.theme == "expired":
            age = protection + self.pick([self.like_age, 0.05, *self.ages])
        elif self.fresh_in_ten and self.chance(self.fresh_in_ten, 10):
            age = self.pick([protection / 2, 0.0, protection * 0.9, protection - 0.05])
        elif n in (2_000, 8_000) and self.in_force["ttl_max_s"] == DEFAULTS["ttl_max_s"]:
            age = self.pick([protection, protection - 1, zero])  # whole: exactly its end
        else:
            around = [protection + 0.05, protection - 0.05, zero, zero - 1, 5_000]
            age = self.pick([*self.ages, *around])
        return round(NOW - max(age, 0.0), 3)

    def slot_text(self) -> Runs:
        if self.empty_in_ten and self.chance(self.empty_in_ten, 10):
            return []
        return self.history()

    def slot(self, text: Runs) -> Json:
        state = "idle"
        if self.busy_in_ten and self.chance(self.busy_in_ten, 10):
            state = self.pick(["busy", "yielded"])
        n = total(text)
        checkpoints = []
        if n > 1 and self.chance(1, 3):
            checkpoints = sorted({self.integer(1, n), max(last_turn(text), 1)})
        oddity = self.oddity()
        return {
            "state": state,
            "tokens": self.written(text),
            "last_use": self.last_use(n),
            "valid": oddity != "invalid",
            "images": int(oddity == "images"),
            "cvec": 0 if oddity == "cvec" else 1,
            "checkpoints": checkpoints,
        }

    def history(self) -> Runs:
        kind = self.integer(0, 9)
        if self.theme == "crowded" and kind < 8:
            return self.own(self.like * self.integer(100, 120) // 100)
        if self.theme == "expired" and kind < 3:
            return self.own(self.like)
        if self.theme == "near" and kind < 9:
            return self.family_start()
        if self.theme == "versions" and kind < 4:
            text = self.text(0)
            return self.another_end(text, self.near_end(text))
        if self.theme == "versions" and kind < 7:
            return start_of(self.text(0), self.pick(self.cuts[0][:2]))
        if kind < 4:
            return self.own(self.size())
        if kind < 8:
            return self.family_start()
        text = self.family_start()
        return self.another_end(text, self.near_end(text))

    def main_text(self, held: list[Runs]) -> Runs | None:
        kind = self.integer(0, 11)
        if self.theme == "versions" and kind < 7:
            return self.text(0)
        if self.theme == "expired" and 1 < kind < 4:
            return self.own(self.like * self.integer(1, 2))
        if kind == 0:
            return None
        if kind == 1:
            return []
        if kind < 6 or not held:
            return self.own(self.size())
        if kind < 8:
            return self.family_start()
        slot = self.pick(held)
        if kind == 8:
            return slot + self.own(self.pick([1, 50, 2_000]))
        if kind == 9:
            return self.another_end(slot, self.near_end(slot))
        if kind == 10:
            return self.another_end(slot, total(slot) // 2)
        return [*slot, [TURN, 1], *self.own(5)]

    def main(self, text: Runs) -> Json:
        oddity = self.oddity()
        return {
            "tokens": self.written(text),
            "last_use": NOW if self.chance(1, 2) else self.last_use(total(text)),
            "images": int(oddity == "images"),
            "cvec": 0 if oddity == "cvec" else 1,
        }

    def request(self, prompt: Runs, batch_slots: int) -> Json:
        solo = self.chance(1, 8)
        oddity = self.oddity()
        images = oddity == "images"
        return {
            "verb": ("GEN" if solo else "BGEN") + ("I" if images else ""),
            "client_slot": None if solo else self.integer(0, batch_slots - 1),
            "cvec": 0 if oddity == "cvec" else 1,
            "images": int(images),
            "prompt": self.written(prompt),
        }

    def prompt(self, held: list[Runs], main: Runs | None) -> Runs:
        kind = self.integer(0, 9)
        if self.theme == "near" and kind < 9:
            return self.text(0) + self.own(30)
        if kind < 2 or (self.theme in ("crowded", "expired", "versions") and kind < 8):
            return self.own(self.size())
        if kind == 2:
            return self.family_start()
        if kind < 5:
            return self.family_start() + self.own(self.pick([1, 30, 500]))
        if kind == 5 and main:
            around = max(last_turn(main) + self.pick([0, -1, 1]), 0)
            return start_of(main, around) + self.own(20)
        slot = self.pick(held) if held else self.own(self.size())
        if kind < 8:
            return slot + self.own(self.pick([1, 30, 500]))
        if kind == 8:
            return self.another_end(slot, self.near_end(slot))
        return self.pick([slot, start_of(slot, self.near_end(slot)) or slot])
