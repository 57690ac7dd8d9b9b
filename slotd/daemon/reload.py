"""Reading the settings again while the engine runs.

Here: what SIGHUP does. Not here: where settings come from (`slotd.config`).

What the core acts on is taken up at once. The rest - where the log goes, sockets, the engine -
counts at the next start.
"""

from collections.abc import Callable
from typing import Protocol

from attrs import asdict, evolve

from slotd.config.configuration import Configuration
from slotd.config.errors import ConfigurationError
from slotd.config.options import (
    KEEP_CLIENT_KEYS,
    KEEP_LOADED,
    PAD_ROWS,
    PARK,
    POLICY,
    SLOT_KEY,
    TURN_TOKEN,
)
from slotd.core.events import Event
from slotd.core.settings import SidecarSettings

Load = Callable[[], Configuration]
"""Reads every source again. Raises ConfigurationError."""


class Settable(Protocol):
    """What is to act on the settings."""

    def replace_settings(self, settings: SidecarSettings) -> None:
        """Act on these from now on."""


def sidecar_settings(configuration: Configuration, *, hosted: bool) -> SidecarSettings:
    """Return what the core is to act on; `hosted`: an engine may outlive its client."""
    settings = SidecarSettings(
        policy=configuration.policy_settings(),
        policy_name=configuration[POLICY],
        park=configuration[PARK],
        pad_rows=configuration[PAD_ROWS],
        turn_token=configuration[TURN_TOKEN],
        slot_key=configuration[SLOT_KEY],
        keep_client_keys=configuration[KEEP_CLIENT_KEYS],
    )
    return evolve(settings, keep_loaded=hosted and configuration[KEEP_LOADED])


def settings_event(settings: SidecarSettings) -> Event:
    """Tell which settings are in force."""
    numbers = asdict(settings.policy)
    return Event(
        "settings",
        "info",
        {
            "policy": settings.policy_name,
            "park": settings.park,
            "pad_rows": settings.pad_rows,
            "turn_token": settings.turn_token,
            "slot_key": settings.slot_key,
            "keep_client_keys": settings.keep_client_keys,
            **numbers,
        },
    )


def reload(
    load: Load, sidecar: Settable, log: Callable[[Event], None], *, hosted: bool
) -> Configuration | None:
    """Read the settings again and act on them; None: they are refused, and the old ones stay."""
    try:
        configuration = load()
    except ConfigurationError as refusal:
        log(Event("settings_refused", "error", {"message": str(refusal)}))
        return None
    settings = sidecar_settings(configuration, hosted=hosted)
    sidecar.replace_settings(settings)
    log(settings_event(settings))
    return configuration
