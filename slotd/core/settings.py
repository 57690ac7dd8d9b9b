"""What an operator may choose about the core.

Here: the settings the sidecar acts on. Not here: where their values come from (`slotd.config`) and
the policy's own numbers (`slotd.policy.settings`).
"""

from typing import Literal

from attrs import field, frozen, validators

from slotd.policy.settings import PolicySettings

ParkSetting = Literal["auto", "native", "emulated", "off"]
PARK_SETTINGS: tuple[ParkSetting, ...] = ("auto", "native", "emulated", "off")

OFF = "off"
"""The policy that decides nothing: every line passes, and slotd only watches."""


@frozen
class SidecarSettings:
    """How requests are placed and what is written on their lines.

    Raises ValueError for a park setting that is none.
    """

    policy: PolicySettings = field(factory=PolicySettings)
    policy_name: str = "retention"
    """The decider in force; "off": none."""
    park: ParkSetting = field(default="auto", validator=validators.in_(PARK_SETTINGS))
    """Whether the main session is parked: "auto" and "native" with `park=` where the engine reads
    it, "off" never."""
    slot_key: bool = True
    """Write the chosen slot as the key `slot=<n>` too."""
    keep_client_keys: bool = False
    """Keep a `park=` or `slot=` the client wrote, mapped, instead of replacing it."""
    keep_loaded: bool = False
    """A client's `QUIT` ends the client and is kept from the engine."""
