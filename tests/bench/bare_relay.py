"""The least a relay can be: trio, two pipes, lines copied as they come. What slotd is held against.

Run as `python bare_relay.py ENGINE ARGS...`.
"""

import subprocess
import sys

import trio
from trio.abc import ReceiveStream, SendStream
from trio.lowlevel import FdStream


async def copy(source: ReceiveStream, sink: SendStream) -> None:
    """Copy whole lines, as many as there are at a time; the rest waits for its end."""
    rest = b""
    while data := await source.receive_some(65536):
        whole, newline, rest = (rest + bytes(data)).rpartition(b"\n")
        if newline:
            await sink.send_all(whole + newline)
    if rest:
        await sink.send_all(rest)
    await sink.aclose()


async def main(command: list[str]) -> int:
    """Relay until the engine has ended."""
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(copy, FdStream(0), process.stdin)
        await copy(process.stdout, FdStream(1))
        nursery.cancel_scope.cancel()
    return await process.wait()


if __name__ == "__main__":
    sys.exit(trio.run(main, sys.argv[1:]))
