"""The requests on the simulated engine's control lines: reading them, refusing them, booking them.

Lives here: `GEN`, `GENI`, `BGEN` and `BGENI` as the engine reads them, with the words of every
refusal, and the ledger's row of a request. Must not live here: what a request then does.
"""

from collections.abc import Mapping

from attrs import frozen

from protocol.fields import integer
from protocol.tokens import TokenIds, parse_ids
from slotd.sim.caches import How
from slotd.sim.options import VOCABULARY, SimOptions

JsonValue = str | int | bool | None | list[int] | Mapping[str, "str | int | bool"]
"""What a field of a ledger row holds."""


@frozen
class Request:
    """A request that the engine accepts."""

    verb: str
    slot: int | None
    """The slot that a `BGEN` names; None: solo."""

    max_new: int
    keys: Mapping[str, str]
    prompt: TokenIds
    cvec: int
    size: int
    """Bytes of its line with the newline."""

    @property
    def images(self) -> bool:
        """Whether it brings pictures."""
        return self.verb.endswith("I")

    @property
    def keeps_state(self) -> bool:
        """Whether its state may be continued and checkpointed (not `ckpt=0`)."""
        return self.keys.get("ckpt") != "0"

    @property
    def park(self) -> int | None:
        """The slot of `park=`, or None when there is none or it is no number."""
        return integer(self.keys.get("park", "").encode())


@frozen
class Refusal:
    """Why the engine answers a request with `ERR`."""

    text: str


def read_request(verb: bytes, rest: bytes, options: SimOptions, free: bool) -> Request | Refusal:
    """Read a request's fields.

    The ids begin at the first field without `=` (with pictures: the field after it); unknown keys
    are skipped, and so is whatever follows the ids.

    Args:
        verb: `GEN`, `GENI`, `BGEN` or `BGENI`.
        rest: the line after the verb and its space.
        options: the engine's limits.
        free: whether the slot that a `BGEN` names is idle.
    """
    name = verb.decode("ascii")
    fields = rest.split()
    batch, images = name.startswith("B"), name.endswith("I")
    numbers = [integer(field) for field in fields[: 1 + batch]]
    if len(numbers) < 1 + batch or None in numbers:
        return Refusal("bad request: slot or max_new is not a number")
    slot, max_new = (numbers[0] if batch else None), numbers[-1] or 0
    if batch and (not free or max_new < 1):
        return Refusal(
            f"{name}: slot {slot} is not free (--batch {options.batch_slots}) or max_new < 1"
        )
    at = 1 + batch
    keys = {}
    while at < len(fields) and b"=" in fields[at]:
        key, _, value = fields[at].decode("utf-8", "replace").partition("=")
        keys[key] = value
        at += 1
    at += images
    prompt = parse_ids(fields[at]) if at < len(fields) else None
    if prompt is None or max_new < 1:
        return Refusal("bad request: max_new < 1, or no list of ids")
    cvec = integer(keys.get("cvec", "1").encode())
    if cvec is None:
        return Refusal(f"bad request: cvec={keys['cvec']} is not a number")
    if not options.fits(len(prompt), max_new):
        return Refusal(
            f"prompt of {len(prompt)} tokens + max_new {max_new} + 8 > context {options.context}"
        )
    if int(prompt.max()) >= VOCABULARY:
        return Refusal(f"token id {int(prompt.max())} is outside the vocabulary")
    return Request(name, slot, max_new, keys, prompt, cvec, len(verb) + len(rest) + 2)


@frozen
class LedgerRow:
    """What became of one request: what it reused, from where, and what was parked."""

    request: int
    """Its number, from 1; refused requests have none."""

    verb: str
    slot: int | None
    keys: Mapping[str, str]
    prompt: int
    resumed: int
    source: int
    """The slot that the reused tokens came from; -1: the main session, or nothing."""

    how: How
    size: int
    finish: str
    """`stop`, `length`, `cancel` or `yield`."""

    parked: Mapping[str, str | int | bool] | None = None
    """What `park=` did: `park`, `used`, and `tokens` or `why`."""

    admitted: bool = False
    """Whether it goes on in its slot."""

    yielded: tuple[int, int] | None = None
    """The slot that keeps the part read, and the part's tokens."""

    def as_json(self) -> dict[str, object]:
        """Write the row with the field names of the reference engine's ledger file."""
        row: dict[str, object] = {
            "req": self.request,
            "verb": self.verb,
            "slot": self.slot,
            "keys": dict(self.keys),
            "prompt": self.prompt,
            "resume": self.resumed,
            "source": self.source,
            "how": self.how,
            "parked": None if self.parked is None else dict(self.parked),
        }
        if self.yielded is None:
            row |= {"admitted": self.admitted, "finish": self.finish}
        else:
            row["yielded"] = list(self.yielded)
        return row | {"bytes": self.size}
