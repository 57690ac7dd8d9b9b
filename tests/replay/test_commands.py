import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slotd.cli.replay import replay_command
from slotd.cli.replay_options import engine
from slotd.cli.top import top
from slotd.cli.tune import report_of, tune_command
from slotd.cli.workload import workload
from slotd.config.configuration import Sources
from slotd.policy.settings import PolicySettings
from slotd.replay.load import MOST_SEED, load_traffic
from slotd.replay.tune import (
    CANDIDATES,
    Interval,
    Part,
    TooLittleTrafficError,
    Tuned,
    interval,
    parts,
    runs_needed,
    tune,
)
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day
from slotd.workload.prompt import TURN, text
from slotd.workload.traffic import RequestSpec, Traffic


def run(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)  # type: ignore[arg-type]  # a click command


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = run(workload, "agents", "--hours", "0.3", "--people", "1", "--seed", "4")
    assert result.exit_code == 0
    path = tmp_path_factory.mktemp("record") / "day.jsonl"
    path.write_text(result.stdout)
    return path


def test_a_generated_day_is_the_same_for_the_same_seed(day: Path) -> None:
    again = run(workload, "agents", "--hours", "0.3", "--people", "1", "--seed", "4")
    assert again.stdout == day.read_text()


def test_the_figures_are_printed_with_their_sources() -> None:
    result = run(workload, "agents", "--figures")
    assert "long_prompts_a_day" in result.stdout
    assert "[policy: 3,027 in six days" in result.stdout


def test_replay_prints_an_outcome_a_policy(day: Path) -> None:
    result = run(
        replay_command, str(day), "--json", "--policy", "retention", "--policy", "serve-groups"
    )
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["policy"] for one in found] == ["serve-groups", "retention"]
    assert found[1]["reused_tokens"] >= found[0]["reused_tokens"]
    assert set(found[0]["read_again"]) == {"replaced", "never_parked", "rewritten"}


def test_replay_prints_a_table_and_draws(day: Path, tmp_path: Path) -> None:
    picture = tmp_path / "reuse.png"
    result = run(replay_command, str(day), "--policy", "retention", "--plot", str(picture))
    assert result.exit_code == 0, result.output
    assert "never parked" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/nowhere"], "/nowhere: cannot be read"),
        (["agents:x"], "seed is a whole number"),
        (["agents", "--slots", "5", "--groups", "2"], "must divide"),
        (["agents", "--thin", "0"], "0"),
        (["agents", "--slots", "100000", "--groups", "1"], "is not in the range"),
        (["agents", "--plot", "x"], "--plot x: cannot be written: its ending"),
        (["agents", "--plot", "x.pgf"], "--plot x.pgf: cannot be written: its ending"),
        (["agents", "--plot", "x.foo"], "--plot x.foo: cannot be written: its ending"),
        (["agents", "--plot", "/nowhere/x.png"], "/nowhere/x.png: cannot be written: there is no"),
    ],
)
def test_what_cannot_be_replayed_is_said_in_one_line(arguments: list[str], says: str) -> None:
    result = run(replay_command, *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_the_help_has_the_policies_on_lines_of_their_own() -> None:
    result = run(replay_command, "--help")
    assert "\n  serve         the serve process's own table\n" in result.output
    assert "\\b" not in result.output


def test_what_does_not_fit_the_engine_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    rows = [(0, 300_000, range(586)), (1000, 600, range(600, 602))]
    path.write_text(
        "".join(
            json.dumps(
                {
                    "timestamp": at,
                    "input_length": length,
                    "output_length": 5,
                    "hash_ids": list(blocks),
                }
            )
            + "\n"
            for at, length, blocks in rows
        )
    )
    result = run(replay_command, str(path), "--json", "--policy", "retention")
    assert result.exit_code == 0, result.output
    assert "1 of 2 requests left out: too long for the engine's context of 270,000" in result.stderr
    assert json.loads(result.stdout)["prompt_tokens"] == 600


def test_a_batch_gets_as_much_faster_as_one_request_does() -> None:
    slow, fast = (engine(6, 3, 2668, rate, 13.2).timing for rate in (67.0, 134.0))
    assert slow == SimOptions().timing
    for rows in (1, 6):
        assert fast.window_seconds(rows) == pytest.approx(slow.window_seconds(rows) / 2)


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(4.30 / 3**0.5)
    assert interval([5.0]).low == float("-inf")


def test_tuning_never_reports_on_what_it_searched() -> None:
    day = agent_day(people=1, hours=0.5, seed=2)
    first, second = parts(day, share=0.5, thinnings=3, seed=1)
    ends = [request.arrival for one in first.thinnings for request in one.requests]
    begins = [request.arrival for one in second.thinnings for request in one.requests]
    assert max(ends) < day.requests[0].arrival + day.seconds / 2 <= min(begins)
    assert first.requests + second.requests == len(day.requests)
    assert len({one.conversations for one in first.thinnings}) == len(first.thinnings)


def test_tuning_counts_its_runs() -> None:
    runs = 0

    def count() -> None:
        nonlocal runs
        runs += 1

    day = agent_day(people=1, hours=0.15, seed=2)
    tuned = tune(day, SimOptions(), share=0.5, thinnings=2, seed=1, on_run=count)
    settings = 1 + sum(len(candidates) for candidates in CANDIDATES.values())
    assert tuned.tried == settings
    assert runs_needed(2) - 2 <= runs <= runs_needed(2)


def a_chat(conversation: int, arrival: float) -> RequestSpec:
    told = TURN + text(conversation, 900)
    return RequestSpec(arrival, conversation, 1, None, told, text(1000 + conversation, 3))


HOPELESS = {
    "empty": [],
    "one request": [a_chat(1, 0.0)],
    "one conversation": [a_chat(1, float(at)) for at in range(40)],
    "all at once": [a_chat(number, 5.0) for number in range(40)],
    "one in the first half": [a_chat(1, 0.0), *(a_chat(number, 90.0) for number in range(2, 40))],
}


@pytest.mark.parametrize("what", HOPELESS)
def test_what_is_too_little_to_tune_by_is_said(what: str) -> None:
    traffic = Traffic(what, tuple(HOPELESS[what]))
    with pytest.raises(TooLittleTrafficError, match=what):
        tune(traffic, SimOptions(), share=0.5, thinnings=5, seed=1)


def test_a_thinning_that_comes_up_twice_counts_once() -> None:
    traffic = Traffic("few", tuple(a_chat(at % 2, float(at)) for at in range(40)))
    for half in parts(traffic, share=0.5, thinnings=20, seed=1):
        assert len(half.thinnings) == 2


def test_tune_says_in_one_line_that_there_is_too_little(tmp_path: Path) -> None:
    record = tmp_path / "one.jsonl"
    made = run(workload, "agents", "--hours", "0.3", "--people", "1")
    record.write_text("".join(made.stdout.splitlines(keepends=True)[:2]))
    result = run(tune_command, str(record))
    assert result.exit_code == 1
    assert "one.jsonl: 0 conversations in the first half" in result.output


PART = Part(10, 4, (Traffic("a", ()), Traffic("b", ())))


def tuned_to(settings: PolicySettings, gain: Interval, tokens: float = 1000.0) -> Tuned:
    return Tuned(settings, 17, tokens, tokens, gain, PART, PART)


def test_found_settings_are_printed_to_paste_when_they_beat_the_defaults(tmp_path: Path) -> None:
    settings = PolicySettings(ttl_max_s=240, park_value_ratio=0, expired_keep_score=0.05)
    said = report_of(tuned_to(settings, Interval(100, 50, 150)))
    assert "+100 tokens reused (+10.0%)" in said
    assert "the defaults reuse 1,000" in said
    assert "10 requests of 4 conversations in 2 thinnings" in said
    pasted = tmp_path / "slotd.toml"
    pasted.write_text(said[said.index("[policy]") : said.index("or: ")])
    assert Sources(environment={}, file=str(pasted)).load().policy_settings() == settings
    names = dict(name.split("=") for name in said.partition("or: ")[2].split())
    loaded = Sources(environment=names, default_file="/nowhere.toml").load()
    assert loaded.policy_settings() == settings


def test_noise_is_called_noise() -> None:
    said = report_of(tuned_to(PolicySettings(ttl_max_s=240), Interval(10, -50, 70)))
    assert "Nothing beats the defaults beyond noise." in said
    assert "[policy]" not in said


def test_defaults_that_nothing_beats_are_said_to_be_the_best() -> None:
    said = report_of(tuned_to(PolicySettings(), Interval(0, 0, 0)))
    assert "None of the settings tried beats the defaults on the first half" in said
    assert "which reuse 1,000 tokens." in said
    assert "none reuses anything" in report_of(tuned_to(PolicySettings(), Interval(0, 0, 0), 0.0))


def test_tune_answers_about_a_file(day: Path) -> None:
    result = run(tune_command, str(day), "--thinnings", "2", "--thin", "0.5")
    assert result.exit_code == 0, result.output
    assert "beats the defaults" in result.stdout or "[policy]" in result.stdout


NUMBERS = [
    (tune_command, ["agents", "--thin", "nan"]),
    (tune_command, ["agents", "--thin", "1"]),
    (tune_command, ["agents", "--prompt-rate", "nan"]),
    (replay_command, ["agents", "--thin", "nan"]),
    (replay_command, ["agents", "--prompt-rate", "inf"]),
    (replay_command, ["agents", "--solo-rate", "1e-320"]),
    (replay_command, ["agents", "--copy-ms", "inf"]),
    (replay_command, ["agents:" + "9" * 5000]),
    (replay_command, ["agents:-1"]),
    (workload, ["agents", "--hours", "nan"]),
    (workload, ["agents", "--seed", "-1"]),
    (workload, ["agents", "--seed", "9" * 20]),
    (workload, ["agents", "--seed", "9" * 5000]),
    (top, ["--every", "nan"]),
]


@pytest.mark.parametrize(("command", "arguments"), NUMBERS)
def test_a_number_that_is_none_is_a_usage_error(command: object, arguments: list[str]) -> None:
    assert run(command, *arguments).exit_code == 2


def test_the_largest_seed_has_a_day_both_ways() -> None:
    made = run(workload, "agents", "--hours", "0.01", "--seed", str(MOST_SEED))
    assert made.exit_code == 0
    assert load_traffic(f"agents:{MOST_SEED}").requests


def test_the_policies_are_told_one_below_the_other() -> None:
    lines = run(replay_command, "--help").stdout.splitlines()
    assert "  serve         the serve process's own table" in lines
    assert not any("\\b" in line for line in lines)
