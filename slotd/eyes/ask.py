"""Asking a running slotd for its status.

Here: one question over its control socket. Not here: the answer's fields (`slotd.eyes.part`).
"""

import json
import socket
import time

QUESTION = b'{"ask":"status"}\n'
LONGEST_WAIT_S = 5.0
LONGEST_ANSWER = 64 << 20
"""Bytes; far more than the largest slot table."""
_PIECE = 1 << 16


class NoAnswerError(Exception):
    """There is no status to be had; the message is one line with the way out."""


def ask(path: str, wait_s: float = LONGEST_WAIT_S) -> dict[str, object]:
    """Return the status of the slotd whose control socket is at `path`.

    Raises NoAnswerError when it does not answer within `wait_s` seconds, or says something else.
    """
    try:
        answer = _answer(path, time.monotonic() + wait_s)
    except (TimeoutError, BlockingIOError):  # the latter: too many wait there to be let in
        reason, way_out = f"no answer within {wait_s:g} s", "see 'systemctl status slotd'"
    except PermissionError:
        reason, way_out = "you may not connect to it", "be in its group (usermod -aG slotd USER)"
    except (FileNotFoundError, ConnectionRefusedError):
        reason, way_out = "nobody listens there", "start slotd, or name its control socket"
    except OSError as error:
        reason, way_out = error.strerror or str(error), "name the control socket of a slotd"
    else:
        said = _said(answer)
        if "slotd" in said:
            return said
        reason, way_out = "what answers there is no slotd", "name the control socket of a slotd"
        if str(said.get("error")).startswith("slotd: "):
            reason, way_out = f"answers {said['error']}", "report it"
    raise NoAnswerError(f"socket {path}: {reason}: {way_out}")


def _answer(path: str, deadline: float) -> bytes:
    answer = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        _bound(asking, deadline)
        asking.connect(path)
        asking.sendall(QUESTION)
        while len(answer) <= LONGEST_ANSWER:
            _bound(asking, deadline)
            piece = asking.recv(_PIECE)
            if not piece:
                break
            answer += piece
    return bytes(answer)


def _bound(asking: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    asking.settimeout(left)


def _said(answer: bytes) -> dict[str, object]:
    """Return the object that was answered; an empty one where it is none."""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
