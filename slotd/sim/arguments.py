"""The simulated engine's command line and environment.

Lives here: which options and environment switches there are, and the settings they make. Must not
live here: anything slow to import, or anything that runs.

The options are those of the reference engine where it has them; the environment switches are the
real engine's own.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from attrs import evolve, frozen

from slotd.sim.options import Faults, SimOptions
from slotd.sim.timing import Timing

_SPEEDS = {"published": Timing, "by-depth": Timing.by_depth, "instant": Timing.instant}


@frozen
class ProcessSettings:
    """What one simulated engine process is started with."""

    options: SimOptions
    end_every: int
    """An end token about every so many tokens; 0: never."""

    load_s: float
    """Seconds before INFO and READY, as a real engine loads its model (not divided by speed)."""

    speed: float
    """How many seconds of engine time pass in a real second."""

    die_after: int
    """Exit status 1 after so many output lines; 0: never."""

    stall_after: int
    """Nothing more is printed after so many output lines; 0: never."""

    ledger: Path | None
    ignored: tuple[str, ...]
    """Arguments that mean nothing here; a real engine has many more."""


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(item) for item in text.split(",") if item)


def _drafts(text: str) -> tuple[int, tuple[int, ...]]:
    offered, _, accepted = text.partition(":")
    return int(offered), tuple(int(item) for item in accepted.split(","))


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the long list of options before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m slotd.sim",
        description="A simulated inference engine that speaks the line protocol on stdin/stdout.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--serve", action="store_true", help="serve requests (required, as for the engine)")
    add("--batch", "--slots", type=int, default=0, metavar="N", help="batch slots")
    add("--batch-groups", type=int, default=1, metavar="G", help="pipelined groups")
    add("--max-context", type=int, default=270_000, metavar="N", help="tokens that fit")
    add("--prompt-cache", type=int, default=4, metavar="N", help="0: no main session is kept")
    add("--chunk", type=int, default=2048, metavar="N", help="prompt tokens a chunk")
    add("--ckpt-every", type=int, default=16384, metavar="N", help="tokens a checkpoint; 0: none")
    add("--no-slot-cache", action="store_true", help="finished slots keep nothing")
    add("--no-stop", action="store_true", help="STOP is not honoured")
    add("--no-park", action="store_true", help="no park=, whatever the environment says")
    add("--no-turn-token", action="store_true", help="INFO does not say turn_token")
    add("--frames", action="store_true", help="a build with GENG grammar frames")
    add("--elastic", action="store_true", help="VRAM, RELEASE and REFILL are carried out")
    add("--session-files", action="store_true", help="SAVE and RESTORE are carried out in memory")
    add("--info-lines", type=int, default=1, metavar="N", help="spread INFO over N lines")
    add("--done-fields", default="", metavar="TEXT", help="more fields at the end of DONE")
    add("--bdone-fields", default="", metavar="TEXT", help="more fields at the end of BDONE")
    add("--spaced-checks", action="store_true", help="BCHECKS lengths separated by spaces")
    add("--version", default="0.2.7", metavar="V", help="the engine= field of INFO")
    add("--speeds", choices=sorted(_SPEEDS), default="published", help="what the work costs")
    add("--read-tok-s", type=float, metavar="R", help="prompt tokens a second; 0: no time")
    add("--step-ms", type=float, metavar="MS", help="every batch window and solo step")
    add("--copy-ms-per-1k", type=float, metavar="MS", help="park and admission copies")
    add("--restore-ms-per-1k", type=float, metavar="MS", help="copies back out of a slot")
    add("--request-ms", type=float, metavar="MS", help="fixed time of a request")
    add("--speed", type=float, default=1.0, metavar="X", help="run X times faster than real")
    add("--load-s", type=float, default=0.0, metavar="S", help="seconds before INFO and READY")
    add("--drafts", type=_drafts, default=(0, ()), metavar="N:A,A,..", help="drafts in solo steps")
    add("--eos-every", type=int, default=0, metavar="K", help="an end token about every K tokens")
    add("--fail-parks", type=_numbers, default=frozenset(), metavar="N,N", help="these parks fail")
    add("--fail-admissions", type=_numbers, default=frozenset(), metavar="N,N")
    add("--fail-decodes", type=_numbers, default=frozenset(), metavar="N,N")
    add("--die-after", type=int, default=0, metavar="N", help="exit status 1 after N lines")
    add("--stall-after", type=int, default=0, metavar="N", help="print nothing after N lines")
    add("--ledger", type=Path, metavar="FILE", help="one JSON line per request")
    return parser


def _timing(given: argparse.Namespace) -> Timing:
    """Take the chosen speeds and put in the single ones that were given."""
    timing = _SPEEDS[given.speeds]()
    if given.read_tok_s is not None:
        timing = evolve(timing, prompt_tok_s=given.read_tok_s)
    if given.step_ms is not None:
        timing = evolve(timing, window_ms=(given.step_ms,), solo_step_ms=given.step_ms)
    if given.copy_ms_per_1k is not None:
        timing = evolve(timing, copy_ms_per_1k=given.copy_ms_per_1k)
    if given.restore_ms_per_1k is not None:
        timing = evolve(timing, restore_ms_per_1k=given.restore_ms_per_1k)
    if given.request_ms is not None:
        timing = evolve(timing, request_s=given.request_ms / 1000)
    return timing


def _switch(environment: Mapping[str, str], name: str) -> int:
    """Read one of the engine's numeric environment switches; unset or empty: 0.

    Raises:
        ValueError: one line that names the switch and its value.
    """
    value = environment.get(name) or "0"
    if not value.isdecimal():
        raise ValueError(f"{name}={value}: a whole number is needed; unset it to turn it off")
    return int(value)


def read_arguments(arguments: Sequence[str], environment: Mapping[str, str]) -> ProcessSettings:
    """Read the command line and the engine's environment switches.

    Raises:
        SystemExit: status 2 after one line on stderr, for a value that cannot be used; status 0
            after `--help`.
    """
    parser = _parser()
    given, ignored = parser.parse_known_args(arguments)
    if not given.serve:
        parser.error("nothing to do without --serve")
    if given.speed <= 0:
        parser.error(f"--speed {given.speed}: a number above 0 is needed")
    try:
        options = SimOptions(
            batch_slots=given.batch,
            batch_groups=given.batch_groups,
            active_rows=environment.get("STRATA_PIPELINE_ACTIVE_ROWS") == "1",
            park=not given.no_park,
            slot_cache=not given.no_slot_cache,
            slot_checkpoints=max(1, _switch(environment, "STRATA_SLOT_CHECKPOINTS")),
            branch_margin=_switch(environment, "STRATA_BRANCH_CHECKPOINT"),
            stop=not given.no_stop,
            main_cache=given.prompt_cache > 0,
            context=given.max_context,
            chunk=given.chunk,
            checkpoint_every=given.ckpt_every,
            announce_turn_token=not given.no_turn_token,
            drafts_offered=given.drafts[0],
            drafts_accepted=given.drafts[1],
            frames=given.frames,
            elastic=given.elastic,
            session_files=given.session_files,
            info_lines=given.info_lines,
            done_fields=given.done_fields,
            batch_done_fields=given.bdone_fields,
            checks_separator=" " if given.spaced_checks else ",",
            version=given.version,
            timing=_timing(given),
            faults=Faults(given.fail_parks, given.fail_admissions, given.fail_decodes),
        )
    except ValueError as error:
        parser.error(str(error))
    return ProcessSettings(
        options=options,
        end_every=given.eos_every,
        load_s=given.load_s,
        speed=given.speed,
        die_after=given.die_after,
        stall_after=given.stall_after,
        ledger=given.ledger,
        ignored=tuple(ignored),
    )
