"""Logs made of slot tables, for decisions a played conversation would take long to reach."""

import json
from collections.abc import Mapping
from typing import Any

from click.testing import CliRunner, Result

from slotd.cli.main import slotd
from slotd.explain.explanation import Explanation, explain
from slotd.explain.log import find
from slotd.logs.records import read_record
from slotd.policy.decide import Decision, RetentionDecider
from slotd.policy.table import Table
from slotd.policy.table_json import decision_to_json, table_to_json

Json = dict[str, Any]


def place_event(
    of: Table, number: int = 1, decision: Decision | None = None, **fields: Any
) -> Json:
    """Return the `place` event of a decision, the policy's unless another one is given."""
    decided = RetentionDecider().decide(of) if decision is None else decision
    return {
        "ts": "2026-01-31T12:00:00.000Z",
        "level": "info",
        "event": "place",
        "request": number,
        "verb": of.request.verb,
        "client_slot": of.request.client_slot,
        **decision_to_json(decided),
        "table": table_to_json(of),
        **fields,
    }


def event(name: str, number: int = 1, **fields: Any) -> Json:
    return {
        "ts": "2026-01-31T12:00:01.000Z",
        "level": "info",
        "event": name,
        "request": number,
        **fields,
    }


def lines(*events: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def explained(
    *events: Json, request: int | None = None, given: Mapping[str, float] | None = None
) -> Explanation:
    """Return the explanation of the one decision these events hold."""
    records = [read for each in events if (read := read_record(json.dumps(each).encode()))]
    [logged] = find(records, request)
    return explain(logged, given or {})


def run(log: bytes, *arguments: str) -> Result:
    """Run `slotd explain` on a log on standard input."""
    return CliRunner().invoke(slotd, ["explain", "-", *arguments], input=log)


def shown(log: bytes, *arguments: str) -> str:
    """Return what it prints, which must go well."""
    result = run(log, *arguments)
    assert result.exit_code == 0, result.output
    return result.output
