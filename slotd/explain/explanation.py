"""Everything there is to tell of one decision, joined: the rules, the park, what came of it.

Here: asking the policy again about a logged table, and the accounts of what it answers. Not here:
the sentences (`placing`, `parking`, `outcome`) and the screen.
"""

from collections.abc import Mapping

from attrs import asdict, evolve, frozen

from slotd.explain import parking, placing
from slotd.explain.account import Account
from slotd.explain.log import Logged, LoggedDecision, LoggedPark
from slotd.explain.outcome import Happening, outcome
from slotd.explain.what_if import SlotChange, changed_settings, changed_slots, with_settings
from slotd.policy.decide import Decision, RetentionDecider, go_on
from slotd.policy.json_fields import JsonValue
from slotd.policy.table import Table
from slotd.policy.table_json import decision_to_json, table_to_json


@frozen
class Verdict:
    """What the rules say of a table, and why."""

    table: Table
    decision: Decision
    goes_on: bool
    """A read that gave way goes on in the slot that keeps its part: no slot was chosen."""
    parks: bool
    """The main session may be parked; not while a read that gives way is still in it."""
    place_rules: tuple[Account, ...]
    park_rules: tuple[Account, ...]

    @property
    def place_says(self) -> str:
        """The placement in one sentence."""
        if self.goes_on:
            return "the slot keeps the part read before the read gave way"
        return placing.summary(self.table, self.decision.placement)

    @property
    def park_says(self) -> str:
        """What becomes of the main session's conversation, in one sentence."""
        if not self.parks:
            return "nothing to park: the read that gives way is in the main session"
        return parking.summary(self.table, self.decision.park)


@frozen
class WhatIf:
    """The same table with other settings."""

    given: Mapping[str, float]
    """The settings asked for, by name."""
    changed: Mapping[str, float]
    """Those of them that the log has otherwise."""
    verdict: Verdict
    slots: tuple[SlotChange, ...]
    """The slots the settings make something else of."""


@frozen
class Explanation:
    """One decision, explained."""

    logged: Logged
    verdict: Verdict
    """What the rules say with the settings of the log."""
    outcome: tuple[Happening, ...]
    what_if: WhatIf | None

    @property
    def agrees(self) -> bool:
        """Whether the rules give what was logged; another policy or version may have decided."""
        # The score follows from the slot; as text in a log it may have fewer digits.
        logged = self.logged.decision
        mine = as_logged(self.verdict.decision)
        return evolve(mine, score=logged.score, losses=logged.losses) == logged


def explain(logged: Logged, given: Mapping[str, float]) -> Explanation:
    """Explain a logged decision, and what the settings `given` (none: nothing) would change."""
    what_if = None
    if given:
        table = with_settings(logged.table, given)
        what_if = WhatIf(
            given,
            changed_settings(logged.table.settings, given),
            _verdict(logged, table),
            changed_slots(logged.table, table),
        )
    return Explanation(logged, _verdict(logged, logged.table), outcome(logged), what_if)


def _verdict(logged: Logged, table: Table) -> Verdict:
    kept = _kept_read(logged)
    parks = logged.verb != "BYIELD"
    if kept is not None:
        decision = go_on(table, kept)
        place_rules = placing.going_on(table, decision.placement)
    else:
        decision = RetentionDecider().decide(table)
        place_rules = placing.accounts(table, decision.placement)
    if not parks:
        decision = Decision(decision.placement, None)
    return Verdict(
        table,
        decision,
        kept is not None,
        parks,
        place_rules,
        parking.accounts(table, decision.park, decision.placement),
    )


def _kept_read(logged: Logged) -> int | None:
    """Return the slot a read that gave way goes on in: the only one not idle that is ever given."""
    slot = logged.decision.slot
    if slot is None or logged.table.slots[slot].state != "yielded":
        return None
    return slot


def as_logged(decision: Decision) -> LoggedDecision:
    """Return a decision as a log has it."""
    placement, chosen = decision.placement, decision.park
    return LoggedDecision(
        placement.slot,
        placement.reason,
        placement.source,
        placement.hint,
        placement.score,
        None if chosen is None else LoggedPark(chosen.slot, chosen.reason),
    )


def explanation_to_json(told: Explanation) -> dict[str, JsonValue]:
    """Return an explanation as one JSON object, with everything the screen shows."""
    logged = told.logged
    return {
        "request": logged.request,
        "verb": logged.verb,
        "at": logged.at,
        "client_slots": {str(slot): number for slot, number in logged.client_slots.items()},
        "table": table_to_json(logged.table),
        "logged": asdict(logged.decision),
        "agrees": told.agrees,
        **_verdict_to_json(told.verdict),
        "outcome": [asdict(happening) for happening in told.outcome],
        "what_if": None if told.what_if is None else _what_if_to_json(told.what_if, told.verdict),
    }


def _verdict_to_json(verdict: Verdict) -> dict[str, JsonValue]:
    return {
        "decision": decision_to_json(verdict.decision),
        "place": {
            "says": verdict.place_says,
            "rules": [asdict(account) for account in verdict.place_rules],
        },
        "park": {
            "says": verdict.park_says,
            "rules": [asdict(account) for account in verdict.park_rules],
        },
    }


def _what_if_to_json(what_if: WhatIf, verdict: Verdict) -> dict[str, JsonValue]:
    return {
        "settings": dict(what_if.given),
        "changed_settings": dict(what_if.changed),
        "changes_the_decision": what_if.verdict.decision != verdict.decision,
        "slots": [asdict(change) for change in what_if.slots],
        **_verdict_to_json(what_if.verdict),
    }
