"""What is known of a conversation beside its length: the facts a policy can learn from.

Here: those facts as numbers, for the request of a table and for the history each slot holds. Not
here: how they are found out, which needs tokens (see `slotd.core.recall`), and what is made of them
(see `slotd.policy.adaptive`).
"""

from typing import Literal

from attrs import frozen

Return = Literal["whole", "turn", "checkpoint", "version"]
"""How a prompt goes on from a history: from all of it, from its last turn (the reply was sent back
changed), from a periodic checkpoint, or as another version of the same text that can resume from
none of these (its end was rewritten)."""


@frozen
class Story:
    """One request as a part of its conversation, and of the history it leaves behind."""

    number: int
    """The request's number."""
    at: float
    """When it came, in seconds."""
    prompt: int
    """Tokens of its prompt."""
    conversation: int
    """The number of the conversation's first request, as far as it was seen."""
    turn: int = 1
    """Its place in the conversation as far as that was seen, from 1."""
    gap: float | None = None
    """Seconds from the end of the request it continues to this one; None for a first one."""
    added: int = 0
    """Tokens of the prompt beyond the history it continues; 0 for a first request."""
    boundary: int = 0
    """Tokens up to its prompt's last turn, where its reply begins; 0 when that is not known."""
    checkpoint: int = 0
    """Tokens of the checkpoint its history keeps: at its last turn, else the last periodic one."""
    continues: int | None = None
    """The request it continues."""
    how: Return | None = None
    """How it continues that one's history."""
    returned: float = 0.0
    """The share of that history it could resume."""
    leg: bool = False
    """It is the same request as the one it continues, which moved between solo and batch."""


@frozen
class Stories:
    """The stories that belong to one table. None: nothing is known of that history."""

    request: Story
    main: Story | None
    slots: tuple[Story | None, ...]
    """`slots[n]` is engine slot n's."""
