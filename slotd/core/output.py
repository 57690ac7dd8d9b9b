"""What the core answers with: the bytes and events that came of some bytes.

Here: the value. Not here: how it comes about (`sidecar`) and where it goes (`slotd.daemon`).
"""

from attrs import Factory, define

from slotd.core.events import Event


@define
class Output:
    """What came of some bytes, each list in order.

    It is filled on the way and not frozen: one is made for every chunk.
    """

    to_engine: list[bytes] = Factory(list)
    to_client: list[bytes] = Factory(list)
    events: list[Event] = Factory(list)
    quits: bool = False
    """The client has said `QUIT` and it was kept from the engine: the client is to be let go."""
