"""What kind of engine is simulated: its capabilities, its speeds, its faults, its greeting.

Lives here: the settings of one simulated engine and the INFO and READY lines that follow from
them. Must not live here: numpy or anything slow to import, because the greeting is the first thing
a started engine prints.
"""

from attrs import field, frozen

from slotd.sim.timing import Timing

TURN_TOKEN = 248_045
"""The token that begins a turn."""

END_TOKEN = 248_046
"""The token that ends a reply."""

VOCABULARY = 248_320
"""Ids from 0 up to this one (excluded) exist."""


@frozen
class Faults:
    """What goes wrong on purpose. Numbers count from 1."""

    parks: frozenset[int] = frozenset()
    """The n-th park that is carried out fails: `PARKED <slot> 0`."""

    admissions: frozenset[int] = frozenset()
    """The n-th admission copy fails: `DONE 1 ... length`, then `BADM <slot> 0`."""

    decodes: frozenset[int] = frozenset()
    """The n-th request that goes on in a slot ends there with `BDONE <slot> <n> error`."""

    decode_windows: int = 3
    """In which of its windows such a request ends (1: the first)."""


@frozen
class SimOptions:
    """One simulated engine. The defaults: 6 slots in 3 groups, with everything but checkpoints."""

    batch_slots: int = 6
    """Batch slots; 0: an engine without a batch."""

    batch_groups: int = 3
    """Pipelined groups; must divide `batch_slots`."""

    active_rows: bool = True
    """Windows list active slots only: no pad rows, CACHE_SOURCE, parks (more than one group)."""

    park: bool = True
    """Whether an engine with active rows knows `park=`."""

    slot_cache: bool = True
    """Whether a finished slot keeps its conversation."""

    slot_checkpoints: int = 1
    """Checkpoints a slot keeps; more than one: the engine says BCHECKS."""

    branch_margin: int = 0
    """A checkpoint where a prompt leaves a held conversation at least so many tokens after the
    read's start; 0: none."""

    stop: bool = True
    """Whether STOP is honoured (`READY <context> stop`)."""

    main_cache: bool = True
    """Whether a finished solo request leaves a main session to continue from."""

    context: int = 270_000
    """Tokens that fit: prompt + max_new + 8."""

    chunk: int = 2048
    """Prompt tokens read between two looks at the input."""

    checkpoint_every: int = 16384
    """A periodic checkpoint every so many prompt tokens; 0: none."""

    announce_turn_token: bool = True
    """Whether INFO has `turn_token` (engines with parks). Without it a park needs any difference
    between the prompt and the main session."""

    drafts_offered: int = 0
    """Draft tokens offered in each solo decode step; 0: no drafts."""

    drafts_accepted: tuple[int, ...] = ()
    """How many of them the model accepts, step after step, around and around. Drafts accepted
    behind an end token stay in the main session though they are never printed."""

    frames: bool = False
    """Whether this build reads `GENG*` grammar frames."""

    elastic: bool = False
    """Whether VRAM, RELEASE and REFILL are carried out (else refused)."""

    session_files: bool = False
    """Whether SAVE and RESTORE are carried out, in memory (else refused)."""

    info_lines: int = 1
    """Over how many INFO lines the fields are spread."""

    done_fields: str = ""
    """More fields at the end of DONE, as a later build might add."""

    batch_done_fields: str = ""
    """More fields at the end of BDONE (accepted and offered drafts on some builds)."""

    checks_separator: str = ","
    """Between the lengths of BCHECKS: a comma or a space."""

    say_cache_source: bool | None = None
    """Whether CACHE_SOURCE is said; None: where there are no pad rows, as the engine does."""

    version: str = "0.2.7"
    """The `engine=` field of INFO."""

    timing: Timing = field(factory=Timing)
    """What the work costs."""

    faults: Faults = field(factory=Faults)
    """What goes wrong on purpose."""

    def __attrs_post_init__(self) -> None:
        """Refuse settings that no engine could start with.

        Raises:
            ValueError: one line that names the setting and its value.
        """
        if self.batch_slots < 0 or self.chunk < 1 or self.info_lines < 1:
            raise ValueError(
                f"batch_slots={self.batch_slots}, chunk={self.chunk} and"
                f" info_lines={self.info_lines} must be at least 0, 1 and 1"
            )
        if self.batch_slots and (self.batch_groups < 1 or self.batch_slots % self.batch_groups):
            raise ValueError(
                f"batch_groups={self.batch_groups} must divide batch_slots={self.batch_slots}"
            )

    def fits(self, prompt: int, max_new: int) -> bool:
        """Tell whether a request is short enough for the context; lengths in tokens."""
        return prompt + max_new + 8 <= self.context

    @property
    def groups(self) -> int:
        """Pipelined groups in force: 1 where there is nothing to group."""
        return self.batch_groups if self.batch_slots else 1

    @property
    def padding_safe(self) -> bool:
        """Whether pipelined windows leave idle slots alone (`slot_padding_safe=1`)."""
        return self.active_rows and self.groups > 1

    @property
    def pad_rows(self) -> bool:
        """Whether windows destroy the idle slots below an active one."""
        return self.groups > 1 and not self.active_rows

    @property
    def parks(self) -> bool:
        """Whether `park=` is carried out (`slot_park=1`)."""
        return self.padding_safe and self.park

    @property
    def says_cache_source(self) -> bool:
        """Whether CACHE_SOURCE comes before RESUME."""
        return self.padding_safe if self.say_cache_source is None else self.say_cache_source

    def info_fields(self) -> list[str]:
        """List the `key=value` fields of INFO, in order."""
        fields = [f"context={self.context}", "kv=int8", "spec=4", "cvec=none"]
        if self.batch_slots:
            fields += [f"batch_slots={self.batch_slots}", f"slot_cache={int(self.slot_cache)}"]
        if self.groups > 1:
            fields.append(f"batch_groups={self.groups}")
        if self.padding_safe:
            fields.append("slot_padding_safe=1")
        if self.parks:
            fields.append("slot_park=1")
            if self.announce_turn_token:
                fields.append(f"turn_token={TURN_TOKEN}")
        fields.append(f"engine={self.version}")
        return fields

    def greeting(self) -> bytes:
        """Write the INFO lines and READY: what the engine prints when it has started."""
        fields = self.info_fields()
        share = -(-len(fields) // self.info_lines)
        lines = ["INFO " + " ".join(fields[at : at + share]) for at in range(0, len(fields), share)]
        lines.append(f"READY {self.context}" + (" stop" if self.stop else ""))
        return "".join(line + "\n" for line in lines).encode("ascii")
