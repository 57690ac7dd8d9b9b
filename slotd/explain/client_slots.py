"""The client's number of each engine slot, as far as a log tells it.

Here: following the pairs its events name. Not here: the numbering itself (`slotd.core.numbering`).
"""

from collections.abc import Mapping


class ClientSlots:
    """What is known of the two numberings; they begin equal when the engine says what it is."""

    def __init__(self) -> None:
        """Begin knowing nothing: a log may begin anywhere."""
        self._client: dict[int, int] = {}

    def known(self) -> Mapping[int, int]:
        """Return the client's number by engine slot, where it is known."""
        return dict(self._client)

    def begin(self, slots: int) -> None:
        """Take in that an engine with that many slots has begun."""
        self._client = {slot: slot for slot in range(slots)}

    def end(self) -> None:
        """Take in that the engine has ended, or that another one begins."""
        self._client = {}

    def pair(self, client_slot: int, slot: int) -> None:
        """Take in that a client number means an engine slot.

        The number that meant it gets the slot this one meant before; what is not known stays so.
        """
        before = next((old for old, number in self._client.items() if number == client_slot), None)
        if before == slot:
            return
        displaced = self._client.pop(slot, None)
        if before is not None:
            del self._client[before]
            if displaced is not None:
                self._client[before] = displaced
        self._client[slot] = client_slot
