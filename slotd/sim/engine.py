"""The simulated engine: lines in, work in engine time, lines out, with no clock and no I/O.

Lives here: the serving loop, which carries out one line after another and decodes in between. Must
not live here: how a read or a window works (`control`, `batch`), or anything that sleeps.

The caller owns time. `step` gives the next unit of work; the caller lets its seconds pass (really
or virtually), may deliver input meanwhile, and then prints its output. Input that arrives during a
step is seen at the next one, as the real engine sees it between two chunks or windows. The same
input at the same steps gives the same bytes.
"""

from collections.abc import Callable, Iterator

from protocol.fields import split_verb
from protocol.reader import Frame
from slotd.sim.batch import Step, Work
from slotd.sim.caches import Holdings, Main
from slotd.sim.control import ControlRequest
from slotd.sim.inbox import slot_of
from slotd.sim.options import SimOptions
from slotd.sim.requests import LedgerRow, Refusal, read_request
from slotd.sim.token_model import HashModel, TokenModel

__all__ = ["SimEngine", "Step"]

_GENERATE = frozenset((b"GEN", b"GENI", b"BGEN", b"BGENI"))


class SimEngine:
    """One simulated engine process, without the process."""

    def __init__(
        self,
        options: SimOptions | None = None,
        model: TokenModel | None = None,
        on_ledger: Callable[[LedgerRow], None] | None = None,
    ) -> None:
        """Begin with empty caches.

        Args:
            options: capabilities, speeds and faults; the default is `SimOptions()`.
            model: which tokens come; the default is `HashModel()`.
            on_ledger: gets each row as it is booked, beside `ledger`. With it, `ledger` stays
                empty, so that a long run needs no memory for it.
        """
        self.options = options or SimOptions()
        self.ledger: list[LedgerRow] = []
        """A row for every request that ended, in order."""
        self.ended = False
        """Whether it has left its loop, by QUIT or because the input ended; its status is 0."""
        self._work = Work(self.options, model or HashModel(), on_ledger or self.ledger.append)
        self._loop = self._serve()
        self._saved: dict[bytes, Main] = {}
        self._frame: Frame | None = None

    def start(self) -> bytes:
        """Give what it prints once it has started: INFO and READY."""
        return self.options.greeting()

    def from_client(self, data: bytes) -> None:
        """Bytes arrived on its standard input."""
        self._work.inbox.feed(data)

    def eof(self) -> None:
        """Its standard input ended: it finishes what it has, then ends."""
        self._work.inbox.end()

    def step(self) -> Step | None:
        """Do the next unit of work; give it, or None when it is idle (or has ended)."""
        return next(self._loop, None)

    @property
    def now(self) -> float:
        """Seconds of work done so far."""
        return self._work.now

    def holds(self) -> Holdings:
        """Show what the caches really hold once the last step's output is out."""
        return self._work.caches.holds(self._work.reading)

    # -- the serving loop ------------------------------------------------------------------------

    def _serve(self) -> Iterator[Step | None]:
        """Carry out lines as they come; decode when none waits; None when there is neither."""
        work = self._work
        while True:
            item = work.inbox.take()
            if isinstance(item, Frame):
                self._frame = item
            elif item is not None:
                if item == b"QUIT" or item.startswith(b"QUIT "):
                    break
                yield from self._carry_out(item)
                self._frame = None
            elif work.decoding:
                yield work.window()
            elif work.inbox.ended:
                break
            else:
                yield None
        self.ended = True

    def _carry_out(self, line: bytes) -> Iterator[Step]:
        """One line: a request with all its steps, or anything else at once."""
        work = self._work
        verb, rest = split_verb(line)
        if verb == b"BSTOP":
            slot = slot_of(line)
            if slot is not None:
                work.stop_slot(slot)
        elif verb == b"BYIELD":
            # The read that it was for has ended.
            return
        elif verb in _GENERATE:
            slot = slot_of(line)
            free = slot is not None and work.caches.idle(slot)
            request = read_request(verb, rest, self.options, free)
            if isinstance(request, Refusal):
                yield work.step(0, b"ERR " + request.text.encode())
                return
            yield from ControlRequest(work, request).run()
        else:
            yield work.step(0, self._answer(verb, rest))

    def _answer(self, verb: bytes, rest: bytes) -> bytes:
        """Answer the exchanges between requests, and refuse everything unknown."""
        options = self.options
        if verb == b"VRAM":
            if options.elastic:
                return b"VRAM free_mib=512 reserve_mib=%s" % (rest.strip() or b"0")
            return b"ERR VRAM is refused: this engine was not started with --vram-elastic"
        if verb in (b"RELEASE", b"REFILL") and options.elastic:
            return b"RELEASED" if verb == b"RELEASE" else b"REFILLED"
        if verb in (b"SAVE", b"RESTORE"):
            return self._session_file(verb, rest.strip())
        if verb == b"CHECKG" and self._frame is not None:
            return b"CHECKG ok"
        return (
            b"ERR unknown command; GEN, GENI, BGEN, BGENI, STOP, BSTOP, BYIELD and QUIT are known"
        )

    def _session_file(self, verb: bytes, path: bytes) -> bytes:
        """SAVE and RESTORE of the main session, kept in memory."""
        if not self.options.session_files:
            return b"SERR invalid 0 this engine has no session files"
        main = self._work.caches.main
        if verb == b"SAVE":
            self._saved[path] = Main(
                main.session.copy(), main.usable, main.images, main.cvec, list(main.checkpoints)
            )
            return b"SAVED %d" % len(main.session)
        saved = self._saved.get(path)
        if saved is None:
            return b"SERR missing 0 there is no such session"
        self._work.caches.main = Main(
            saved.session.copy(), saved.usable, saved.images, saved.cvec, list(saved.checkpoints)
        )
        return b"RESTORED %d" % len(saved.session)
