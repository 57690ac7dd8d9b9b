"""What the simulated engine's work costs, in seconds of engine time.

Lives here: the published speeds and the formulas that turn tokens and rows into seconds. Must not
live here: a clock, or anything that waits.

Every default names where it was published: "the policy's document" is the one that describes the
placement policy, "the checkpoints' document" the one that describes slot checkpoints.
"""

from typing import Self

from attrs import field, frozen

SOLO_TOK_S = 67.0
"""One client alone, with drafts (the policy's document: 67.6 / 63.0 tok/s at 1,024 tokens)."""

BATCH_TOK_S = 190.7
"""Six clients together (the policy's document: 190.7 / 191.5 tok/s in total)."""


def window_ms_between_published(rows: int) -> float:
    """Give the milliseconds of one batch window, from the two published totals.

    The total speed is taken as a straight line through one client and six clients, so a window of
    n rows (one token each) lasts n / total(n): 14.9 ms for one row, 31.5 ms for six.
    """
    total = SOLO_TOK_S + (BATCH_TOK_S - SOLO_TOK_S) / 5 * (rows - 1)
    return 1000 * rows / total


@frozen
class Timing:
    """The speeds of one simulated engine; the defaults are the published ones."""

    prompt_tok_s: float = 2668.0
    """Prompt tokens read in a second at depth 0; 0: no time at all. The policy's document: a
    37,359-token conversation takes 14 s. (The checkpoints' document: 43,379 tokens in 14.1 s.)"""

    depth_ms_per_1k: float = 0.0
    """Milliseconds that reading 1,000 tokens takes longer for every 1,000 tokens before them.
    0: one speed at every depth, as the scenarios state it; see `by_depth`."""

    request_s: float = 0.1
    """Fixed seconds of a request before it reads. The policy's document: a turn that reuses 42,092
    of 42,119 tokens takes 0.7 s, of which the copy back from the slot is 0.56 s."""

    window_ms: tuple[float, ...] = field(
        factory=lambda: tuple(window_ms_between_published(rows) for rows in range(1, 33))
    )
    """Milliseconds of a batch window by its active rows (item 0: one row); more rows than items
    take as long as the last. Default: `window_ms_between_published`."""

    solo_step_ms: float = 1000 / SOLO_TOK_S
    """Milliseconds of one solo decode step. The default is one token at the published speed."""

    copy_ms_per_1k: float = 13.2
    """Milliseconds to copy 1,000 tokens of state into a slot: a park, an admission. The policy's
    document: 24 parks of 10K-170K tokens fit 13.2 ms per 1,000."""

    restore_ms_per_1k: float = 13.2
    """The same copy out of a slot into the main session. The published turns agree with it: 27.3K
    copied back after a park of 43.6K tokens take 0.97 s together."""

    branch_cut_s: float = 0.85
    """Seconds that a checkpoint at a branch point adds to the read it is in. The checkpoints'
    document: 0.8-0.9 s."""

    cut_s: float = 0.0
    """Seconds of any other checkpoint; the published read speeds contain them."""

    @classmethod
    def instant(cls) -> Self:
        """Nothing takes time: for tests that are about lines and caches."""
        return cls(
            prompt_tok_s=0,
            request_s=0,
            window_ms=(0.0,),
            solo_step_ms=0,
            copy_ms_per_1k=0,
            restore_ms_per_1k=0,
            branch_cut_s=0,
        )

    @classmethod
    def by_depth(cls) -> Self:
        """Let reading slow down with depth, fitted to three published reads.

        43,379 tokens from nothing in 14.1 s, 11,110 tokens from 32,768 in 5.9 s (both in the
        checkpoints' document) and about 1,100 tok/s behind 77K tokens (the policy's document).
        The published classifier chain comes out within 10% of its times.
        """
        return cls(prompt_tok_s=1e6 / 56, depth_ms_per_1k=12.4)

    def read_seconds(self, start: int, stop: int) -> float:
        """Seconds to read the prompt's tokens from ``start`` up to ``stop``."""
        if not self.prompt_tok_s:
            return 0.0
        tokens = stop - start
        depth = (start + stop) / 2
        return tokens / self.prompt_tok_s + tokens * depth * self.depth_ms_per_1k / 1e9

    def window_seconds(self, rows: int) -> float:
        """Seconds of one batch window with ``rows`` active slots (at least 1)."""
        return self.window_ms[min(rows, len(self.window_ms)) - 1] / 1000

    def solo_step_seconds(self) -> float:
        """Seconds of one decode step of a solo request."""
        return self.solo_step_ms / 1000

    def copy_seconds(self, tokens: int) -> float:
        """Seconds to copy ``tokens`` tokens of the main session into a slot."""
        return tokens * self.copy_ms_per_1k / 1e6

    def restore_seconds(self, tokens: int) -> float:
        """Seconds to copy ``tokens`` tokens of a slot back into the main session."""
        return tokens * self.restore_ms_per_1k / 1e6
