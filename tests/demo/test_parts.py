"""The demo's pure parts: the script, the columns, the stopwatch, the sums and the screen."""

from pathlib import Path

import pytest
from attrs import evolve

from protocol.engine import parse_engine_line
from slotd.config.configuration import Sources
from slotd.demo.columns import COLUMNS, Column, command, configuration, environment
from slotd.demo.outcome import Result, Turn, same_answers
from slotd.demo.screen import NARROWEST, WIDEST, screen
from slotd.demo.script import Pause, Say, write_script
from slotd.demo.stopwatch import Stopwatch
from slotd.policy.settings import DEFAULTS


def test_a_seed_gives_one_script_and_another_seed_another() -> None:
    assert write_script(3) == write_script(3)
    assert write_script(3) != write_script(4)
    texts = {
        say.words.tokens().tobytes()
        for seed in (3, 4)
        for scene in write_script(seed)
        for say in scene.steps
        if isinstance(say, Say)
    }
    assert len(texts) == 2 * 22, "no two requests of two seeds say the same"


def test_the_script_is_over_in_a_few_minutes_of_engine_time() -> None:
    steps = [step for scene in write_script(1) for step in scene.steps]
    assert sum(step.seconds for step in steps if isinstance(step, Pause)) < 120


def test_clocks_run_as_fast_as_the_engine_and_nothing_else_is_set(tmp_path: Path) -> None:
    path = tmp_path / "slotd.toml"
    path.write_text(configuration(speed=20))
    settings = Sources(environment={}, file=str(path)).load().policy_settings()
    assert settings.ttl_max_s == DEFAULTS["ttl_max_s"] / 20
    assert settings.idle_value_zero_s == DEFAULTS["idle_value_zero_s"] / 20
    assert evolve(settings, ttl_max_s=120, idle_value_zero_s=1800) == type(settings)()


def test_a_column_is_started_as_a_serve_process_starts_its_engine() -> None:
    started = command(COLUMNS[0], Path("/c.toml"), Path("/l.log"), 20)
    slotd, engine = started[: started.index("--")], started[started.index("--") + 1 :]
    assert slotd[1:6] == ["-m", "slotd", "run", "--config", "/c.toml"]
    assert slotd[slotd.index("--policy") + 1] == "off"
    assert "--serve" in engine
    assert engine[engine.index("--speed") + 1] == "20"


def test_settings_of_the_person_who_runs_it_do_not_count() -> None:
    inherited = {"PATH": "/bin", "STRATA_SLOT_TTL_MAX_S": "1", "SLOTD_POLICY": "off"}
    given = environment(COLUMNS[0], inherited)
    assert given["PATH"] == "/bin"
    assert "STRATA_SLOT_TTL_MAX_S" not in given
    assert "SLOTD_POLICY" not in given
    assert given["STRATA_SLOT_CHECKPOINTS"] == "2"


def play(stopwatch: Stopwatch, conversation: str) -> None:
    for line in conversation.split("\n"):
        direction, _, text = line.strip().partition(" ")
        if direction == ">>":
            stopwatch.sent(text.encode() + b"\n")
        elif direction == "<<":
            stopwatch.heard(parse_engine_line(text.encode() + b"\n"))


def test_a_request_that_finds_the_lines_free_waits_for_its_own_read() -> None:
    stopwatch = Stopwatch()
    play(stopwatch, ">> GEN 2 1\n<< DONE 2 1 500.0 30.0 length 0 0 0")
    wait = stopwatch.arrived()
    play(stopwatch, ">> GEN 2 2,3")
    stopwatch.first_token(wait)
    play(stopwatch, "<< DONE 2 2 100.5 15.0 length 0 0 0")
    assert wait.first_token_ms == 100.5


def test_a_request_that_another_makes_way_for_waits_for_that_too() -> None:
    stopwatch = Stopwatch()
    first = stopwatch.arrived()
    play(stopwatch, ">> GEN 900 1,2")
    stopwatch.first_token(first)
    second = stopwatch.arrived()
    # The first one's solo time does not count: it was stopped at once.
    play(stopwatch, ">> STOP\n<< DONE 40 1000 700.0 600.0 cancel 0 0 0")
    play(stopwatch, ">> BGEN 0 860 1,2,3\n<< DONE 1 1000 100.0 0.0 length 0 0 999\n<< BADM 0 1")
    play(stopwatch, ">> BGEN 2 9 7,8")
    stopwatch.first_token(second)
    play(stopwatch, "<< DONE 1 2 250.0 0.0 length 0 0 0\n<< BADM 2 1")
    assert first.first_token_ms == 700.0
    # Its admission, the copy of 1,000 tokens into its slot, and the second one's own read.
    assert second.first_token_ms == pytest.approx(100.0 + 13.2 + 250.0)


TURN = Turn("A scene", "Ann", "next turn", "conversation", 37_400, 37_358, 37_358, 42, 600.0, (1,))


def result(column: Column, *turns: Turn) -> Result:
    return Result(column, turns, f"/logs/{column.name}.log")


def three_results() -> list[Result]:
    opening = evolve(TURN, what="opens", known=0, reused=0, read=37_001, first_token_ms=14_000.0)
    side = evolve(TURN, what="side request", conversation="side", known=0, reused=0, read=300)
    lost = evolve(TURN, reused=0, read=37_400, first_token_ms=14_100.0)
    return [
        result(COLUMNS[0], opening, side, lost),
        result(COLUMNS[1], opening, side, TURN),
        result(COLUMNS[2], opening, side, TURN),
    ]


def test_sums_count_what_was_read_twice() -> None:
    without, with_slotd, _ = three_results()
    assert (without.read_again, with_slotd.read_again) == (37_358, 0)
    assert without.read == 37_001 + 300 + 37_400
    assert without.waited_s == pytest.approx(28.7)


def test_answers_are_compared_where_all_were_read_to_their_end() -> None:
    cut = evolve(TURN, answer=None)
    assert same_answers([result(COLUMNS[0], TURN, cut), result(COLUMNS[1], TURN, TURN)])
    other = evolve(TURN, answer=(2,))
    assert not same_answers([result(COLUMNS[0], TURN, TURN), result(COLUMNS[1], TURN, other)])


@pytest.mark.parametrize("width", [NARROWEST, WIDEST, 30, 200])
@pytest.mark.parametrize("columns", [2, 3])
def test_the_screen_fits_80_and_100_columns_and_shows_every_figure(
    width: int, columns: int
) -> None:
    lines = [line.plain for line in screen(three_results()[:columns], 20, 14.4, width)]
    assert max(map(len, lines)) <= min(max(width, NARROWEST), WIDEST)
    text = "\n".join(lines)
    tables = sum("reused" in line and "wait" in line and ":" not in line for line in lines)
    assert tables == (2 if columns == 3 and width < WIDEST else 1)
    assert len([line for line in lines if "next turn" in line and "37,400  14.1 s" in line]) == 1
    assert text.count("37,358      42   0.6 s") == columns - 1
    assert "the same, token for token" in text
    assert "37,358 without slotd, 0 with slotd" in text.replace("\n", " ")
    assert "20 times as fast" in text.replace("\n", " ")
    assert "slotd tail --no-follow /logs/with.log" in text


def test_answers_that_differ_are_said_loudly() -> None:
    without, with_slotd, _ = three_results()
    wrong = evolve(with_slotd, turns=(*with_slotd.turns[:2], evolve(TURN, answer=(9,))))
    text = " ".join(line.plain for line in screen([without, wrong], 20, 14.4, WIDEST))
    assert "must never happen" in text
