import ast
import inspect
import re
from collections import Counter

import pytest

from slotd.workload import agents
from slotd.workload.agents import agent_day
from slotd.workload.figures import FIGURES, figures_table
from slotd.workload.traffic import RequestSpec, Traffic
from tests.paths import SHARED


@pytest.fixture(scope="module")
def day() -> Traffic:
    return agent_day(seed=1)


def of_kind(day: Traffic, kind: str) -> list[RequestSpec]:
    return [request for request in day.requests if request.kind == kind]


def test_the_same_seed_gives_the_same_day(day: Traffic) -> None:
    assert agent_day(seed=1) == day
    assert agent_day(seed=2) != day


def test_a_day_has_everything_that_is_described(day: Traffic) -> None:
    kinds = Counter(request.kind for request in day.requests)
    assert set(kinds) == {"agent", "classifier", "subagent", "title", "side", "chat", "thinking"}
    assert day.seconds <= 8 * 3600


def test_long_prompts_are_about_as_many_as_were_logged() -> None:
    days = [agent_day(seed=seed) for seed in range(1, 9)]
    long = [sum(request.prompt_length >= 8_000 for request in day.requests) for day in days]
    assert sum(long) / len(long) == pytest.approx(FIGURES["long_prompts_a_day"].low, rel=0.15)


def test_an_agents_next_turn_continues_its_transcript(day: Traffic) -> None:
    last: dict[int, RequestSpec] = {}
    for request in of_kind(day, "agent") + of_kind(day, "subagent") + of_kind(day, "chat"):
        before = last.get(request.conversation)
        if before is not None:
            whole = before.prompt + before.reply
            assert request.prompt.shared(whole) == len(whole)
            assert request.turn == before.turn + 1
        last[request.conversation] = request


def test_a_classifier_query_leaves_the_one_before_just_before_its_end(day: Traffic) -> None:
    last: dict[int, RequestSpec] = {}
    seen = 0
    for request in of_kind(day, "classifier"):
        before = last.get(request.conversation)
        if before is not None:
            seen += 1
            left = before.prompt_length - request.prompt.shared(before.prompt)
            assert left == FIGURES["classifier_closing"].whole
            assert 245 <= request.prompt_length - before.prompt_length <= 269
        assert 42_000 <= request.prompt_length <= 74_500
        last[request.conversation] = request
    assert seen > 10


def test_a_thinking_chat_is_sent_back_without_its_thinking(day: Traffic) -> None:
    last: dict[int, RequestSpec] = {}
    seen = 0
    for request in of_kind(day, "thinking"):
        before = last.get(request.conversation)
        if before is not None:
            seen += 1
            boundary = before.prompt.last_turn()
            assert boundary is not None
            shared = request.prompt.shared(before.prompt + before.reply)
            assert boundary < shared == before.prompt_length
        last[request.conversation] = request
    assert seen > 0


def test_side_requests_have_the_published_lengths(day: Traffic) -> None:
    assert {request.prompt_length for request in of_kind(day, "side")} == {1500}
    assert all(abs(request.prompt_length - 300) <= 3 for request in of_kind(day, "title"))


def test_every_prompt_ends_with_a_replys_header(day: Traffic) -> None:
    for request in day.requests:
        assert request.prompt.last_turn() == request.prompt_length - 3


def test_what_leads_to_a_request_comes_before_it(day: Traffic) -> None:
    for number, request in enumerate(day.requests):
        if request.after is not None:
            assert request.after < number
            assert request.think is not None


def test_every_figure_names_its_source_or_says_it_is_assumed() -> None:
    for figure in FIGURES.values():
        assert figure.source == "assumption" or figure.source.startswith(
            ("policy:", "checkpoints:")
        )
    assert len(figures_table().splitlines()) == len(FIGURES)


@pytest.mark.parametrize(("people", "hours"), [(0, 8), (2, 0), (2, 25)])
def test_a_day_nobody_works_is_refused(people: int, hours: float) -> None:
    with pytest.raises(ValueError, match="a day needs"):
        agent_day(people, hours)


SEEDS = {"policy": "slot-policy-pr2528.txt", "checkpoints": "slot-checkpoints-pr2843.txt"}


def test_every_figure_with_a_source_is_in_it() -> None:
    texts = {name: (SHARED / "seeds" / file).read_text("utf-8") for name, file in SEEDS.items()}
    checked = 0
    for name, figure in FIGURES.items():
        document, _, said = figure.source.partition(": ")
        for number in re.findall(r"\d(?:[\d,.]*\d)?K?", said) if document in texts else ():
            checked += 1
            assert re.search(rf"(?<![\d,.]){number}(?!\d|,\d)", texts[document]), (name, number)
    assert checked > 25


UNITS = {0, 1, 2, 60, 3600, 24}
"""Nothing, one, two of a pair or of a range's ends, seconds, and the hours of no longer day."""


def numbers_of(tree: ast.AST) -> set[float]:
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, (int, float))}


def test_the_generator_draws_and_waits_for_nothing_but_figures() -> None:
    module = ast.parse(inspect.getsource(agents))
    parts = [node for node in module.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assert set().union(*map(numbers_of, parts)) <= UNITS
    named = {
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(FIGURES) - named == {"long_prompts_a_day"}  # what the others are set to meet


def test_of_two_people_the_first_runs_the_classifier() -> None:
    one, two = (of_kind(agent_day(people, 3.0, seed=3), "classifier") for people in (1, 2))
    assert one
    assert len(one) == len(two)
    assert len(of_kind(agent_day(3, 3.0, seed=3), "classifier")) > len(two)
