"""The observed prompt rate."""

import pytest

from slotd.core.prompt_rate import MEMORY, SHORTEST, PromptRate
from tests.core.transcript import Transcript


def test_nothing_observed_is_zero() -> None:
    assert PromptRate().tokens_per_second == 0


def test_it_is_tokens_by_seconds() -> None:
    rate = PromptRate()
    rate.finished(2000, 1000)
    rate.finished(2000, 3000)
    assert rate.tokens_per_second == 1000


def test_a_long_read_counts_more_than_a_short_one() -> None:
    rate = PromptRate()
    rate.finished(30_000, 10_000)
    rate.finished(300, 1000)
    assert rate.tokens_per_second == pytest.approx(30_300 / 11)


def test_older_reads_fade() -> None:
    rate = PromptRate()
    rate.finished(MEMORY, 1000)
    for _ in range(20):
        rate.finished(MEMORY, 64_000)
    assert rate.tokens_per_second == pytest.approx(1024, rel=0.01)


def test_a_read_too_short_to_tell_is_left_out() -> None:
    rate = PromptRate()
    rate.finished(SHORTEST - 1, 1)
    rate.finished(1000, 0)
    rate.progress(SHORTEST - 1, 1)
    assert rate.tokens_per_second == 0


def test_the_first_read_counts_while_it_goes_on() -> None:
    rate = PromptRate()
    rate.progress(1000, 500)
    assert rate.tokens_per_second == 2000
    rate.finished(2000, 2000)
    rate.progress(1000, 1)
    assert rate.tokens_per_second == 1000


def test_reused_tokens_are_not_read() -> None:
    talk = Transcript()
    talk.solo("[1..1000]")
    talk.play(">> GEN 5 [1..3000]\n<< RESUME 1000")
    assert talk.model.rate.tokens_per_second == 1_000_000
    talk.play("<< PP 2000 3000 10.0 100\n<< T 5\n<< DONE 1 3000 500.0 1.0 length 0 0 1000")
    assert talk.model.rate.tokens_per_second == pytest.approx(3000 / 0.501)


def test_a_stopped_read_counts_what_was_read() -> None:
    talk = Transcript()
    talk.play(
        """
        >> GEN 5 [1..3000]
        << RESUME 0
        << PP 2000 3000 1000 2000
        << DONE 0 3000 1000.0 0.0 cancel 0 0 0
        """
    )
    assert talk.model.rate.tokens_per_second == 2000
