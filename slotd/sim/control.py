"""The life of one request on the simulated engine's control lines.

Lives here: the park, the read of the prompt chunk by chunk with windows between the chunks, the
solo reply, the yield and the admission, each as steps. Must not live here: the choice of the next
line, or anything about a slot after its admission.
"""

from collections.abc import Iterator

from attrs import define

from slotd.sim.batch import Step, Work
from slotd.sim.caches import Checkpoint, Session, last_turn
from slotd.sim.options import END_TOKEN
from slotd.sim.requests import LedgerRow, Request


@define
class _Drafts:
    """How many draft tokens a solo reply was offered and took."""

    offered: int = 0
    accepted: int = 0
    steps: int = 0


class ControlRequest:
    """One accepted request, from its first look at the caches to its last line."""

    def __init__(self, work: Work, request: Request) -> None:
        """Begin now: a STOP seen before this is stale."""
        work.requests += 1
        work.reading = True
        work.inbox.stop = False
        self._work = work
        self._request = request
        self._number = work.requests
        self._began = work.now
        self._source = work.caches.find_source(request.prompt, request.cvec, request.images)
        self._at = self._source.tokens
        self._parked: dict[str, str | int | bool] | None = None

    def run(self) -> Iterator[Step]:
        """Every step of the request, up to its `DONE` or `BADM`."""
        work, request, source = self._work, self._request, self._source
        if request.park is not None and work.options.parks:
            yield from self._park(request.park)
        branch, cuts = self._cuts()
        work.caches.restore(source, request.slot, request.images, request.cvec)
        lines = [b"RESUME %d" % source.tokens]
        if work.options.says_cache_source:
            lines.insert(0, b"CACHE_SOURCE %d %d" % (source.slot, source.tokens))
        seconds = work.options.timing.request_s
        if source.slot >= 0:
            seconds += work.options.timing.restore_seconds(source.tokens)
        yield work.step(seconds, *lines)
        for mark in self._marks(cuts):
            yield self._read_to(mark, cuts, branch)
            if work.inbox.stop:
                yield from self._cancelled()
                return
            keeper = self._look_at_input()
            if keeper is not None:
                yield self._give_way(keeper)
                return
            if work.decoding:
                yield work.window()
        yield from self._reply()

    # -- before the read -------------------------------------------------------------------------

    def _park(self, slot: int) -> Iterator[Step]:
        """Copy the main session's conversation into ``slot`` where the request replaces it."""
        work, caches = self._work, self._work.caches
        why = caches.park_refusal(slot, self._request.prompt, self._source, self._request.slot)
        if why is not None:
            self._parked = {"park": slot, "used": False, "why": why}
            return
        tokens = len(caches.main.session)
        work.parks += 1
        if work.parks in work.options.faults.parks:
            caches.clear_slot(slot)
            self._parked = {"park": slot, "used": True, "tokens": 0}
            lines = [b"PARKED %d 0" % slot]
        else:
            caches.park(slot)
            self._parked = {"park": slot, "used": True, "tokens": tokens}
            lines = [b"PARKED %d %d" % (slot, tokens), *self._checks(slot)]
        yield work.step(work.options.timing.copy_seconds(tokens), *lines)

    def _cuts(self) -> tuple[int | None, set[int]]:
        """Where the read stops for a checkpoint: (the branch point among them or None, all).

        The prompt's last turn (its last token excepted), every `checkpoint_every` tokens, and the
        point where the prompt leaves a conversation held.
        """
        options, prompt, start = self._work.options, self._request.prompt, self._source.tokens
        turn = last_turn(prompt[:-1]) or 0
        cuts = {turn} if turn > start else set()
        if every := options.checkpoint_every:
            cuts |= set(range((start // every + 1) * every, len(prompt) - 1, every))
        branch = None
        if options.branch_margin:
            leaves = self._work.caches.branch_point(prompt)
            if start + options.branch_margin <= leaves < turn:
                branch = leaves
                cuts.add(branch)
        return branch, cuts

    def _marks(self, cuts: set[int]) -> list[int]:
        """Where the read stops at all: at the cuts, after every chunk, before the last token."""
        start, last = self._source.tokens, len(self._request.prompt) - 1
        chunks = range(start + self._work.options.chunk, last, self._work.options.chunk)
        return [mark for mark in sorted({*cuts, *chunks, last}) if start < mark <= last]

    # -- the read --------------------------------------------------------------------------------

    def _read_to(self, mark: int, cuts: set[int], branch: int | None) -> Step:
        """Read the prompt up to ``mark``, and keep a checkpoint there if it is a cut."""
        work, prompt, main = self._work, self._request.prompt, self._work.caches.main
        timing = work.options.timing
        state = main.session.state.read(prompt[self._at : mark])
        main.session = Session(prompt[:mark], state)
        seconds = timing.read_seconds(self._at, mark)
        self._at = mark
        if mark in cuts and self._request.keeps_state:
            main.checkpoints.append(Checkpoint(mark, state))
            seconds += timing.branch_cut_s if mark == branch else timing.cut_s
        ms = (work.now + seconds - self._began) * 1000
        rate = 1000 * (mark - self._source.tokens) / ms if ms > 0 else 0.0
        line = f"PP {mark} {len(prompt)} {ms:.0f} {rate:.1f}"
        return work.step(seconds, line.encode())

    def _look_at_input(self) -> int | None:
        """Carry out what arrived meanwhile; return the slot that keeps the part if it gives way."""
        keeper, into = None, self._request.slot
        left = len(self._request.prompt) - 1 - self._at
        for verb, slot in self._work.inbox.take_between_chunks():
            if verb == b"BSTOP":
                self._work.stop_slot(slot)
            elif (
                left > 0
                and not self._request.images
                and self._work.caches.idle(slot)
                and into in (None, slot)
            ):
                keeper = slot
        return keeper

    def _give_way(self, keeper: int) -> Step:
        """Keep the part read in ``keeper`` and leave the control lines."""
        self._work.caches.keep_part(keeper)
        lines = [b"YIELDED %d %d" % (keeper, self._at), *self._checks(keeper)]
        lines.append(self._done([], self._work.now, "cancel", _Drafts(), self._at))
        lines += self._not_admitted()
        self._end("yield", yielded=(keeper, self._at))
        return self._work.step(0, *lines)

    def _cancelled(self) -> Iterator[Step]:
        """End a read that was stopped between two chunks."""
        done = self._done([], self._work.now, "cancel", _Drafts(), self._at)
        self._end("cancel")
        yield self._work.step(0, done, *self._not_admitted())

    # -- after the read --------------------------------------------------------------------------

    def _reply(self) -> Iterator[Step]:
        """Print the reply's tokens (an admission: its first), `DONE`, and admit."""
        work, request, main = self._work, self._request, self._work.caches.main
        main.session.state = main.session.state.begin(request.prompt)
        read_end, drafts, reply = work.now, _Drafts(), list[int]()
        limit = 1 if request.slot is not None else request.max_new
        seconds, finish, token = 0.0, "length", int(request.prompt[-1])
        while len(reply) < limit:
            printed, token = self._decode(token, limit - len(reply), bool(reply), drafts)
            reply += printed
            yield work.step(seconds, *(b"T %d" % each for each in printed))
            seconds = work.options.timing.solo_step_seconds()
            if printed[-1] == END_TOKEN:
                finish = "stop"
                break
            if work.inbox.stop:
                finish = "cancel"
                break
        main.usable = request.keeps_state and not request.images and work.options.main_cache
        done = self._done(reply, read_end, finish, drafts, len(request.prompt))
        if request.slot is None or finish != "length" or request.max_new == 1:
            self._end(finish)
            yield work.step(0, done, *self._not_admitted())
            return
        yield work.step(0, done)
        yield self._admit(request.slot, reply[0])

    def _decode(
        self, last: int, room: int, may_draft: bool, drafts: _Drafts
    ) -> tuple[list[int], int]:
        """One solo decode step: (the tokens printed, the token to consume next).

        Drafts make a step give several tokens. What is accepted behind an end token is consumed,
        but not printed.
        """
        options, session = self._work.options, self._work.caches.main.session
        tokens = 1
        if may_draft and options.drafts_offered and options.drafts_accepted:
            pattern = options.drafts_accepted
            offered = min(options.drafts_offered, room - 1)
            taken = min(pattern[drafts.steps % len(pattern)], offered)
            drafts.steps += 1
            drafts.offered += offered
            drafts.accepted += taken
            tokens += taken
        printed, ended = list[int](), False
        for _ in range(tokens):
            session.tail.append(last)
            session.state, last = session.state.next(last)
            if not ended:
                printed.append(last)
                ended = last == END_TOKEN
        return printed, last

    def _admit(self, slot: int, token: int) -> Step:
        """Copy the prompt into its slot, where it goes on."""
        work, request = self._work, self._request
        work.admissions += 1
        seconds = work.options.timing.copy_seconds(len(request.prompt))
        if work.admissions in work.options.faults.admissions:
            work.caches.clear_slot(slot)
            self._end("length")
            return work.step(seconds, *self._not_admitted())
        work.admit(slot, token, request.max_new, work.now + seconds)
        self._end("length", admitted=True)
        return work.step(seconds, b"BADM %d 1" % slot, *self._checks(slot))

    # -- lines -----------------------------------------------------------------------------------

    def _not_admitted(self) -> list[bytes]:
        slot = self._request.slot
        return [] if slot is None else [b"BADM %d 0" % slot]

    def _checks(self, slot: int) -> list[bytes]:
        """Give a slot's BCHECKS line, where the engine keeps more than one checkpoint a slot."""
        options = self._work.options
        if options.slot_checkpoints < 2:
            return []
        held = self._work.caches.slots[slot]
        lengths = options.checks_separator.join(str(each.length) for each in held.checkpoints)
        return [f"BCHECKS {slot} {len(held.session)} {lengths}".rstrip().encode()]

    def _done(
        self, reply: list[int], read_end: float, finish: str, drafts: _Drafts, read: int
    ) -> bytes:
        """Write DONE; ``read_end``: when the read ended; ``read``: the prompt tokens then held."""
        resumed = self._source.tokens
        prompt_ms = (read_end - self._began) * 1000
        decode_ms = (self._work.now - read_end) * 1000
        line = (
            f"DONE {len(reply)} {len(self._request.prompt)} {prompt_ms:.1f} {decode_ms:.1f}"
            f" {finish} {drafts.accepted} {drafts.offered} {resumed}"
            f" 0 0 0 0 0.0 {read - resumed} 0 {self._work.options.done_fields}"
        )
        return line.rstrip().encode()

    def _end(
        self, finish: str, admitted: bool = False, yielded: tuple[int, int] | None = None
    ) -> None:
        """Leave the control lines with the step being built, and enter the ledger."""
        self._work.reading = False
        request, source = self._request, self._source
        self._work.book(
            LedgerRow(
                self._number,
                request.verb,
                request.slot,
                request.keys,
                len(request.prompt),
                source.tokens,
                source.slot,
                source.how,
                request.size,
                finish,
                self._parked,
                admitted,
                yielded,
            )
        )
