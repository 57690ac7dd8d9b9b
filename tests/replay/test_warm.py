from slotd.policy.adaptive.returns import kind_of
from slotd.replay.warm import taught, without
from slotd.workload.traffic import thin
from tests.replay.test_replay import TWO


def test_a_watched_traffic_teaches_its_returns_and_what_never_came() -> None:
    model = taught(TWO)
    assert model.seen == 6
    assert model.returns.sum() == 6
    first = model.returns[kind_of(1, 0, None, 9000).index]
    assert first.sum() == 2
    last = model.seconds[kind_of(4, 31, 20.0, 9200).index]
    assert 0 < last.sum() < 30


def test_what_is_left_of_a_traffic_has_none_of_the_thinnings_conversations() -> None:
    some = thin(TWO, 0.5, 1)
    rest = without(TWO, some)
    assert len(some.requests) == len(rest.requests) == 4
    assert not set(some.conversations) & set(rest.conversations)
