"""The placement policy a second time, as plainly as it can be said, to be read beside POLICY.md.

Here live the words, the numbers and the rules of POLICY.md in its order, over plain lists and
dicts, for one JSON table of `slotd decide`. Nothing of the project may be imported here: this
module was written from the text alone, and is worth something only as long as it stays that way.

Token lists are runs of consecutive ids (see `plain_runs`). A slot is a dict; `read_slots` says what
it holds. Lengths are tokens and ages seconds.
"""

from itertools import pairwise
from typing import Any

from tests.reference.plain_runs import Runs, common_prefix, length, runs_of, up_to_last

Json = dict[str, Any]
Slot = dict[str, Any]

DEFAULTS = {
    "ttl_max_s": 120.0,
    "expired_keep_score": 0.01,
    "idle_value_zero_s": 1800.0,
    "park_value_ratio": 2.0,
    "park_min_value": 0.01,
    "park_kept_share": 0.98,
    "sibling_share": 0.98,
}


def decide(table: Json) -> Json:
    """Decide one table: where the request goes, what it can resume, and where the park goes."""
    settings = {**DEFAULTS, **table.get("settings", {})}
    request = table["request"]
    prompt = runs_of(request["prompt"])
    main = read_main(table)
    slots = read_slots(table, settings)
    for slot in slots:
        slot["shared"] = common_prefix(slot["runs"], prompt)
        slot["match"] = match(slot, request, prompt)
    hint, source = hint_and_source(slots, main, request, prompt)
    if request["verb"] in ("GEN", "GENI"):
        chosen, reason = None, "solo"
    else:
        chosen, reason = place(slots, request, prompt, table, settings)
    taken = {slot_number for slot_number in (chosen, source) if slot_number is not None}
    return {
        "slot": chosen,
        "reason": reason,
        "source": source,
        "hint": hint,
        "score": None if chosen is None else overwrite_score(slots[chosen], settings),
        "park": park(slots, main, prompt, taken, table, settings),
    }


# -- Words ------------------------------------------------------------------------------------


def read_main(table: Json) -> Json | None:
    """Read the main session: runs, length, age, pictures, cvec."""
    main = table["main"]
    if main is None:
        return None
    runs = runs_of(main["tokens"])
    return {
        "runs": runs,
        "length": length(runs),
        "age": table["now"] - main["last_use"],
        "images": bool(main["images"]),
        "cvec": main["cvec"],
    }


def read_slots(table: Json, settings: Json) -> list[Slot]:
    """Read every slot and say of it what the words of the policy say: all but shared and match."""
    engine = table["engine"]
    size = group_size(engine)
    slots: list[Slot] = []
    for number, row in enumerate(table["slots"]):
        runs = runs_of(row["tokens"])
        slots.append(
            {
                "number": number,
                "group": number // size,
                "runs": runs,
                "length": length(runs),
                "age": table["now"] - row["last_use"],
                "idle": row["state"] == "idle",
                "invalid": invalid(row, engine),
                "images": bool(row["images"]),
                "cvec": row["cvec"],
                "checkpoints": row["checkpoints"],
            }
        )
    for slot in slots:
        slot["superseded"] = superseded(slot, slots)
        slot["blank"] = slot["length"] == 0 or slot["invalid"] or slot["superseded"]
        slot["protected"] = protected(slot, settings)
        slot["value"] = 0.0 if slot["blank"] else value(slot["length"], slot["age"], settings)
        slot["load"] = load(slot, slots, engine)
        slot["order"] = order(slot, engine)
    return slots


def invalid(row: Json, engine: Json) -> bool:
    """invalid: its state may have been lost, or it read pictures, or slots keep nothing at all."""
    return not row["valid"] or bool(row["images"]) or not engine["slot_cache"]


def superseded(slot: Slot, slots: list[Slot]) -> bool:
    """superseded: a valid history that is a proper prefix of another slot's valid history.

    Busy ones included. Of equal histories all are, but the most recently used, then the lowest
    slot number. The main session supersedes nothing.
    """
    if slot["invalid"]:
        return False
    for other in slots:
        if other is slot or other["invalid"] or other["length"] < slot["length"]:
            continue
        if common_prefix(slot["runs"], other["runs"]) < slot["length"]:
            continue
        if slot["length"] < other["length"]:
            return True
        if (other["age"], other["number"]) < (slot["age"], slot["number"]):
            return True
    return False


def protected(slot: Slot, settings: Json) -> bool:
    """protected: neither blank (which counts as expired) nor older than its protection."""
    return not slot["blank"] and slot["age"] < ttl(slot["length"], settings)


def groups(engine: Json) -> int:
    """Count the groups; an engine that names none has one."""
    return int(engine["batch_groups"] or 1)


def group_size(engine: Json) -> int:
    """Count the slots of a group: group g is the slots g * s to g * s + s - 1."""
    return int(engine["batch_slots"]) // groups(engine)


def load(slot: Slot, slots: list[Slot], engine: Json) -> int:
    """load: the busy slots (reading, decoding or keeping a yielded read) of its group.

    With one group: 0.
    """
    if groups(engine) == 1:
        return 0
    group = slot["group"]
    return sum(1 for other in slots if other["group"] == group and not other["idle"])


def order(slot: Slot, engine: Json) -> tuple[int, int]:
    """order: 0, s, 2s, ..., 1, s+1, ... for groups of s slots; one group: 0, 1, 2, ..."""
    size = group_size(engine)
    return slot["number"] % size, slot["number"] // size


# -- Numbers ----------------------------------------------------------------------------------

PROTECTION = [
    (500, 0.1),
    (2000, 2.0),
    (8000, 10.0),
    (32000, 45.0),
    (50000, 65.0),
    (100000, 90.0),
    (262144, 120.0),
]


def ttl(n: int, settings: Json) -> float:
    """Protection in seconds: linear between the points, constant outside, times TTL_MAX_S / 120."""
    seconds = PROTECTION[-1][1]
    if n <= PROTECTION[0][0]:
        seconds = PROTECTION[0][1]
    else:
        for (n0, s0), (n1, s1) in pairwise(PROTECTION):
            if n0 <= n <= n1:
                seconds = s0 + (s1 - s0) * (n - n0) / (n1 - n0)
                break
    return float(seconds * settings["ttl_max_s"] / 120)


def base(n: int) -> float:
    """base(n) = (n/50000)^0.7 * (n/(n+2000))^2."""
    return float((n / 50000) ** 0.7 * (n / (n + 2000)) ** 2)


def retention(n: int, age: float, settings: Json) -> float:
    """retention = base(n) * (0.25 + 0.75 * (1 - age/ttl)) while age < ttl, else 0."""
    protection = ttl(n, settings)
    if age < protection:
        return base(n) * (0.25 + 0.75 * (1 - age / protection))
    return 0.0


def value(n: int, age: float, settings: Json) -> float:
    """The retention while protected; after that base(n) * 0.25 * (1 - x^2).

    x = clamp((age - ttl) / (ZERO_S - ttl), 0, 1); ZERO_S = 0: x = 0; ZERO_S <= ttl: x = 1.
    """
    protection = ttl(n, settings)
    zero = settings["idle_value_zero_s"]
    if age < protection:
        return retention(n, age, settings)
    if zero == 0:
        x = 0.0
    elif zero <= protection:
        x = 1.0
    else:
        x = min(max((age - protection) / (zero - protection), 0.0), 1.0)
    return base(n) * 0.25 * (1 - x * x)


def overwrite_score(slot: Slot, settings: Json) -> float:
    """Overwrite score: 1 / (1 + retention); a blank slot is worth 0, so 1."""
    if slot["blank"]:
        return 1.0
    return 1 / (1 + retention(slot["length"], slot["age"], settings))


# -- Match ------------------------------------------------------------------------------------


def same_kind(holder: Json, request: Json) -> bool:
    """Say whether both have the same cvec and neither has pictures."""
    return bool(
        holder["cvec"] == request["cvec"] and not holder["images"] and not request["images"]
    )


def may_match(slot: Slot, request: Json) -> bool:
    """Say whether the slot meets the conditions of a match other than the tokens'."""
    return bool(
        slot["idle"] and slot["length"] > 0 and not slot["invalid"] and same_kind(slot, request)
    )


def match(slot: Slot, request: Json, prompt: Runs) -> int:
    """match(s) = len(history) when it is a proper prefix of the prompt, else 0."""
    if may_match(slot, request) and slot["shared"] == slot["length"] < length(prompt):
        return int(slot["length"])
    return 0


def hint_and_source(
    slots: list[Slot], main: Json | None, request: Json, prompt: Runs
) -> tuple[int, int | None]:
    """hint = what the engine can resume, and the slot it would resume it from (None: no slot).

    The longest of the matches, of the main session when it is a proper prefix of the prompt
    and, where no slot's history continues the prompt, of the reported checkpoints. The same
    length twice: the main session before the slots, then the lowest slot number, which is how
    the engine looks for it.
    """
    hint = 0
    source = None
    if main is not None and same_kind(main, request):
        shared = common_prefix(main["runs"], prompt)
        if shared == main["length"] < length(prompt):
            hint = main["length"]
    for slot in slots:
        if slot["match"] > hint:
            hint, source = slot["match"], slot["number"]
    if not any(slot["match"] > 0 for slot in slots):
        for slot in slots:
            if may_match(slot, request):
                for checkpoint in slot["checkpoints"]:
                    if hint < checkpoint <= slot["shared"] and checkpoint < length(prompt):
                        hint, source = checkpoint, slot["number"]
    return hint, source


# -- place() ----------------------------------------------------------------------------------


def place(
    slots: list[Slot], request: Json, prompt: Runs, table: Json, settings: Json
) -> tuple[int | None, str]:
    """Take the first of the four rules that finds a slot; no idle slot: none_idle."""
    engine = table["engine"]
    idle = [slot for slot in slots if slot["idle"]]
    if not idle:
        return None, "none_idle"
    found = continue_or_spread(idle, table["prompt_rate"])
    if found is not None:
        return found
    chosen = sibling(idle, request, settings)
    if chosen is not None:
        return chosen["number"], "sibling"
    free = [slot for slot in idle if cost(slot, slots, engine, settings) == 0]
    chosen = reclaim(free, settings)
    if chosen is not None:
        return chosen["number"], "reclaim"
    chosen = least_loss(idle, slots, engine, settings)
    return chosen["number"], "least_loss"


def continue_or_spread(idle: list[Slot], prompt_rate: float | None) -> tuple[int, str] | None:
    """1. continue / spread, when any match > 0.

    Near sources: match within max(2% of the best, one second of the prompt rate, 4096 tokens)
    of the best. Candidates: these, and the blank idle slots whose load is below every near
    source's. The lowest (load, source before blank, -match, order).
    """
    best = max(slot["match"] for slot in idle)
    if best == 0:
        return None
    within = max(0.02 * best, prompt_rate or 0.0, 4096)
    near = [slot for slot in idle if slot["match"] > 0 and best - slot["match"] <= within]
    lowest_load = min(slot["load"] for slot in near)
    candidates = []
    for slot in idle:
        if slot in near:
            candidates.append((slot["load"], 0, -slot["match"], slot["order"], slot["number"]))
        elif slot["blank"] and slot["load"] < lowest_load:
            candidates.append((slot["load"], 1, -slot["match"], slot["order"], slot["number"]))
    _, blank, _, _, number = min(candidates)
    return number, "spread" if blank else "continue"


def sibling(idle: list[Slot], request: Json, settings: Json) -> Slot | None:
    """2. sibling, among the valid idle histories (same cvec, no pictures).

    An older version of the same conversation has shared / len(history) >= SIBLING_SHARE and
    shared < len(history). The most shared (then order), protected or not. 0 turns the rule off.
    """
    if settings["sibling_share"] == 0:
        return None
    versions = []
    for slot in idle:
        if may_match(slot, request):
            share = slot["shared"] / slot["length"]
            if share >= settings["sibling_share"] and slot["shared"] < slot["length"]:
                versions.append(slot)
    return min(versions, key=lambda slot: (-slot["shared"], slot["order"]), default=None)


def worth_keeping(slot: Slot, settings: Json) -> bool:
    """Worth keeping: not blank and value >= KEEP_SCORE."""
    return not slot["blank"] and slot["value"] >= settings["expired_keep_score"]


def reclaim(candidates: list[Slot], settings: Json) -> Slot | None:
    """3. reclaim, of the candidates that are blank or expired.

    The lowest (worth keeping, load, value, blank before not, order).
    """
    return min(
        (slot for slot in candidates if not slot["protected"]),
        key=lambda slot: (
            worth_keeping(slot, settings),
            slot["load"],
            slot["value"],
            not slot["blank"],
            slot["order"],
        ),
        default=None,
    )


def cost(slot: Slot, slots: list[Slot], engine: Json, settings: Json) -> float:
    """Cost: what starting a row there makes pad rows of, with groups and no padding safety.

    The sum of the retentions of the protected, valid, not superseded idle slots below it in its
    group. Otherwise 0.
    """
    if groups(engine) == 1 or engine["slot_padding_safe"]:
        return 0.0
    total = 0.0
    for other in slots:
        below = other["number"] < slot["number"] and other["group"] == slot["group"]
        if below and other["idle"] and other["protected"]:
            total += retention(other["length"], other["age"], settings)
    return total


def least_loss(idle: list[Slot], slots: list[Slot], engine: Json, settings: Json) -> Slot:
    """4. least loss: loss = value + cost.

    Among the losses within 10% of the lowest: the lowest (load, loss, order).
    """
    losses = [(slot["value"] + cost(slot, slots, engine, settings), slot) for slot in idle]
    lowest = min(loss for loss, _ in losses)
    near = [(loss, slot) for loss, slot in losses if loss <= lowest * 1.1]
    return min(near, key=lambda pair: (pair[1]["load"], pair[0], pair[1]["order"]))[1]


# -- park -------------------------------------------------------------------------------------


def nothing_to_park(main: Json | None, prompt: Runs, engine: Json) -> bool:
    """Nothing to park: the main session holds nothing, or pictures, or the prompt continues it.

    It does when it shares what the main session holds up to its last turn; without
    `turn_token`: all it holds.
    """
    if main is None or main["length"] == 0 or main["images"]:
        return True
    last_turn = up_to_last(engine["turn_token"], main["runs"])
    return common_prefix(main["runs"], prompt) >= last_turn


def park(
    slots: list[Slot],
    main: Json | None,
    prompt: Runs,
    taken: set[int],
    table: Json,
    settings: Json,
) -> Json | None:
    """Say where the main session's conversation goes before another request replaces it.

    Only with `slot_park=1`. `taken`: the admission's slot and the one the request restores from.
    """
    engine = table["engine"]
    if not engine["slot_park"] or nothing_to_park(main, prompt, engine):
        return None
    assert main is not None
    main_value = value(main["length"], main["age"], settings)
    if main_value < settings["park_min_value"]:
        return {"slot": None, "reason": "main_low_value"}
    shared = [common_prefix(slot["runs"], main["runs"]) for slot in slots]
    if kept(slots, shared, main, settings):
        return {"slot": None, "reason": "kept"}
    free = [slot for slot in slots if slot["idle"] and slot["number"] not in taken]
    chosen = park_older(free, shared)
    if chosen is not None:
        return {"slot": chosen["number"], "reason": "older"}
    chosen = park_sibling(free, shared, settings)
    if chosen is not None:
        return {"slot": chosen["number"], "reason": "sibling"}
    chosen = park_reclaim(free, main_value, settings)
    if chosen is not None:
        return {"slot": chosen["number"], "reason": "reclaim"}
    return {"slot": None, "reason": "no_slot"}


def holds_history(slot: Slot) -> bool:
    """Say whether the slot holds a valid history: something, and not invalid."""
    return slot["length"] > 0 and not slot["invalid"]


def kept(slots: list[Slot], shared: list[int], main: Json, settings: Json) -> bool:
    """kept: some slot, busy or idle, holds a valid history that has KEPT_SHARE of the main's."""
    for slot in slots:
        share = shared[slot["number"]] / main["length"]
        if holds_history(slot) and share >= settings["park_kept_share"]:
            return True
    return False


def park_older(free: list[Slot], shared: list[int]) -> Slot | None:
    """1. older: the longest valid idle history that is a prefix of the main session's."""
    return min(
        (slot for slot in free if holds_history(slot) and shared[slot["number"]] == slot["length"]),
        key=lambda slot: (-slot["length"], slot["order"]),
        default=None,
    )


def park_sibling(free: list[Slot], shared: list[int], settings: Json) -> Slot | None:
    """2. sibling: a valid idle history sharing >= SIBLING_SHARE of its own length with the main's.

    The most shared first (then order). 0 turns the rule off here too.
    """
    if settings["sibling_share"] == 0:
        return None
    versions = []
    for slot in free:
        if holds_history(slot):
            share = shared[slot["number"]] / slot["length"]
            if share >= settings["sibling_share"]:
                versions.append(slot)
    return min(versions, key=lambda slot: (-shared[slot["number"]], slot["order"]), default=None)


def park_reclaim(free: list[Slot], main_value: float, settings: Json) -> Slot | None:
    """3. the reclaim order, where a history worth keeping counts only if the main's is worth more.

    RATIO > 0 and value(main) >= RATIO * its value. Never another protected slot. What a row
    would cost its group does not count: a park starts no row.
    """
    ratio = settings["park_value_ratio"]
    return reclaim(
        [
            slot
            for slot in free
            if not worth_keeping(slot, settings)
            or (ratio > 0 and main_value >= ratio * slot["value"])
        ],
        settings,
    )
