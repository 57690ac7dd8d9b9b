"""What a replay came to: tokens reused and read again, waits, decisions.

Here: sums over a run. Not here: showing them (`show`).

Tokens read again are those that an earlier request's history held: as many as the prompt could have
resumed from the best of them, less what was resumed. They are put down to what became of that
history: *replaced* (a slot held it and was given to something else), *never parked* (the main
session held it and was overwritten). *Rewritten* are tokens a history shared with the prompt but
could not give back, because the history's end is not in the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from slotd.replay.clairvoyant import Use, uses
from slotd.replay.drive import Row, Run
from slotd.workload.traffic import Traffic


@frozen
class Outcome:
    """One policy's sums. Lengths in tokens, waits in seconds."""

    policy: str
    requests: int
    prompt: int
    reused: int
    replaced: int
    never_parked: int
    rewritten: int
    wait_mean: float
    wait_p50: float
    wait_p95: float
    placements: dict[str, int]
    parks: dict[str, int]
    drifts: int

    @property
    def share(self) -> float:
        """The share of the prompt tokens that was reused."""
        return self.reused / self.prompt if self.prompt else 0.0

    def as_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {
            "policy": self.policy,
            "requests": self.requests,
            "prompt_tokens": self.prompt,
            "reused_tokens": self.reused,
            "read_again": {
                "replaced": self.replaced,
                "never_parked": self.never_parked,
                "rewritten": self.rewritten,
            },
            "first_token_s": {
                "mean": round(self.wait_mean, 3),
                "p50": round(self.wait_p50, 3),
                "p95": round(self.wait_p95, 3),
            },
            "placements": self.placements,
            "parks": self.parks,
            "drifts": self.drifts,
        }


def earlier_uses(traffic: Traffic) -> dict[int, list[tuple[int, Use]]]:
    """For every request that can resume from an earlier history: (that request, how)."""
    found: dict[int, list[tuple[int, Use]]] = {}
    for number, later in enumerate(uses(traffic)):
        for use in later:
            found.setdefault(use.request, []).append((number, use))
    return found


def outcome(run: Run, earlier: dict[int, list[tuple[int, Use]]]) -> Outcome:
    """Sum a run up; `earlier` is `earlier_uses` of the traffic it ran."""
    rows = {row.request: row for row in run.rows}
    causes = {"replaced": 0, "never_parked": 0, "rewritten": 0}
    for row in run.rows:
        _add_causes(causes, row, rows, earlier.get(row.request, ()), run.saved)
    waits = np.array([row.wait for row in run.rows] or [0.0])
    return Outcome(
        policy=run.policy,
        requests=len(run.rows),
        prompt=sum(row.prompt for row in run.rows),
        reused=sum(row.reused for row in run.rows),
        **causes,
        wait_mean=float(waits.mean()),
        wait_p50=float(np.percentile(waits, 50)),
        wait_p95=float(np.percentile(waits, 95)),
        placements=dict(run.placements.most_common()),
        parks=dict(run.parks.most_common()),
        drifts=run.drifts,
    )


def _add_causes(
    causes: dict[str, int],
    row: Row,
    rows: dict[int, Row],
    earlier: Sequence[tuple[int, Use]],
    saved: set[int],
) -> None:
    best, cause, shared = row.reused, "", 0
    for number, use in earlier:
        before = rows.get(number)
        if before is None or before.end > row.arrival + row.wait:
            continue
        held = before.prompt + before.generated - 1
        could = use.tokens(held)
        shared = max(shared, min(use.shared, held))
        if could > best:
            lost = before.last_leg == "GEN" and number not in saved
            best, cause = could, "never_parked" if lost else "replaced"
    if cause:
        causes[cause] += best - row.reused
    causes["rewritten"] += max(0, shared - best)
