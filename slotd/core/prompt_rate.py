"""How fast the engine reads prompts, as observed.

Here: one figure in tokens a second. Not here: what it is used for (near sources, in
`slotd.policy`).
"""

SHORTEST = 256
"""A read of fewer tokens tells more of the fixed costs of a request than of the rate."""
MEMORY = 65_536
"""Tokens of reading after which older reads count half."""


class PromptRate:
    """The rate over the reads of about the last `MEMORY` tokens.

    The tokens of finished reads divided by their seconds (`DONE`'s prompt_ms), older reads counting
    less: whenever the sums exceed `MEMORY` tokens both are halved. Until a first read has finished,
    the figure is that of the read going on (`PP`). 0 while nothing was observed.
    """

    def __init__(self) -> None:
        """Begin with nothing observed."""
        self._tokens = 0.0
        self._seconds = 0.0
        self._first = 0.0

    @property
    def tokens_per_second(self) -> float:
        """The rate in tokens a second; 0 when none was observed."""
        return self._tokens / self._seconds if self._seconds > 0 else self._first

    def progress(self, tokens: int, ms: float) -> None:
        """Take note of a read going on: so many tokens in so many milliseconds since its begin."""
        if self._seconds == 0 and tokens >= SHORTEST and ms > 0:
            self._first = tokens * 1000 / ms

    def finished(self, tokens: int, ms: float) -> None:
        """Take note of a read that ended: so many tokens in so many milliseconds."""
        if tokens < SHORTEST or ms <= 0:
            return
        self._tokens += tokens
        self._seconds += ms / 1000
        while self._tokens > MEMORY:
            self._tokens /= 2
            self._seconds /= 2
