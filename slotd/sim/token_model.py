"""Which token comes next: the simulated engine's stand-ins for a language model.

Lives here: what a state of the model is, a model whose tokens are a hash of everything the state
has consumed (so that one computes what a request must get, and a request that ran on a wrong state
shows at once), and a model that plays scripts. Must not live here: caches, lines, or time.

A state is an immutable value: a checkpoint is a state kept.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from attrs import frozen

from protocol.tokens import TokenIds
from slotd.sim.options import END_TOKEN

_MODULUS = (1 << 61) - 1
_BASE = 1_000_003
_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1

# A block of so many 18-bit tokens times 31-bit powers sums up to less than 2**62.
_BLOCK = 4096
_HALF = 31


class TokenState(Protocol):
    """What the model remembers of the tokens it has consumed."""

    def read(self, tokens: TokenIds) -> "TokenState":
        """Give the state after these prompt tokens too."""
        ...

    def begin(self, prompt: TokenIds) -> "TokenState":
        """Give the state that the reply to ``prompt`` starts from: all but its last token read."""
        ...

    def next(self, token: int) -> tuple["TokenState", int]:
        """Consume one token; return the state after it and the token picked there."""
        ...


class TokenModel(Protocol):
    """Where states come from."""

    def blank(self) -> TokenState:
        """Give the state that has consumed nothing."""
        ...


def _powers(count: int) -> npt.NDArray[np.uint64]:
    """Raise the base to the powers count-1, ..., 1, 0 by the modulus, shape (count,)."""
    powers, power = [], 1
    for _ in range(count):
        powers.append(power)
        power = power * _BASE % _MODULUS
    return np.array(powers[::-1], dtype=np.uint64)


_POWERS = _powers(_BLOCK)
_POWERS_LOW = _POWERS & np.uint64((1 << _HALF) - 1)
_POWERS_HIGH = _POWERS >> np.uint64(_HALF)


def roll(state: int, tokens: TokenIds) -> int:
    """Give the hash state after more tokens.

    One token t takes the state s to (s * 1,000,003 + t + 1) modulo 2**61 - 1. A block of tokens is
    the same polynomial at once: two dot products with the powers' halves, which stay below 2**64.
    """
    for at in range(0, len(tokens), _BLOCK):
        block = tokens[at : at + _BLOCK].astype(np.uint64) + np.uint64(1)
        size = len(block)
        low = int(block @ _POWERS_LOW[_BLOCK - size :])
        high = int(block @ _POWERS_HIGH[_BLOCK - size :])
        shift = pow(_BASE, size, _MODULUS)
        state = (state * shift + low + (high << _HALF)) % _MODULUS
    return state


def pick(state: int, end_every: int) -> int:
    """Pick the token of hash state ``state``: about every ``end_every``-th is the end token.

    Otherwise one of the 200,000 ids from 1,000 on, below every special token. 0: never the end.
    """
    mixed = (state ^ (state >> 29)) * _MIX & _MASK
    mixed ^= mixed >> 32
    if end_every and mixed % end_every == 0:
        return END_TOKEN
    return 1000 + mixed % 200_000


class _HashState:
    """The hash of every token consumed, in order."""

    __slots__ = ("_end_every", "_hash")

    def __init__(self, value: int, end_every: int) -> None:
        self._hash = value
        self._end_every = end_every

    def read(self, tokens: TokenIds) -> TokenState:
        return _HashState(roll(self._hash, tokens), self._end_every)

    def begin(self, prompt: TokenIds) -> TokenState:
        return self

    def next(self, token: int) -> tuple[TokenState, int]:
        value = (self._hash * _BASE + token + 1) % _MODULUS
        return _HashState(value, self._end_every), pick(value, self._end_every)


@frozen
class HashModel:
    """Tokens that are a pure function of the whole context."""

    end_every: int = 0
    """An end token about every so many tokens; 0: never."""

    def blank(self) -> TokenState:
        """Give the state that has consumed nothing."""
        return _HashState(0, self.end_every)

    def reply(self, prompt: TokenIds, max_new: int) -> list[int]:
        """Give the tokens that a request must get, whatever ran before or beside it."""
        state = self.blank().read(prompt[:-1])
        token, reply = int(prompt[-1]), list[int]()
        while len(reply) < max_new:
            state, token = state.next(token)
            reply.append(token)
            if token == END_TOKEN:
                break
        return reply


class _ScriptState:
    """A place in a script; nothing is remembered of the prompt."""

    __slots__ = ("_at", "_model", "_script")

    def __init__(self, model: "ScriptedModel", script: Sequence[int], at: int) -> None:
        self._model = model
        self._script = script
        self._at = at

    def read(self, tokens: TokenIds) -> TokenState:
        return self

    def begin(self, prompt: TokenIds) -> TokenState:
        return _ScriptState(self._model, self._model.script(prompt), 0)

    def next(self, token: int) -> tuple[TokenState, int]:
        at = self._at
        picked = self._script[at] if at < len(self._script) else END_TOKEN
        return _ScriptState(self._model, self._script, at + 1), picked


@frozen
class ScriptedModel:
    """Replies that the caller decides: reading a prompt costs nothing, whatever its length."""

    script: Callable[[TokenIds], Sequence[int]]
    """The reply to a prompt, as Python ints; behind its last token come end tokens. A request that
    moves between solo and batch comes again with the prompt and what it has got so far."""

    def blank(self) -> TokenState:
        """Give the state that has consumed nothing."""
        return _ScriptState(self, (), 0)
