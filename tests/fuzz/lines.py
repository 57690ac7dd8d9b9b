"""Lines of both sides, well-formed ones and ones that are nearly so.

Lives here: writing a line from choices. Must not live here: what is checked about it.
"""

from collections.abc import Sequence

from protocol import TokenIds, format_ids
from tests.fuzz.taking import Taker

NUMBERS = [
    *(b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"-1", b"99", b"1024", b"00", b"+1"),
    *(b"", b"x", b"1.5", b"nan", b"inf", b"1e400", b"-9999999999999999999", b"2147483648"),
    *(b"9223372036854775808", b"99999999999999999999999999", b"\xd9\xa3", b"\x00", b"1_0"),
]
FINISHES = [b"stop", b"length", b"cancel", b"error", b"what", b""]
TURN = 248_045
VERBS = [
    *(b"VRAM", b"VRAM 512", b"RELEASE", b"REFILL", b"SAVE /a b", b"RESTORE /a", b"CHECKG"),
    *(b"QUIT", b"STOP x", b"quit", b"", b" ", b"GEN", b"BGEN", b"BGEN x 1 1", b"PING"),
]
ANSWERS = [
    *(b"VRAM a=1", b"RELEASED", b"REFILLED", b"SAVED /a", b"RESTORED", b"SERR no", b"SESSION 1"),
    *(b"SWAIT", b"FATAL", b"ERR no", b"ERR", b"", b" ", b"READY 5000 stop", b"what is this"),
]
INFOS = [
    *(b"batch_slots=4", b"batch_slots=6 batch_groups=3", b"slot_cache=1", b"slot_park=1"),
    *(b"slot_padding_safe=1", b"turn_token=248045", b"turn_token=x", b"batch_slots=0"),
    *(b"batch_slots=99999999", b"batch_groups=0", b"batch_groups=5", b"slot_cache=0", b"a b==c ="),
]


def number(taker: Taker, usual: int) -> bytes:
    """A number below `usual`, and once in a while anything."""
    return taker.pick(NUMBERS) if taker.happens(1) else b"%d" % taker.below(usual)


def ids(taker: Taker, held: Sequence[TokenIds]) -> bytes:
    """A prompt: a history and more, or a beginning of one of a few texts and an end of its own."""
    if held and taker.happens(8):
        history = taker.pick(held)
        return format_ids(history[: len(history) - taker.pick([0, 0, 0, 1, 3])]) + b",7,8"
    text, length = taker.below(3), taker.pick([1, 2, 5, 40, 41, 300, 1500])
    tokens = list(range(1000 * text, 1000 * text + length))
    if taker.happens(8):
        tokens.append(TURN)
    tokens += [7 + taker.below(3)] * taker.below(4)
    written = b",".join(b"%d" % token for token in tokens)
    return written + b"," + taker.pick(NUMBERS) if taker.happens(1) else written


def keys(taker: Taker) -> list[bytes]:
    """Keys of a request, known, unknown and broken."""
    names = [b"ckpt", b"cvec", b"park", b"slot", b"temperature", b"x", b""]
    return [taker.pick(names) + b"=" + number(taker, 7) for _ in range(taker.pick([0, 0, 1, 3]))]


def end(taker: Taker) -> bytes:
    """Mostly a newline."""
    return taker.pick([b"\n"] * 13 + [b"\r\n", b" \n", b""])


def client_line(taker: Taker, held: Sequence[TokenIds]) -> bytes:
    """Something a serve process writes, or nearly; `held` are histories it may continue."""
    kind = taker.below(10)
    if kind < 6:
        verb = taker.pick([b"BGEN", b"BGEN", b"GEN", b"GEN", b"BGENI", b"GENI"])
        fields = [verb]
        if verb.startswith(b"B"):
            fields.append(number(taker, 7))
        fields.append(taker.pick([b"1", b"2", b"9"]) if taker.happens(14) else number(taker, 9))
        fields += keys(taker)
        if verb.endswith(b"I"):
            fields.append(b"picture")
        fields.append(ids(taker, held))
        return taker.pick([b" "] * 15 + [b"  "]).join(fields) + end(taker)
    if kind == 6:
        return b"STOP" + end(taker)
    if kind == 7:
        return taker.pick([b"BSTOP ", b"BYIELD "]) + number(taker, 7) + end(taker)
    if kind == 8:
        return taker.pick(VERBS) + end(taker)
    body = taker.some(40)
    size = len(body) if taker.happens(14) else taker.below(50)
    header = taker.pick([b"GENG1 %d", b"GENG2 %d 0 1", b"GENG3 %d 0 1 1 7", b"GENG9 %d"])
    return header % size + b"\n" + body + b"\n"


def engine_line(taker: Taker) -> bytes:
    """Something an engine prints, or nearly, whether it fits or not."""
    kind = taker.below(17)
    if kind == 0:
        return b"INFO " + b" ".join(taker.pick(INFOS) for _ in range(taker.below(5))) + b"\n"
    if kind == 1:
        return taker.pick(ANSWERS) + end(taker)
    if kind == 2:
        return taker.some(30) + end(taker)
    fields = list(_ENGINE_LINES[kind - 3])
    if fields[0] == b"DONE":
        fields += [b"count"] * taker.below(4)
    return b" ".join(_field(taker, field) for field in fields) + end(taker)


_ENGINE_LINES = [
    [b"RESUME", b"tokens"],
    [b"CACHE_SOURCE", b"slot", b"tokens"],
    [b"PARKED", b"slot", b"tokens"],
    [b"BCHECKS", b"slot", b"tokens", b"lengths"],
    [b"PP", b"tokens", b"tokens", b"count", b"count"],
    [b"T", b"tokens"],
    [b"DONE", b"count", b"tokens", b"count", b"1.0", b"finish"],
    [b"BADM", b"slot", b"flag"],
    [b"BADM", b"slot", b"flag"],
    [b"BT", b"slot", b"tokens"],
    [b"BT", b"slot"],
    [b"BDONE", b"slot", b"count", b"finish", b"1.5"],
    [b"YIELDED", b"slot", b"tokens"],
    [b"ERR", b"no"],
]


def _field(taker: Taker, field: bytes) -> bytes:
    """Write what a field's name stands for; anything else is the field itself."""
    match field:
        case b"slot":
            return number(taker, 7)
        case b"tokens":
            return number(taker, 60)
        case b"count":
            return number(taker, 9)
        case b"finish":
            return taker.pick(FINISHES)
        case b"flag":
            return taker.pick([b"1", b"0", b"2", b""])
        case b"lengths":
            return taker.pick([b"", b"1,5", b"5 40", b"40,41,x", b","])
    return field
