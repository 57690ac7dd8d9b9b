"""An engine for measurements: it answers like one, and its tokens are the time they were printed.

Run as `python stamping_engine.py MODE ...`; standard library only, so that it starts quickly and
costs little. A stamp is the monotonic clock in microseconds modulo 2**30, sent as a token id.

- `steady WINDOWS MS`: 8 slots are admitted, then WINDOWS windows of 8 rows, one every MS.
- `burst LINES`: 8 slots are admitted, then LINES lines as fast as they can be written.
- `prompts MS`: every admission is answered at once; of each whole line that has come in, a line
  `STAMP <bytes> <time>` tells when its last byte was there. While the last slot decodes, a window
  of one row every MS.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator

SLOTS = 8
HELLO = "INFO batch_slots=8 slot_cache=1 context=400000 engine=bench\nREADY 400000 stop\n"
WRAP = 1 << 30


def stamp() -> int:
    """Return the monotonic clock in microseconds, modulo 2**30."""
    return time.monotonic_ns() // 1000 % WRAP


def say(text: str) -> None:
    """Write all of a text at once."""
    data = memoryview(text.encode())
    while data:
        data = data[os.write(1, data) :]


def lines() -> Iterator[bytes]:
    """Yield what comes in, line by line, without holding a line twice."""
    pieces: list[bytes] = []
    while chunk := os.read(0, 1 << 18):
        while (end := chunk.find(b"\n")) >= 0:
            pieces.append(chunk[:end])
            yield b"".join(pieces)
            pieces, chunk = [], chunk[end + 1 :]
        if chunk:
            pieces.append(chunk)


def admit(line: bytes) -> int:
    """Answer an admission: its whole prompt is read, and it goes on in its slot."""
    fields = line.split(b" ", 3)
    slot, prompt = int(fields[1]), line.count(b",") + 1
    say(f"RESUME 0\nT 7\nDONE 1 {prompt} 1.0 0.0 length 0 0 0\nBADM {slot} 1\n")
    return slot


def admitted(source: Iterator[bytes]) -> None:
    """Admit the eight slots that are decoded in."""
    seen = 0
    for line in source:
        if line.startswith(b"BGEN"):
            admit(line)
            seen += 1
            if seen == SLOTS:
                return


def steady(windows: int, every_ms: float) -> None:
    """Print windows at an even pace."""
    due = time.monotonic()
    for _ in range(windows):
        due += every_ms / 1000
        time.sleep(max(0.0, due - time.monotonic()))
        now = stamp()
        say("".join(f"BT {slot} {now}\n" for slot in range(SLOTS)))


def burst(count: int) -> None:
    """Print lines as fast as the other side takes them."""
    window = "".join(f"BT {slot} 123456\n" for slot in range(SLOTS)) * 500
    for _ in range(count // (SLOTS * 500)):
        say(window)


def prompts(source: Iterator[bytes], every_ms: float) -> None:
    """Answer admissions, and tell when each had come in whole."""
    decoding = threading.Event()

    def decode(slot: int) -> None:
        while decoding.is_set():
            say(f"BT {slot} {stamp()}\n")
            time.sleep(every_ms / 1000)

    for line in source:
        now = stamp()
        if line.startswith(b"QUIT"):
            decoding.clear()
            return
        if line.startswith(b"BGEN"):
            say(f"STAMP {len(line)} {now}\n")
            slot = admit(line)
            if b"max_decode=1" in line:
                decoding.set()
                threading.Thread(target=decode, args=(slot,), daemon=True).start()
            else:
                say(f"BT {slot} 8\nBDONE {slot} 2 length 1.0\n")


def main(mode: str, *numbers: str) -> None:
    """Run in the mode asked for."""
    say(HELLO)
    source = lines()
    if mode == "prompts":
        prompts(source, float(numbers[0]))
        return
    admitted(source)
    if mode == "steady":
        steady(int(numbers[0]), float(numbers[1]))
    else:
        burst(int(numbers[0]))
    say("END\n")
    for line in source:
        if line.startswith(b"QUIT"):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
