"""The conversation that is cut short at each of its lines.

Lives here: who says what when. Must not live here: who dies.
"""

from tests.clients.levels import ACTIVE_ROWS, GROUPS, clean_environment
from tests.clients.reference import TURN
from tests.faults.talk import OverError, Talk

ENGINE = (*GROUPS, "--chunk", "2048")
ENVIRONMENT = clean_environment() | ACTIVE_ROWS | {"STRATA_SLOT_PARK_MIN_VALUE": "0"}
"""Parks are worth it at any length, so that a short conversation has one."""


def ids(*tokens: int) -> bytes:
    """Tokens as a line has them."""
    return b",".join(b"%d" % token for token in tokens)


FIRST = ids(*range(1000, 1050), TURN, 5)
SECOND = ids(*range(2000, 2030), TURN, 6)
THIRD = ids(*range(3000, 3020))
MAX_NEW = [2, 3, 2, 1]
"""How many tokens the four requests get, in the order they are sent."""


async def converse(talk: Talk) -> bool:
    """Talk alone, in two slots at once, in an exchange, and alone again; True: to the end."""
    try:
        await talk.until(b"READY")
        await talk.say(b"GEN 2 temperature=0.5 " + FIRST + b"\n")
        await talk.until(b"DONE")
        await talk.say(b"BGEN 0 3 " + SECOND + b"\n")
        await talk.until(b"BADM 0 1")
        await talk.say(b"BGEN 1 2 ckpt=1 " + THIRD + b"\n")
        await talk.until(b"BADM 1 1", b"BDONE 0", b"BDONE 1")
        await talk.say(b"VRAM\n")
        await talk.until(b"ERR")
        await talk.say(b"GEN 1 " + FIRST + b",7\n")
        await talk.until(b"DONE")
    except OverError:
        return False
    return True
