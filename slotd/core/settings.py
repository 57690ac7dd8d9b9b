"""What an operator may choose about the core.

Here: the settings the sidecar acts on. Not here: where their values come from (`slotd.config`) and
the policy's own numbers (`slotd.policy.settings`).
"""

from typing import Literal

from attrs import field, frozen, validators

from slotd.policy.settings import PolicySettings

ParkSetting = Literal["auto", "native", "emulated", "off"]
PARK_SETTINGS: tuple[ParkSetting, ...] = ("auto", "native", "emulated", "off")

PadRowsSetting = Literal["any", "low"]
PAD_ROWS_SETTINGS: tuple[PadRowsSetting, ...] = ("any", "low")

OFF = "off"
"""The policy that decides nothing: every line passes, and slotd only watches."""


@frozen
class SidecarSettings:
    """How requests are placed and what is written on their lines.

    Raises ValueError for a park or pad_rows setting that is none.
    """

    policy: PolicySettings = field(factory=PolicySettings)
    policy_name: str = "retention"
    """The decider in force; "off": none."""
    park: ParkSetting = field(default="auto", validator=validators.in_(PARK_SETTINGS))
    """Whether the main session is parked: with `park=` where the engine reads it, unless "off"; and
    where it does not, by a request of slotd's own, if "emulated"."""
    pad_rows: PadRowsSetting = field(default="any", validator=validators.in_(PAD_ROWS_SETTINGS))
    """On an engine that pads rows, "low" puts requests low in their group and parks high."""
    turn_token: int | None = None
    """The token a turn begins with, for an engine that does not say it."""
    slot_key: bool = True
    """Write the chosen slot as the key `slot=<n>` too."""
    keep_client_keys: bool = False
    """Keep a `park=` or `slot=` the client wrote, mapped, instead of replacing it."""
    keep_loaded: bool = False
    """A client's `QUIT` ends the client and is kept from the engine."""
