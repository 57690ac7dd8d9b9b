"""The README's table of engines: each row is so, and there are no others."""

import pytest

from tests.compatibility.engines import ROWS, Row
from tests.readme import readme


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.check.__name__)
def test_slotd_does_what_the_row_says(row: Row) -> None:
    row.check()


def test_the_readme_has_the_same_table() -> None:
    assert readme.rows("engines") == [[row.engine, row.does] for row in ROWS]
