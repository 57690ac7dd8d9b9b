from random import Random

import pytest
from attrs import evolve

from slotd.sim.engine import SimEngine, Step
from slotd.sim.options import TURN_TOKEN, SimOptions
from slotd.sim.timing import Timing
from slotd.sim.token_model import HashModel


def request(verb: str, tokens: list[int]) -> bytes:
    return f"{verb} {','.join(map(str, tokens))}\n".encode()


def tokens_of(count: int, seed: int) -> list[int]:
    random = Random(seed)
    return [random.randrange(1000, 200_000) for _ in range(count)]


def run(engine: SimEngine, line: bytes) -> list[Step]:
    """The steps of one request and of everything that it leaves to decode."""
    engine.from_client(line)
    steps = list[Step]()
    while step := engine.step():
        steps.append(step)
    return steps


def seconds_to(steps: list[Step], start: bytes) -> float:
    """Seconds until a line with this start is printed."""
    total = 0.0
    for step in steps:
        total += step.seconds
        if any(line.startswith(start) for line in step.output.splitlines()):
            return total
    raise AssertionError(start)


def test_published_conversation_returns_in_about_a_second_instead_of_14() -> None:
    # 37,352 tokens held, 7 new ones: the next turn is 37,359 tokens long.
    prompt = tokens_of(36_995, 1)
    for park, reused, least, most in ((" park=3", 37_352, 0.5, 1.1), ("", 0, 13.9, 14.2)):
        engine = SimEngine()
        cold = run(engine, request("GEN 358", prompt))
        assert seconds_to(cold, b"T ") == pytest.approx(14.0, abs=0.1)
        reply = [int(step.output[2:]) for step in cold if step.output.startswith(b"T ")]
        run(engine, request(f"GEN 20{park}", tokens_of(300, 3)))
        turn = run(engine, request("GEN 1", [*prompt, *reply, *tokens_of(6, 4)]))
        assert engine.ledger[-1].prompt == 37_359
        assert engine.ledger[-1].resumed == reused
        assert least < seconds_to(turn, b"T ") < most


CLASSIFIER = [43_379, 43_624, 43_874, 44_134, 44_400, 44_669]
WITHOUT = [(0, 14.146), (0, 14.112), (0, 14.277), (0, 14.399), (0, 14.535), (0, 14.596)]
WITH = [(0, 14.255), (32_768, 7.577), *((43_340, each) for each in (1.253, 1.43, 1.652, 1.818))]


@pytest.mark.parametrize(("checkpoints", "published"), [(1, WITHOUT), (2, WITH)])
def test_published_classifier_chain(checkpoints: int, published: list[tuple[int, float]]) -> None:
    # A transcript that grows before its last 39 tokens, query after query; an agent conversation
    # takes the main session in between; each is parked when the other replaces it.
    transcript, ending = tokens_of(50_000, 1), [*tokens_of(36, 2), TURN_TOKEN, 7, 8]
    agent = [*tokens_of(27_000, 3), TURN_TOKEN, 5]
    engine = SimEngine(
        SimOptions(
            slot_checkpoints=checkpoints,
            branch_margin=1024 if checkpoints > 1 else 0,
            timing=Timing.by_depth(),
        )
    )
    for total, (reused, seconds) in zip(CLASSIFIER, published, strict=True):
        run(engine, request("GEN 1 park=1", agent))
        agent = [*agent, *tokens_of(250, total), TURN_TOKEN, 5]
        query = [*transcript[: total - len(ending)], *ending]
        steps = run(engine, request("GEN 1 park=0", query))
        assert engine.ledger[-1].resumed == reused
        assert seconds_to(steps, b"T ") == pytest.approx(seconds, rel=0.1)


def test_published_throughput() -> None:
    steps = run(SimEngine(), request("GEN 1024", [1]))
    assert 1024 / (seconds_to(steps, b"DONE") - 0.1) == pytest.approx(67, abs=0.2)
    engine = SimEngine()
    for slot in range(6):
        engine.from_client(request(f"BGEN {slot} 2048", [slot, 7]))
    windows = [step for step in iter(engine.step, None) if step.output.count(b"BT ") == 6]
    total = sum(step.seconds for step in windows)
    assert 6 * len(windows) / total == pytest.approx(190.7, abs=0.1)


def test_reading_by_depth_gives_the_published_reads() -> None:
    timing = Timing.by_depth()
    assert timing.read_seconds(0, 43_379) == pytest.approx(14.1, abs=0.2)
    assert timing.read_seconds(32_768, 32_768 + 11_110) == pytest.approx(5.9, abs=0.2)
    assert timing.read_seconds(77_000, 80_800) == pytest.approx(3800 / 1100, rel=0.15)
    chunks = sum(timing.read_seconds(at, at + 1000) for at in range(0, 40_000, 1000))
    assert chunks == pytest.approx(timing.read_seconds(0, 40_000))


def test_copies_cost_what_24_published_parks_fit() -> None:
    timing = Timing()
    assert timing.copy_seconds(10_000) == pytest.approx(0.132)
    assert timing.copy_seconds(170_000) == pytest.approx(2.24, abs=0.01)
    engine = SimEngine()
    run(engine, request("GEN 1", tokens_of(10_000, 1)))
    steps = run(engine, request("BGEN 0 2 park=4", tokens_of(500, 2)))
    parked = next(step for step in steps if step.output.startswith(b"PARKED 4 10000\n"))
    assert parked.seconds == pytest.approx(0.132)
    admitted = next(step for step in steps if step.output.startswith(b"BADM 0 1\n"))
    assert admitted.seconds == pytest.approx(0.0066)


def test_branch_cut_makes_its_read_longer() -> None:
    options = SimOptions(branch_margin=1024)
    engine = SimEngine(options)
    shared = tokens_of(11_000, 1)
    run(engine, request("GEN 1", [*shared, 3, 4, TURN_TOKEN, 1]))
    steps = run(engine, request("GEN 1", [*shared, 5, 6, TURN_TOKEN, 1]))
    plain = run(SimEngine(options), request("GEN 1", [*shared, 5, 6, TURN_TOKEN, 1]))
    longer = seconds_to(steps, b"T ") - seconds_to(plain, b"T ")
    assert longer == pytest.approx(0.85, abs=0.01)


def test_printed_times_are_the_steps_times() -> None:
    engine = SimEngine()
    steps = run(engine, request("BGEN 1 3", tokens_of(5000, 1)))
    lines = [line.split() for step in steps for line in step.output.decode().splitlines()]
    progress = [line for line in lines if line[0] == "PP"]
    assert float(progress[-1][3]) == pytest.approx(1000 * seconds_to(steps, b"PP 4999"), abs=1)
    done = next(line for line in lines if line[0] == "DONE")
    assert float(done[3]) == pytest.approx(1000 * seconds_to(steps, b"DONE"), abs=0.1)
    decoded = seconds_to(steps, b"BDONE") - seconds_to(steps, b"BADM")
    ended = next(line for line in lines if line[0] == "BDONE")
    assert float(ended[4]) == pytest.approx(1000 * decoded, abs=0.1)
    assert engine.now == pytest.approx(sum(step.seconds for step in steps))


def test_input_during_a_step_is_seen_at_the_next_one() -> None:
    engine = SimEngine(evolve(SimOptions(), chunk=1000))
    engine.from_client(request("BGEN 0 9", tokens_of(5000, 1)))
    engine.step()
    chunk = engine.step()
    assert chunk is not None
    # The chunk is being read: the caller has not printed its output yet.
    engine.from_client(b"STOP\n")
    done = engine.step()
    assert done is not None
    assert done.output.startswith(b"DONE 0 5000 ")
    assert done.output.endswith(b"BADM 0 0\n")


def test_two_runs_give_the_same_bytes() -> None:
    outputs = []
    for _ in range(2):
        engine = SimEngine(SimOptions(slot_checkpoints=2, branch_margin=50), HashModel(30))
        output = engine.start()
        for number in range(20):
            tokens = [*tokens_of(2000, number % 3), TURN_TOKEN, number]
            steps = run(engine, request(f"BGEN {number % 6} 40 park={(number + 1) % 6}", tokens))
            output += b"".join(step.output for step in steps)
        outputs.append(output)
    assert outputs[0] == outputs[1]
