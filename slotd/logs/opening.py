"""The log's writer, as the settings and the place the log goes to ask for it.

Here: the choice between a file or standard error and systemd's journal. Not here: opening a log
file (`slotd.logs.destination`), which has to be done before the engine is started.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from slotd.core.events import Level
from slotd.logs.chain import Chain
from slotd.logs.destination import Destination
from slotd.logs.journal import SOCKET, Journal
from slotd.logs.settings import FormatSetting, chosen_format, colours_wanted
from slotd.logs.writer import LogWriter


def log_writer(
    destination: Destination,
    setting: FormatSetting,
    least: Level,
    *,
    environment: Mapping[str, str] = os.environ,
    journal: str = SOCKET,
) -> LogWriter:
    """Return the writer of what is at least of the level `least`, not started yet.

    Standard error that is the journal's (see `Destination.is_journal_of`) would give it lines;
    unless `setting` asks for those, it is given entries instead, on its own socket at `journal`.
    Where a service cannot see that socket, lines it is.
    """
    is_journal = destination.is_journal_of(environment) and Path(journal).exists()
    log_format = chosen_format(setting, destination.is_terminal, is_journal)
    chain = Chain(log_format, colours_wanted(destination.is_terminal))
    return LogWriter(chain, Journal(journal) if log_format == "journal" else destination, least)
