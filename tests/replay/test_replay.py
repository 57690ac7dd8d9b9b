import numpy as np
import pytest
from attrs import evolve

from slotd.policy.story import Story
from slotd.replay.clairvoyant import MOST_LATER, Clairvoyant, Future, uses
from slotd.replay.drive import Run, replay
from slotd.replay.outcome import earlier_uses, outcome
from slotd.replay.policies import POLICIES
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day
from slotd.workload.prompt import TURN, Prompt, text
from slotd.workload.traffic import RequestSpec, Traffic

OPTIONS = SimOptions()


def chain(
    number: int, turns: int, length: int, gap: float, begin: float = 0.0
) -> list[RequestSpec]:
    """A conversation of `turns`, each `gap` seconds after the one before it arrived."""
    told = TURN + text(1000 * number, length) + TURN + text(1, 2)
    made: list[RequestSpec] = []
    for turn in range(turns):
        reply = text(1000 * number + 500 + turn, 20)
        made.append(
            RequestSpec(
                arrival=begin + gap * turn,
                conversation=number,
                turn=turn + 1,
                after=None,
                prompt=told,
                reply=reply,
            )
        )
        told = told + reply + TURN + text(1000 * number + 100 + turn, 30) + TURN + text(1, 2)
    return made


def traffic(*requests: RequestSpec) -> Traffic:
    ordered = sorted(requests, key=lambda request: request.arrival)
    last: dict[int, int] = {}
    linked = []
    for number, request in enumerate(ordered):
        linked.append(evolve(request, after=last.get(request.conversation)))
        last[request.conversation] = number
    return Traffic("test", tuple(linked))


TWO = traffic(*chain(1, 4, 9000, 30.0), *chain(2, 4, 9000, 30.0, begin=15.0))


def reused(run: Run) -> int:
    return sum(row.reused for row in run.rows)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_answers_every_request_in_full_and_the_model_never_drifts(name: str) -> None:
    run = replay(TWO, POLICIES[name], OPTIONS)
    assert sorted(row.request for row in run.rows) == list(range(8))
    assert all(row.generated == 20 for row in run.rows)
    assert all(row.finish == "length" for row in run.rows)
    assert run.drifts == 0


def test_a_later_turn_reuses_all_but_what_counts_as_kept() -> None:
    run = replay(TWO, POLICIES["retention"], OPTIONS)
    rows = {row.request: row for row in run.rows}
    for number, request in enumerate(TWO.requests):
        if request.after is not None:
            before = TWO.requests[request.after]
            held = before.prompt_length + before.output_length - 1
            assert 0.98 * held <= rows[number].reused <= held


def test_the_same_replay_gives_the_same_rows() -> None:
    day = agent_day(people=1, hours=0.2, seed=5)
    first, second = (replay(day, POLICIES["adaptive"], OPTIONS) for _ in range(2))
    assert first.rows == second.rows
    assert first.placements == second.placements


def test_a_follower_is_sent_after_its_gap_in_a_closed_loop_and_by_the_clock_on_request() -> None:
    requests = chain(1, 2, 9000, 5.0)
    closed = Traffic("t", (requests[0], evolve(requests[1], after=0, arrival=100.0, think=7.0)))
    first, second = replay(closed, POLICIES["retention"], OPTIONS).rows
    assert second.arrival == pytest.approx(first.end + 7.0)
    _, second = replay(closed, POLICIES["retention"], OPTIONS, by_clock=True).rows
    assert second.arrival == 100.0


def test_a_follower_never_comes_before_the_end_of_what_it_follows() -> None:
    requests = chain(1, 2, 9000, 0.1)
    first, second = replay(traffic(*requests), POLICIES["retention"], OPTIONS).rows
    assert second.arrival == first.end > 0.1


def test_two_requests_with_one_prompt_both_end() -> None:
    one = chain(1, 1, 3000, 1.0)[0]
    twin = evolve(one, conversation=2, reply=text(77, 40))
    run = replay(Traffic("twins", (one, twin)), POLICIES["retention"], OPTIONS)
    assert len(run.rows) == 2


def test_uses_are_the_later_requests_that_hold_the_history() -> None:
    found = uses(TWO)
    own = [number for number, request in enumerate(TWO.requests) if request.conversation == 1]
    assert [use.request for use in found[own[0]]] == own[1:]
    use = found[own[0]][0]
    held = TWO.requests[own[0]].prompt_length + 19
    assert use.tokens(held) == held
    assert found[own[-1]] == []


def test_the_future_forgets_what_has_begun() -> None:
    future = Future(TWO)
    future.sent(0)
    story = Story(1, 0.0, 9004, 1)
    held = TWO.requests[0].prompt_length + 19
    own = [number for number, request in enumerate(TWO.requests) if request.conversation == 1]
    assert future.saves(story, held, 10.0) == pytest.approx(held / 20)
    future.sent(own[1])
    assert future.saves(story, held, 40.0) == pytest.approx(held / 20)
    for number in own[2:]:
        future.sent(number)
    assert future.saves(story, held, 40.0) == 0


def test_the_clairvoyant_policy_keeps_what_comes_back_and_not_what_is_longest() -> None:
    small = SimOptions(batch_slots=2, batch_groups=2)
    coming = chain(1, 6, 9000, 60.0)
    strangers = [
        chain(10 + number, 1, 20_000, 1.0, begin=20.0 + 30.0 * number)[0] for number in range(9)
    ]
    mixed = traffic(*coming, *strangers)
    knows = replay(mixed, POLICIES["clairvoyant"], small)
    assert reused(knows) > reused(replay(mixed, POLICIES["retention"], small))
    most = sum(request.prompt_length + request.output_length - 1 for request in coming[:-1])
    assert 0.98 * most <= reused(knows) <= most
    assert isinstance(Clairvoyant(Future(mixed)), Clairvoyant)


def test_a_history_is_held_against_the_next_requests_and_not_against_all_of_a_long_day() -> None:
    turns = MOST_LATER + 40
    long = traffic(*chain(1, turns, 3000, 5.0))
    later, all_later = uses(long), uses(long, most=None)
    assert [len(found) for found in all_later] == list(range(turns - 1, -1, -1))
    assert later == [found[:MOST_LATER] for found in all_later]


def test_what_is_read_again_is_put_down_to_its_cause() -> None:
    plain = SimOptions(batch_slots=2, batch_groups=2)
    lost = traffic(*chain(1, 2, 9000, 60.0), chain(2, 1, 3000, 1.0, begin=30.0)[0])
    summed = outcome(replay(lost, POLICIES["serve-groups"], plain), earlier_uses(lost))
    assert summed.reused == 0
    assert summed.never_parked == 9023
    assert (summed.replaced, summed.rewritten) == (0, 0)
    kept = outcome(replay(lost, POLICIES["retention"], plain), earlier_uses(lost))
    assert (kept.reused, kept.never_parked) == (9023, 0)
    assert kept.parks["parked"] >= 1


def test_a_rewritten_end_is_called_so() -> None:
    body, closing = text(5, 9000), text(6, 40)
    first = RequestSpec(0.0, 1, 1, None, body + closing, text(7, 5))
    second = RequestSpec(60.0, 1, 2, 0, body + text(8, 250) + closing, text(9, 5))
    rewritten = Traffic("t", (first, second))
    summed = outcome(replay(rewritten, POLICIES["retention"], OPTIONS), earlier_uses(rewritten))
    assert summed.reused == 0
    assert summed.rewritten in (0, 9000)


def test_a_prompt_materialises_to_what_the_engine_reads() -> None:
    prompt = TWO.requests[0].prompt
    assert np.array_equal(prompt.tokens(), Prompt(prompt.runs).tokens())
