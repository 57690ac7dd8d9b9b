import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slotd.cli.replay import replay_command
from slotd.cli.tune import report_of, tune_command
from slotd.cli.workload import workload
from slotd.policy.settings import PolicySettings
from slotd.replay.tune import Interval, Tuned, interval, runs_needed, tune
from slotd.sim.options import SimOptions
from slotd.workload.agents import agent_day


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
    ],
)
def test_what_cannot_be_replayed_is_said_in_one_line(arguments: list[str], says: str) -> None:
    result = run(replay_command, *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(4.30 / 3**0.5)
    assert interval([5.0]).low == float("-inf")


def test_tuning_counts_its_runs_and_never_reports_on_what_it_searched() -> None:
    runs = 0

    def count() -> None:
        nonlocal runs
        runs += 1

    day = agent_day(people=1, hours=0.15, seed=2)
    tuned = tune(day, SimOptions(), share=0.9, thinnings=2, seed=1, on_run=count)
    assert 0 < runs <= runs_needed(2)
    if tuned.settings == PolicySettings():
        assert tuned.gain == Interval(0, 0, 0)
        assert not tuned.beats


def test_found_settings_are_printed_to_paste_when_they_beat_the_defaults() -> None:
    settings = PolicySettings(ttl_max_s=240, park_value_ratio=1)
    text = report_of(Tuned(settings, 17, 1000.0, Interval(100, 50, 150)), 5)
    assert "+100 tokens reused (+10.0%)" in text
    assert "[policy]\nttl_max_s = 240\npark_value_ratio = 1" in text
    assert "STRATA_SLOT_TTL_MAX_S=240" in text


def test_noise_is_called_noise() -> None:
    settings = PolicySettings(ttl_max_s=240)
    text = report_of(Tuned(settings, 17, 1000.0, Interval(10, -50, 70)), 5)
    assert text.startswith("Nothing beats the defaults beyond noise.")
    assert "[policy]" not in text
    plain = report_of(Tuned(PolicySettings(), 17, 1000.0, Interval(0, 0, 0)), 5)
    assert plain.startswith("None of the 17 settings tried beats the defaults")


def test_tune_answers_about_a_file(day: Path) -> None:
    result = run(tune_command, str(day), "--thinnings", "2", "--thin", "0.5")
    assert result.exit_code == 0, result.output
    assert "beats the defaults" in result.stdout or "[policy]" in result.stdout
