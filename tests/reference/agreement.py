"""Do the project's policy and the plain one decide the same about a table, and if not, where not.

Here live the project's policy as `slotd decide` runs it, the comparison, the counts of a block of
random tables (one block is one unit of work for a worker process), and the words of a failure.
Not here: the tables (`random_tables`) and what must hold of the counts (`test_equivalence`).
"""

import gc
import json
import math
from collections import Counter
from typing import Any

from attrs import Factory, define

from slotd.policy.decide import RetentionDecider
from slotd.policy.table_json import decision_to_json
from slotd.policy.token_tables import table_from_tokens
from tests.reference import plain_policy
from tests.reference.random_tables import SeededChooser, random_table, total

Json = dict[str, Any]

DECIDER = RetentionDecider()
NOTHING = "nothing"  # counted where there is no park to speak of


def project_decision(table: Json) -> Json:
    """Decide one JSON table by the project's policy, as the decide command does."""
    return dict(decision_to_json(DECIDER.decide(table_from_tokens(table))))


def differing(ours: Json, plain: Json) -> list[str]:
    """Name the fields that differ; two scores are the same when only rounding tells them apart."""
    names = []
    for name in plain.keys() | ours.keys():
        one, other = ours.get(name), plain.get(name)
        if name == "score" and one is not None and other is not None:
            if not math.isclose(one, other, rel_tol=1e-12):
                names.append(name)
        elif one != other:
            names.append(name)
    return sorted(names)


@define
class Block:
    """What a block of random tables came to: counts per reason, and the tables that differ."""

    place: Counter[str] = Factory(Counter)
    park: Counter[str] = Factory(Counter)
    differ: list[Json] = Factory(list)

    def add(self, other: "Block") -> None:
        """Count another block in."""
        self.place += other.place
        self.park += other.park
        self.differ += other.differ


def compare_block(seed: int, tables: int) -> Block:
    """Decide `tables` random tables of one seed twice and compare."""
    choose = SeededChooser(seed)
    block = Block()
    gc.disable()  # nothing here makes cycles, and it would look at every table for some
    try:
        for _ in range(tables):
            table = random_table(choose)
            ours, plain = project_decision(table), plain_policy.decide(table)
            if ours != plain and differing(ours, plain):
                block.differ.append(table)
            block.place[plain["reason"]] += 1
            block.park[plain["park"]["reason"] if plain["park"] else NOTHING] += 1
    finally:
        gc.enable()
    return block


def told(table: Json) -> str:
    """Tell where the two differ about a table, for a person, and the line to try it with."""
    ours, plain = project_decision(table), plain_policy.decide(table)
    engine, request, main = table["engine"], table["request"], table["main"]
    lines = ["", "The two implementations of POLICY.md differ:"]
    for name in differing(ours, plain):
        lines.append(f"  {name}: slotd.policy {ours.get(name)}, plain_policy {plain.get(name)}")
    lines.append(f"engine: {_fields(engine)}")
    lines.append(f"settings: {_fields(table['settings']) or 'the defaults'}")
    lines.append(f"prompt rate: {table['prompt_rate']}")
    lines.append(
        f"request: {request['verb']} cvec={request['cvec']} images={request['images']} "
        f"prompt of {_tokens(request['prompt'])}"
    )
    lines.append(f"main: {'none' if main is None else _held(table, main)}")
    for number, slot in enumerate(table["slots"]):
        valid = "" if slot["valid"] else "invalid "
        checkpoints = f" checkpoints {slot['checkpoints']}" if slot["checkpoints"] else ""
        lines.append(f"slot {number}: {slot['state']} {valid}{_held(table, slot)}{checkpoints}")
    lines.append(f"slotd decide <<< '{json.dumps(table)}'")
    return "\n".join(lines)


def _fields(found: Json) -> str:
    return " ".join(f"{name}={value}" for name, value in found.items())


def _held(table: Json, holder: Json) -> str:
    age = table["now"] - holder["last_use"]
    return (
        f"{_tokens(holder['tokens'])} aged {age:g} s "
        f"cvec={holder['cvec']} images={holder['images']}"
    )


def _tokens(tokens: list[Any]) -> str:
    runs = [[item, 1] if isinstance(item, int) else item for item in tokens]
    return f"{total(runs)} tokens {tokens}"
