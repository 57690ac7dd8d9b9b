"""The table of options: every value slotd can be given, in one place.

To add an option, add one `Option` here and put it into `OPTIONS`; the file, the environment,
`--set` and `slotd config` then know it. Not here: reading those sources, and what options do.
"""

from typing import Generic

from attrs import frozen

from slotd.config.kinds import Choice, Flag, Kind, Number, Path, TokenId, Value, ValueType
from slotd.core.events import Level
from slotd.core.settings import (
    OFF,
    PAD_ROWS_SETTINGS,
    PARK_SETTINGS,
    PadRowsSetting,
    ParkSetting,
)
from slotd.logs.settings import FORMAT_SETTINGS, LEVELS, FormatSetting
from slotd.policy.settings import DEFAULTS, ENVIRONMENT_NAMES


@frozen
class Option(Generic[ValueType]):
    """One value slotd can be given."""

    table: str
    """The TOML table it stands in."""
    key: str
    """Its name there."""
    environment: str
    """The environment variable that sets it."""
    kind: Kind[ValueType]
    default: ValueType
    doc: str
    """What it does, in half a line."""

    @property
    def name(self) -> str:
        """The full name, `table.key`."""
        return f"{self.table}.{self.key}"


_POLICY_DOCS = {
    "ttl_max_s": "seconds of protection of a history of 262,144 tokens; scales the whole curve",
    "expired_keep_score": "an expired history worth at least this is given up last",
    "idle_value_zero_s": "seconds after its last use at which a history is worth nothing; 0: never",
    "park_value_ratio": "how many times what it overwrites a park must be worth; 0: never over it",
    "park_min_value": "a main session's history worth less is not parked",
    "park_kept_share": "share of the main session's history that counts as kept already",
    "sibling_share": "share in common that makes a history an older version; 0: no such rule",
}

POLICY_NUMBERS: tuple[Option[float], ...] = tuple(
    Option("policy", name, ENVIRONMENT_NAMES[name], Number(), DEFAULTS[name], doc)
    for name, doc in _POLICY_DOCS.items()
)

ENGINE: Option[str | None] = Option(
    "slotd",
    "engine",
    "SLOTD_ENGINE",
    Path("the engine to start"),
    None,
    "the engine that slotd-engine starts: a path, or a name to look up in PATH",
)
POLICY = Option(
    "slotd",
    "policy",
    "SLOTD_POLICY",
    Choice(("retention", "adaptive", OFF)),
    "retention",
    "who chooses slots and parks; adaptive learns; off: nobody, lines pass as they are",
)
PARK: Option[ParkSetting] = Option(
    "slotd",
    "park",
    "SLOTD_PARK",
    Choice(PARK_SETTINGS),
    "auto",
    "how the main session's history is parked; emulated: by a request of slotd's own, if need be",
)
PAD_ROWS: Option[PadRowsSetting] = Option(
    "slotd",
    "pad_rows",
    "SLOTD_PAD_ROWS",
    Choice(PAD_ROWS_SETTINGS),
    "any",
    "where windows cost idle slots below them their state; low: requests go below, parks above",
)
TURN_TOKEN: Option[int | None] = Option(
    "slotd",
    "turn_token",
    "SLOTD_TURN_TOKEN",
    TokenId(),
    None,
    "the token a turn begins with, for an engine that does not say it",
)
SLOT_KEY = Option(
    "slotd",
    "slot_key",
    "SLOTD_SLOT_KEY",
    Flag(),
    True,
    "write the chosen slot as the key slot=<n>, too",
)
KEEP_CLIENT_KEYS = Option(
    "slotd",
    "keep_client_keys",
    "SLOTD_KEEP_CLIENT_KEYS",
    Flag(),
    False,
    "keep a park= or slot= the client wrote itself",
)
ATTACH: Option[str | None] = Option(
    "slotd",
    "attach",
    "SLOTD_ATTACH",
    Path("the socket of a 'slotd host'"),
    None,
    "slotd-engine attaches to this socket of 'slotd host' instead of starting an engine",
)
HOST_SOCKET = Option(
    "host",
    "socket",
    "SLOTD_SOCKET",
    Path("the socket clients attach to"),
    "/run/slotd/engine.sock",
    "the socket of 'slotd host' that 'slotd attach' connects to",
)
CONTROL_SOCKET: Option[str | None] = Option(
    "host",
    "control_socket",
    "SLOTD_CONTROL_SOCKET",
    Path("the socket that answers 'slotd status'"),
    None,
    "the socket that answers 'slotd status'; unset: control.sock beside host.socket, none in a run",
)
KEEP_LOADED = Option(
    "host",
    "keep_loaded",
    "SLOTD_KEEP_LOADED",
    Flag(),
    False,
    "a client's QUIT ends the client only, and the engine stays loaded",
)
BACKOFF_S = Option(
    "host",
    "backoff_s",
    "SLOTD_BACKOFF_S",
    Number(),
    1.0,
    "seconds before an engine that died is started again; doubled each time, 60 at most",
)
DRAIN_S = Option(
    "host",
    "drain_s",
    "SLOTD_DRAIN_S",
    Number(),
    60.0,
    "seconds of silence after which an engine that does not end what it was told to stop is killed",
)
LEARNED_FILE: Option[str | None] = Option(
    "slotd",
    "learned_file",
    "SLOTD_LEARNED_FILE",
    Path("the file that keeps what the adaptive policy learned"),
    None,
    "keeps what the policy adaptive has learned over a restart; unset: it begins anew",
)
RECORD_FILE: Option[str | None] = Option(
    "record",
    "file",
    "SLOTD_RECORD_FILE",
    Path("the file to record requests in"),
    None,
    "a record of every request, without tokens or text, for 'slotd replay'; unset: none",
)
LOG_FILE: Option[str | None] = Option(
    "log",
    "file",
    "SLOTD_LOG_FILE",
    Path("the file to append the log to"),
    None,
    "where the log goes; unset: standard error",
)
LOG_FORMAT: Option[FormatSetting] = Option(
    "log",
    "format",
    "SLOTD_LOG_FORMAT",
    Choice(FORMAT_SETTINGS),
    "auto",
    "auto: text on a terminal, entries in systemd's journal, JSON lines elsewhere",
)
LOG_LEVEL: Option[Level] = Option(
    "log",
    "level",
    "SLOTD_LOG_LEVEL",
    Choice(LEVELS),
    "info",
    "the least level that is logged",
)

OPTIONS: tuple[Option[Value], ...] = (
    *POLICY_NUMBERS,
    ENGINE,
    POLICY,
    PARK,
    PAD_ROWS,
    TURN_TOKEN,
    SLOT_KEY,
    KEEP_CLIENT_KEYS,
    ATTACH,
    HOST_SOCKET,
    CONTROL_SOCKET,
    KEEP_LOADED,
    BACKOFF_S,
    DRAIN_S,
    LEARNED_FILE,
    RECORD_FILE,
    LOG_FILE,
    LOG_FORMAT,
    LOG_LEVEL,
)

OWN_PATHS = (HOST_SOCKET, CONTROL_SOCKET, LEARNED_FILE, RECORD_FILE, LOG_FILE)
"""Options that name what slotd itself makes and writes."""

_BY_NAME = {option.name: option for option in OPTIONS}
_BY_NAME |= {option.key: option for option in POLICY_NUMBERS}
_BY_NAME |= {option.environment: option for option in OPTIONS}


def option_named(name: str) -> Option[Value] | None:
    """Return the option called `name`, or None.

    A name is `table.key`, the environment variable, or the bare key of a number of the policy.
    """
    return _BY_NAME.get(name)
