from slotd.policy.adaptive.returns import ReturnModel
from slotd.policy.adaptive.watch import MOST, Watch
from slotd.policy.settings import PolicySettings
from slotd.policy.story import Stories, Story
from slotd.policy.table import EngineShape, RequestRow, SlotRow, Table

ENGINE = EngineShape(1, 1, slot_cache=True, slot_padding_safe=True, slot_park=True, turn_token=7)


def seen(held: Story, request: Story) -> Table:
    slot = SlotRow(0, "idle", 9000, 1.0, True, False, 1, 0, 0, False)
    stories = Stories(request, None, (held,))
    return Table(
        ENGINE, PolicySettings(), 2600.0, RequestRow("BGEN", 0, 9000), None, (slot,), stories
    )


def test_however_many_conversations_come_it_waits_for_no_more_than_it_may() -> None:
    watch, model = Watch(), ReturnModel()
    for number in range(1, 2 * MOST):
        at = number / 100
        held = Story(2 * number, at - 1, 9000, 2 * number)
        changed = Story(2 * number + 1, at, 9000, 2 * number, continues=2 * number, how="turn")
        table = seen(held, changed)
        assert table.stories is not None
        assert watch.take(table, table.stories, model)
        assert len(watch) <= MOST
    assert len(watch) == MOST
    assert watch.left(Story(2 * (2 * MOST - 1), 0.0, 1, 1))
    assert not watch.left(Story(2, 0.0, 1, 1))
