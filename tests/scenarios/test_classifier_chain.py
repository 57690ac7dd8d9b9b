"""The classifier chain on the simulated engine: the six-row table of the checkpoints' document.

A classifier inserts what is new before the closing text of its transcript, so that each query
leaves the one before it 39 tokens before that one's end. An agent's conversation goes on between
the queries. Beside a client that decodes, published: 14.5-14.8 s a query without checkpoints, and
0.97-1.83 s with them from the third on.

Alone, where both conversations run solo, 99% of every query is already in the slot that holds the
one before it. The second is parked all the same, since it has a checkpoint where they part and the
slot has none (`park.lacks_branch`); those after it resume from that checkpoint and need no park.
"""

import pytest
from attrs import evolve

from slotd.sim.options import SimOptions
from slotd.sim.timing import Timing
from tests.scenarios.chain import CHAIN, SHORT_ANSWER, Scene
from tests.scenarios.conversations import Conversation
from tests.scenarios.stage import CHECKPOINTS, SIX_SLOTS, Answer, Ask, Person, Stage, decoding

BESIDE_WITHOUT_S, BESIDE_WITH_S = (14.5, 14.8), (0.97, 1.83)
SPEED = 0.1
"""The timing is fitted to three published reads, not to this table: so near it comes."""


def play(options: SimOptions, beside: bool) -> tuple[Stage, list[Answer]]:
    """Play the chain with the agent's turns in between; return the queries' answers."""
    stage = Stage(evolve(options, timing=Timing.by_depth()))
    scene = Scene(seed=2843)
    queries = list[Answer]()

    def both() -> Person:
        agent, held = scene.agent, 0
        for number, row in enumerate(CHAIN):
            turn = yield Ask(agent.say(600) if number else agent.told, 60, after=2)
            assert turn.reused == held
            agent.hear(turn.tokens)
            held = len(agent.told) - 1
            queries.append((yield Ask(scene.classifier.query(row.tokens), SHORT_ANSWER, after=1)))

    client = [decoding(Conversation(scene.writer).say(300))] if beside else []
    stage.play(both(), beside=client)
    return stage, queries


def reuse(queries: list[Answer]) -> list[tuple[int, int]]:
    """(Reused, read) of each query."""
    return [(query.reused, query.read) for query in queries]


def within(seconds: float, least: float, most: float) -> bool:
    return least * (1 - SPEED) < seconds < most * (1 + SPEED)


def test_alone_without_checkpoints_every_query_is_read_again() -> None:
    _, queries = play(SIX_SLOTS, beside=False)
    assert reuse(queries) == [row.without for row in CHAIN]
    published = [pytest.approx(row.without_ms / 1000, rel=SPEED) for row in CHAIN]
    assert [query.wait for query in queries] == published


def test_alone_with_checkpoints_43340_are_reused_from_the_third_query_on() -> None:
    stage, queries = play(CHECKPOINTS, beside=False)
    assert reuse(queries) == [row.with_checkpoints for row in CHAIN]
    published = [pytest.approx(row.with_ms / 1000, rel=SPEED) for row in CHAIN]
    assert [query.wait for query in queries] == published
    # The second query replaces the first one, for its checkpoint; those after it resume from that.
    assert {event.fields["slot"] for event in stage.told("parked")} == {0, 2}
    reasons = [event.fields["reason"] for event in stage.told("park")]
    assert reasons == ["reclaim"] * 2 + ["older", "sibling"] + ["older"] * 4
    assert [event.fields["reason"] for event in stage.told("park_skip")] == ["kept"] * 3


def test_beside_a_client_without_checkpoints_every_query_is_read_again() -> None:
    _, queries = play(SIX_SLOTS, beside=True)
    assert reuse(queries) == [row.without for row in CHAIN]
    assert all(within(query.wait, *BESIDE_WITHOUT_S) for query in queries)


def test_beside_a_client_with_checkpoints_43340_are_reused_from_the_third_query_on() -> None:
    stage, queries = play(CHECKPOINTS, beside=True)
    assert reuse(queries) == [row.with_checkpoints for row in CHAIN]
    assert all(within(query.wait, *BESIDE_WITH_S) for query in queries[2:])
    lengths = {row.tokens for row in CHAIN}
    assert len({row.slot for row in stage.ledger if row.prompt in lengths}) == 1


def test_solo_engine_reuses_43340_of_the_third_query_instead_of_32768() -> None:
    """No batch, nothing in between: (32,768 + 11,110) without and (43,340 + 538) with."""
    for margin, reused, read in ((0, 32_768, 11_110), (1024, 43_340, 538)):
        stage = Stage(SimOptions(batch_slots=0, branch_margin=margin))
        scene = Scene(seed=2843)
        answers = [
            stage.ask(scene.classifier.query(tokens), SHORT_ANSWER, after=1)
            for tokens in (CHAIN[0].tokens, CHAIN[1].tokens, 43_878)
        ]
        assert (answers[2].reused, answers[2].read) == (reused, read)
