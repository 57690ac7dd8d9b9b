"""What an operator may choose about the log.

Here: the words. Not here: where their values come from (`slotd.config`). Light, as it is imported
before the engine is started.
"""

import os
from typing import Literal

from slotd.core.events import Level

LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")
"""From the least to the most important."""

Format = Literal["json", "text", "journal"]
FormatSetting = Literal["auto", "json", "text"]
FORMAT_SETTINGS: tuple[FormatSetting, ...] = ("auto", "json", "text")


def chosen_format(setting: FormatSetting, is_terminal: bool, is_journal: bool = False) -> Format:
    """Return the format in force.

    "auto" is text on a terminal, entries with fields in systemd's journal, JSON lines elsewhere.
    """
    if setting != "auto":
        return setting
    if is_journal:
        return "journal"
    return "text" if is_terminal else "json"


def colours_wanted(is_terminal: bool) -> bool:
    """Return whether to write colours: to a terminal, unless NO_COLOR is set (no-color.org)."""
    return is_terminal and not os.environ.get("NO_COLOR")
