"""The two numberings of the batch slots: the client's and the engine's.

Here: the permutation that joins them. Not here: when it may change (only an idle slot is chosen,
and only for a number whose own slot is idle: see `sidecar`).
"""


class Numbering:
    """A permutation of slot numbers, the identity at first.

    Numbers out of range belong to no slot: both directions leave them as they are.
    """

    __slots__ = ("_client", "_engine", "identity")

    def __init__(self, slots: int) -> None:
        """Begin with every client number meaning the engine slot of the same number."""
        self._engine = list(range(slots))
        self._client = list(range(slots))
        self.identity = True
        """Both numberings are the same at the moment."""

    def engine_slot(self, client_slot: int) -> int:
        """Return the engine slot a client number means."""
        return self._engine[client_slot] if 0 <= client_slot < len(self._engine) else client_slot

    def client_slot(self, engine_slot: int) -> int:
        """Return the client number that means an engine slot."""
        return self._client[engine_slot] if 0 <= engine_slot < len(self._client) else engine_slot

    def choose(self, client_slot: int, engine_slot: int) -> None:
        """Make a client number mean an engine slot; the number that meant it gets the old one.

        Raises IndexError when one of them is no slot.
        """
        if client_slot < 0 or engine_slot < 0:
            raise IndexError("slot numbers begin at 0")
        left, other = self._engine[client_slot], self._client[engine_slot]
        self._engine[client_slot], self._engine[other] = engine_slot, left
        self._client[engine_slot], self._client[left] = client_slot, other
        self.identity = all(slot == number for number, slot in enumerate(self._engine))
