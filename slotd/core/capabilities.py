"""What the engine said it is and can do, from its INFO and READY lines.

Here: reading those fields, with what an absent or senseless one counts as. Not here: what follows
from a capability (the model's and the policy's business).
"""

from collections.abc import Mapping

from attrs import evolve, frozen

from slotd.policy.table import EngineShape

MAX_SLOTS = 1024
"""More batch slots than this are taken for a misprint: the engine counts as one without."""


@frozen
class Capabilities:
    """The engine as far as it has described itself."""

    batch_slots: int = 0
    """Number of batch slots; 0: it has none."""
    batch_groups: int = 1
    """Number of pipelined groups; 1 unless it said a number that divides its slots evenly."""
    slot_cache: bool = False
    slot_padding_safe: bool = False
    slot_park: bool = False
    turn_token: int | None = None
    context: int | None = None
    """The longest context in tokens."""
    engine: str | None = None
    """Its version."""
    ready: bool = False
    """It printed READY."""
    stop: bool = False
    """It honours STOP."""

    def with_info(self, fields: Mapping[str, str]) -> "Capabilities":
        """Return these with the fields of one more INFO line; what it does not name stays."""
        slots, groups = self.batch_slots, self.batch_groups
        if "batch_slots" in fields:
            slots = _count(fields["batch_slots"], MAX_SLOTS)
        if "batch_groups" in fields:
            groups = _count(fields["batch_groups"], MAX_SLOTS)
        if groups < 1 or slots % groups:
            groups = 1
        return evolve(
            self,
            batch_slots=slots,
            batch_groups=groups,
            slot_cache=_flag(fields, "slot_cache", self.slot_cache),
            slot_padding_safe=_flag(fields, "slot_padding_safe", self.slot_padding_safe),
            slot_park=_flag(fields, "slot_park", self.slot_park),
            turn_token=_number(fields, "turn_token", self.turn_token),
            context=_number(fields, "context", self.context),
            engine=fields.get("engine", self.engine),
        )

    def with_ready(self, context: int, stop: bool) -> "Capabilities":
        """Return these with what the READY line says."""
        return evolve(self, ready=True, context=context, stop=stop)

    @property
    def pads_rows(self) -> bool:
        """A running slot costs the idle slots below it in its group their state."""
        return self.batch_groups > 1 and not self.slot_padding_safe

    def shape(self, park: bool, park_admits: bool = False, low_rows: bool = False) -> EngineShape:
        """Return what decisions depend on.

        `park`: whether the main session may be parked, `park_admits`: by a request of slotd's own;
        `low_rows`: whether requests go low in their group.
        """
        return EngineShape(
            batch_slots=self.batch_slots,
            batch_groups=self.batch_groups,
            slot_cache=self.slot_cache,
            slot_padding_safe=self.slot_padding_safe,
            slot_park=park,
            turn_token=self.turn_token,
            park_admits=park_admits,
            low_rows=low_rows,
        )


def _number(fields: Mapping[str, str], name: str, otherwise: int | None) -> int | None:
    text = fields.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else otherwise


def _count(text: str, most: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
    return number if number <= most else 0


def _flag(fields: Mapping[str, str], name: str, otherwise: bool) -> bool:
    return fields[name] == "1" if name in fields else otherwise
