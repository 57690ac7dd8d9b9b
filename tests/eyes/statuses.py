"""A status as a busy slotd gives it, and a control socket that answers with one."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slotd.eyes.ask import QUESTION


def slot(number: int, state: str, tokens: int, **more: Any) -> dict[str, Any]:
    usual = {
        "slot": number,
        "client_slot": (number + 1) % 6,
        "state": state,
        "tokens": tokens,
        "age": 0.0,
        "value": 0.5,
        "ttl_left": 40.0,
        "valid": tokens > 0,
        "superseded": False,
        "images": False,
        "cvec": 1,
        "checkpoints": [],
        "request": None,
        "generated": 0,
    }
    return {**usual, **more}


def busy() -> dict[str, Any]:
    return {
        "slotd": {
            "version": "0.1.0",
            "pid": 4711,
            "uptime_s": 11_220.5,
            "mode": "host",
            "socket": "/run/slotd/engine.sock",
        },
        "engine": {
            "state": "serving",
            "pid": 4712,
            "starts": 2,
            "ready_s": 900.0,
            "capabilities": {
                "batch_slots": 6,
                "batch_groups": 3,
                "slot_cache": True,
                "slot_padding_safe": True,
                "slot_park": True,
                "turn_token": 151644,
                "context": 262144,
                "engine": "0.2.7",
                "ready": True,
                "stop": True,
            },
        },
        "client": {"attached": True, "pid": 4801, "since_s": 125.0},
        "slots": [
            slot(0, "decoding", 37_359, request=12, generated=411, value=0.978, ttl_left=64.9),
            slot(1, "idle", 500, age=812.0, value=0.0, ttl_left=0.0, request=3),
            slot(2, "idle", 36_900, age=48.0, value=0.41, superseded=True, request=9),
            slot(3, "reading", 0, request=13, value=0.0),
            slot(4, "yielded", 120_000, age=3.2, value=0.8, ttl_left=90.0, request=11),
            slot(5, "idle", 0, value=0.0, ttl_left=0.0),
        ],
        "main": {
            "tokens": 52_007,
            "age": 7.0,
            "value": 0.62,
            "ttl_left": 61.0,
            "exact": True,
            "cvec": 1,
        },
        "in_flight": [
            {
                "request": 13,
                "verb": "BGEN",
                "client_slot": 2,
                "slot": 3,
                "phase": "reading",
                "prompt": 91_000,
                "read": 32_768,
                "seconds": 12.6,
            }
        ],
        "settings": {
            "policy": "retention",
            "park": "auto",
            "slot_key": True,
            "keep_client_keys": False,
            "ttl_max_s": 120.0,
        },
        "counters": {
            "requests": 13,
            "events": {"place": 13, "drift": 1, "error": 2, "admitted": 9},
            "placements": {"continue": 7, "spread": 3, "least_loss": 2, "reclaim": 1},
            "parks": {"parked": 4, "kept": 2, "failed": 1},
            "reused_tokens": 1_204_000,
            "read_tokens": 301_000,
        },
        "latency": {
            "buckets": {"0.0001": 700, "0.0005": 985, "0.001": 999, "+Inf": 1000},
            "count": 1000,
            "sum_s": 0.12,
        },
        "events": [event(number) for number in range(96)],
    }


def event(number: int) -> dict[str, Any]:
    return {
        "ts": f"2026-01-31T12:{number // 60:02}:{number % 60:02}.250Z",
        "level": "info",
        "event": "slot_done",
        "request": number,
        "slot": number % 6,
        "client_slot": 1,
        "generated": 400 + number,
        "finish": "stop",
        "ms": 4000.5,
    }


@contextmanager
def answering(path: Path, *answers: bytes | dict[str, Any]) -> Iterator[list[bytes]]:
    """Answer one connection after the other with `answers`; give what each one asked."""
    asked: list[bytes] = []

    def answer_all() -> None:
        for answer in answers:
            try:
                connection, _ = listening.accept()
            except OSError:  # nobody asked so often
                return
            with connection:
                asked.append(connection.recv(len(QUESTION)))
                connection.sendall(answer if isinstance(answer, bytes) else json_line(answer))

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=answer_all, daemon=True)
        thread.start()
        yield asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def json_line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"
