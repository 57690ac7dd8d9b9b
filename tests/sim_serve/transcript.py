"""Transcripts of the modelled serve process.

One line a step: `++ id max_new ids [keys]` a request comes, `xx id` its client goes away, `<< line`
the engine says, `>> line` the serve process must send (all it sends, in order, before the next
step), `-- id finish: tokens` the request must end so.
"""

import numpy as np

from slotd.sim.serve import Serve
from slotd.sim.serve_requests import Ended, Request, ServeEvent, ServeSettings
from slotd.sim.serve_slots import SlotStrategy

SHORT_READS = ServeSettings(long_read=4)


def request(text: str) -> Request:
    """Read `id max_new ids [key=value ...] [picture file]`."""
    name, max_new, ids, *rest = text.split()
    keys = tuple((k, v) for k, _, v in (field.partition("=") for field in rest if "=" in field))
    pictures = [field for field in rest if "=" not in field]
    return Request(
        id=name,
        prompt=np.array([int(i) for i in ids.split(",")], dtype=np.int32),
        max_new=int(max_new),
        keys=tuple((k, v) for k, v in keys if k != "cvec"),
        cvec=int(dict(keys).get("cvec", "1")),
        pictures=pictures[0] if pictures else None,
    )


def play(
    script: str,
    settings: ServeSettings = SHORT_READS,
    strategy: SlotStrategy | None = None,
) -> Serve:
    """Play a transcript to its end; whatever is sent or ends must be written in it."""
    serve = Serve(settings, strategy)
    sent: list[str] = []
    ended: list[str] = []

    def take(lines: list[bytes], events: list[ServeEvent] | None = None) -> None:
        assert (sent, ended) == ([], []), "not in the transcript"
        sent.extend(line.decode().removesuffix("\n") for line in lines)
        ended.extend(
            f"{event.request} {event.finish}: {' '.join(map(str, event.tokens))}".rstrip()
            for event in events or []
            if isinstance(event, Ended)
        )

    for now, step in enumerate(filter(None, map(str.strip, script.splitlines()))):
        kind, _, text = step.partition(" ")
        if kind == "++":
            take(serve.submit(request(text), now))
        elif kind == "xx":
            take(serve.cancel(text, now))
        elif kind == "<<":
            take(*serve.from_engine(text.encode() + b"\n", now))
        elif kind == "EOF":
            take([], serve.engine_eof(now))
        elif kind == ">>":
            assert sent
            assert sent.pop(0) == text
        else:
            assert kind == "--"
            assert ended
            assert ended.pop(0) == text
    assert (sent, ended) == ([], []), "not in the transcript"
    return serve


SOLO = """
<< INFO context=1000 engine=0.2.7
<< READY 1000 stop
"""
BATCH = """
<< INFO context=1000 batch_slots=3 slot_cache=1 engine=0.2.7
<< READY 1000 stop
"""
DONE_TAIL = "5.0 5.0"


def done(generated: int, prompt: int, finish: str, reused: int = 0) -> str:
    """A `DONE` line for a transcript."""
    return f"<< DONE {generated} {prompt} 5.0 1.0 {finish} 0 0 {reused} 0 0"
