"""What the tests of the protocol feed it: bytes that look like lines, and ways to cut them."""

from collections.abc import Iterable

from hypothesis import settings
from hypothesis import strategies as st

from protocol import RawItem, raw_of

untimed = settings(deadline=None)
"""Nothing here depends on speed."""

_LINES = [
    b"GEN 5 1,2,3\n",
    b"GENI 5 cvec=0 pictures.bin 1,2\r\n",
    b"BGEN 3  200 park=1 x=y 7,8,9\n",
    b"BGENI 0 4 a 5\n",
    b"STOP\n",
    b"STOP\r\n",
    b"BSTOP 2\n",
    b"BYIELD 1\n",
    b"QUIT\n",
    b"GENG1 4\na\nbc\n",
    b"GENG2 3 0 1\n\n\n\n\n",
    b"GENG3 5 1 1 0 12\r\nQUIT\n\n",
    b"GENG1 2\nab",
    b"GENG1 0\n",
    b"GENG1 8193\n",
    b"GENG2 3 0 2\n",
    b"GENG4 3\n",
    b"CHECKG x\n",
    b"BT 1 2\n",
    b"BT x 2\n",
    b"DONE 1 2 3.0 4.0 stop 0 0 5\n",
    b"INFO a=b \xff=\xfe c\n",
    b"BCHECKS 1 2 3,4\n",
    b"\n",
    b"\r\n",
    b" GEN 1 1\n",
    b"unknown \xff\x00 line\n",
    b"no newline",
    b"a line longer than the short limit some tests set\n",
]
SHORT_LIMIT = 24
"""A line limit in bytes that some of the lines above exceed."""

streams = st.lists(
    st.sampled_from(_LINES)
    | st.binary(max_size=12)
    | st.sampled_from([b"\n", b" ", b"\r", b"GENG"]),
    max_size=12,
).map(b"".join)
"""A byte stream made of lines, broken lines and noise."""


@st.composite
def chunked(draw: st.DrawFn, source: st.SearchStrategy[bytes] = streams) -> list[bytes]:
    """A stream cut into chunks at any places, empty chunks among them."""
    data = draw(source)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def joined(items: Iterable[RawItem]) -> bytes:
    return b"".join(raw_of(item) for item in items)
