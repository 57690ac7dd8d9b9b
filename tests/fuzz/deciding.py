"""The target over `slotd decide`."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial

from slotd.cli.decide import answers
from slotd.policy.decide import RetentionDecider
from tests.fuzz.reading import Features
from tests.fuzz.taking import Taker

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

ODD: list[Json] = [
    *(None, True, False, -1, 0, 1, 2**31, 2**63, 10**40, 0.5, -0.0, 1e308, float("nan")),
    *(float("inf"), "", "x", [], [[]], {}, [0, 0], [[5, 0]], [[0, 2**31]], [[2**31 - 1, 2]]),
]


def decide(data: bytes) -> Features:
    """Have a table decided that is right, nearly right or any bytes at all.

    Raises AssertionError when there is not one answer to the line, or a decision names a slot that
    the table says is not free.
    """
    taker = Taker(data)
    features = set[str]()
    if taker.happens(4):
        line = taker.rest().replace(b"\n", b" ")
        table: dict[str, Json] = {}
    else:
        table = _table(taker)
        line = json.dumps(table).encode()
    said = list(answers([line + b"\n"], RetentionDecider()))
    assert len(said) == (1 if line.strip() else 0)
    for answer in said:
        json.dumps(answer, allow_nan=False)
        error = answer.get("error")
        if error is None and table:
            _check_decision(table, answer, features)
        elif error is not None:
            assert isinstance(error, str)
            assert "\n" not in error
            features.add(re.sub(r"\d+", "", error.split(":")[1]))
    return frozenset(features)


def _check_decision(
    table: Mapping[str, Json], answer: Mapping[str, Json], features: set[str]
) -> None:
    slots = table.get("slots")
    free = set[int]()
    if isinstance(slots, list):  # it may be anything where the engine has none
        for number, slot in enumerate(slots):
            if isinstance(slot, dict) and slot.get("state") in (None, "idle"):
                free.add(number)
    chosen, park = answer["slot"], answer["park"]
    assert chosen is None or chosen in free
    features.add(str(answer["reason"]))
    if isinstance(park, dict):
        assert park["slot"] is None or (park["slot"] in free and park["slot"] != chosen)
        features.add(f"park {park['reason']}")


def _table(taker: Taker) -> dict[str, Json]:
    slots = taker.pick([0, 1, 4, 6, 6, 6])
    groups = taker.pick([1, 3, 2])
    table: dict[str, Json] = {
        "now": 1000.0,
        "engine": {
            "batch_slots": slots,
            "batch_groups": groups if slots % groups == 0 else 1,
            "slot_cache": taker.happens(14),
            "slot_padding_safe": taker.happens(8),
            "slot_park": taker.happens(12),
            "turn_token": taker.pick([None, 248_045]),
        },
        "settings": {"ttl_max_s": taker.pick([120, 0, 7])} if taker.happens(3) else {},
        "prompt_rate": taker.pick([0, 2000.0]),
        "request": {
            "verb": taker.pick(["BGEN", "GEN", "BGENI"]),
            "client_slot": taker.below(7),
            "cvec": 1,
            "images": taker.happens(1),
            "prompt": _tokens(taker),
        },
        "main": _history(taker) if taker.happens(12) else None,
        "slots": [
            {
                **_history(taker),
                "state": taker.pick(["idle", "idle", "idle", "busy", "yielded"]),
                "valid": taker.happens(14),
                "checkpoints": taker.pick([[], [1, 40], [40]]),
            }
            for _ in range(slots)
        ],
    }
    _spoil(taker, table)
    return table


def _history(taker: Taker) -> dict[str, Json]:
    return {
        "tokens": _tokens(taker),
        "last_use": taker.pick([1000.0, 999.0, 970.0, 700.0, 0.0, -5000.0, 1001.0]),
        "cvec": taker.pick([1, 1, 1, 0]),
        "images": taker.happens(1),
    }


def _tokens(taker: Taker) -> list[Json]:
    count = taker.pick([0, 1, 40, 600, 9000, 100_000])
    tokens: list[Json] = [[taker.pick([0, 0, 50_000]), count]]
    if taker.happens(6):
        tokens += [248_045, taker.below(4)]
    return tokens


def _spoil(taker: Taker, table: dict[str, Json]) -> None:
    """Put odd values in odd places, mostly in none."""
    for _ in range(taker.pick([0, 0, 0, 1, 1, 2])):
        place: object = table
        put: Callable[[Json], None] | None = None
        for _ in range(1 + taker.below(4)):
            if isinstance(place, dict) and place:
                key = taker.pick(list(place))
                put, place = partial(place.__setitem__, key), place[key]
            elif isinstance(place, list) and place:
                at = taker.below(len(place))
                put, place = partial(place.__setitem__, at), place[at]
        if put is not None:
            put(deepcopy(taker.pick(ODD)))
