"""What the faults' tests share.

Lives here: the server that slotd is forked from, one for all of them. Must not live here: starting
anything else.
"""

from collections.abc import Iterator

import pytest

from tests.faults.forked import ForkServer, fork_server


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    """Start slotd a hundred times for the price of importing it once."""
    with fork_server() as server:
        yield server
