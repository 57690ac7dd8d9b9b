import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import (
    BatchToken,
    EngineError,
    EngineOpaque,
    Fragment,
    Frame,
    Info,
    LineReader,
    parse_engine_line,
    raw_of,
)
from tests.protocol.strategies import streams, untimed
from tests.protocol.transcript import check, parse_one


def test_every_line_of_an_engine() -> None:
    check("""
    << INFO batch_slots=6 slot_cache=1    Info fields={'batch_slots':'6','slot_cache':'1'}
    << READY 270000 stop                  Ready context=270000 stop=True
    << READY 270000                       Ready context=270000 stop=False
    << RESUME 37352                       Resume tokens=37352
    << CACHE_SOURCE 2 37352               CacheSource slot=2 tokens=37352
    << CACHE_SOURCE -1 0                  CacheSource slot=-1 tokens=0
    << PARKED 4 37359                     Parked slot=4 tokens=37359
    << PARKED 4 0                         Parked slot=4 tokens=0
    << BCHECKS 4 37359 16384,32768        Checks slot=4 tokens=37359 lengths=(16384,32768)
    << BCHECKS 4 37359 16384 32768        Checks slot=4 tokens=37359 lengths=(16384,32768)
    << BCHECKS 4 37359 16384, 32768       Checks slot=4 tokens=37359 lengths=(16384,32768)
    << BCHECKS 4 37359 300                Checks slot=4 tokens=37359 lengths=(300,)
    << BCHECKS 4 37359                    Checks slot=4 tokens=37359 lengths=()
    << BCHECKS 4 37359 ,                  Checks slot=4 tokens=37359 lengths=()
    << PP 2048 37359 812 2522.2           Progress read=2048 total=37359 ms=812.0 rate=2522.2
    << T 248046                           Token id=248046
    << DONE 200 37359 812.5 3000.1 length 80 120 37352    Done generated=200 prompt=37359
    << DONE 200 37359 812.5 3000.1 length 80 120 37352    Done prompt_ms=812.5 decode_ms=3000.1
    << DONE 200 37359 812.5 3000.1 length 80 120 37352    Done accepted=80 offered=120
    << DONE 200 37359 812.5 3000.1 length 80 120 37352    Done finish='length' reused=37352
    << DONE 0 9 1.0 0.0 cancel 0 0 5 0 0 0 0 0.0 4 0      Done generated=0 finish='cancel' reused=5
    << DONE 1 9 1.0 0.0 stop 3 4          Done accepted=3 offered=4 reused=None
    << DONE 1 9 1.0 0.0 stop 3            Done accepted=3 offered=0 reused=None
    << DONE 1 9 1.0 0.0 stop              Done accepted=0 offered=0 reused=None
    << DONE 1 9 1 0 timeout 0 0 0         Done finish='timeout' reused=0
    << BADM 3 1                           Admitted slot=3 goes_on=True
    << BADM 3 0                           Admitted slot=3 goes_on=False
    << BT 3 1000                          BatchToken slot=3 id=1000
    << BDONE 3 64 stop 120.5              BatchDone slot=3 generated=64 finish='stop' ms=120.5
    << BDONE 3 64 error 120 7 9           BatchDone slot=3 finish='error' ms=120.0
    << YIELDED 2 4096                     Yielded slot=2 tokens=4096
    << ERR prompt (9 tokens) too long     EngineError text='prompt(9tokens)toolong'
    << ERR                                EngineError text=''
    << VRAM free=1 used=2                 Answer verb='VRAM'
    << RELEASED                           Answer verb='RELEASED'
    << REFILLED 3                         Answer verb='REFILLED'
    << SAVED 1 2                          Answer verb='SAVED'
    << RESTORED 1                         Answer verb='RESTORED'
    << SERR invalid 0 no session          Answer verb='SERR'
    << SESSION x                          Answer verb='SESSION'
    << SWAIT                              Answer verb='SWAIT'
    << FATAL out of memory                Answer verb='FATAL'
    << loading weights                    EngineOpaque
    """)


def test_added_fields_and_strange_slots_are_read_over() -> None:
    check("""
    << READY 100 fast stop                Ready stop=True
    << RESUME 5 x                         Resume tokens=5
    << CACHE_SOURCE 2 7 x                 CacheSource slot=2 tokens=7
    << PARKED -3 7 x                      Parked slot=-3 tokens=7
    << PP 1 2 3 4 5                       Progress rate=4.0
    << T 7 x                              Token id=7
    << BADM 99 1 x                        Admitted slot=99 goes_on=True
    << BT -1 7 x                          BatchToken slot=-1 id=7
    << YIELDED 1000000 7 x                Yielded slot=1000000 tokens=7
    """)


def test_known_verbs_with_bad_fields_are_opaque() -> None:
    check(f"""
    << READY                              EngineOpaque
    << READY soon                         EngineOpaque
    << READY -1                           EngineOpaque
    << RESUME                             EngineOpaque
    << RESUME x                           EngineOpaque
    << RESUME -5                          EngineOpaque
    << RESUME {"9" * 400}                 EngineOpaque
    << CACHE_SOURCE                       EngineOpaque
    << CACHE_SOURCE 1                     EngineOpaque
    << CACHE_SOURCE 1 -1                  EngineOpaque
    << PARKED x 1                         EngineOpaque
    << PARKED 1 1.5                       EngineOpaque
    << YIELDED 1                          EngineOpaque
    << BCHECKS 1                          EngineOpaque
    << BCHECKS 1 2 3,x                    EngineOpaque
    << BCHECKS 1 2 -3                     EngineOpaque
    << PP 1 2 3                           EngineOpaque
    << PP 1 2 3 nan                       EngineOpaque
    << PP 1 x 3 4                         EngineOpaque
    << T                                  EngineOpaque
    << T x                                EngineOpaque
    << T -1                               EngineOpaque
    << T 2147483648                       EngineOpaque
    << DONE                               EngineOpaque
    << DONE 1 2 3 4                       EngineOpaque
    << DONE x 2 3 4 stop                  EngineOpaque
    << DONE 1 x 3 4 stop                  EngineOpaque
    << DONE 1 2 x 4 stop                  EngineOpaque
    << DONE 1 2 3 x stop                  EngineOpaque
    << DONE 1 2 3 4 stop 0 0 x            EngineOpaque
    << BADM 1                             EngineOpaque
    << BADM 1 2                           EngineOpaque
    << BADM x 1                           EngineOpaque
    << BT 1                               EngineOpaque
    << BT x 1                             EngineOpaque
    << BT 1 x                             EngineOpaque
    << BT 1 {"9" * 400}                   EngineOpaque
    << BDONE 1 2 stop                     EngineOpaque
    << BDONE x 2 stop 3                   EngineOpaque
    << BDONE 1 -2 stop 3                  EngineOpaque
    << BDONE 1 2 stop x                   EngineOpaque
    << BTX 1 2                            EngineOpaque
    << done 1 2 3 4 stop                  EngineOpaque
    """)


@pytest.mark.parametrize(
    "raw",
    [
        b" BT 1 2\n",
        b"BT\t1 2\n",
        b"BT\n",
        b"BT \n",
        b"\n",
        b"\x00\xff\n",
        b"READY\x00 5\n",
        b"GENG1 3\n",
    ],
)
def test_other_lines_are_opaque(raw: bytes) -> None:
    assert parse_one(raw, client=False) == EngineOpaque(raw)


def test_odd_spacing_and_line_ends_are_read_over() -> None:
    raw = b"BT   3 \t 17  \r\n"
    assert parse_one(raw, client=False) == BatchToken(raw, 3, 17)


def test_info_keeps_what_it_does_not_know() -> None:
    line = parse_one(b"INFO a=1 flag  b=x=y =z a=2 \xff=\xfe\r\n", client=False)
    assert isinstance(line, Info)
    assert line.fields == {"a": "2", "b": "x=y", "": "z", "\ufffd": "\ufffd"}
    empty = parse_one(b"INFO\n", client=False)
    assert isinstance(empty, Info)
    assert empty.fields == {}


def test_error_text_is_kept_as_it_stands() -> None:
    raw = b"ERR  two  spaces \xff\r\n"
    assert parse_engine_line(raw) == EngineError(raw, " two  spaces \ufffd")


def test_what_is_no_line_is_opaque() -> None:
    assert parse_engine_line(Fragment(b"BT 1 2")) == EngineOpaque(b"BT 1 2")
    assert parse_engine_line(Frame(b"GENG1 1\nx\n")) == EngineOpaque(b"GENG1 1\nx\n")


verbs = st.sampled_from(
    [
        *[b"INFO", b"READY", b"RESUME", b"CACHE_SOURCE", b"PARKED", b"BCHECKS", b"PP", b"T"],
        *[b"DONE", b"BADM", b"BT", b"BDONE", b"YIELDED", b"ERR", b"VRAM"],
    ]
)


@untimed
@given(
    streams | st.tuples(verbs, st.binary(max_size=40)).map(lambda pair: pair[0] + b" " + pair[1])
)
def test_any_bytes_are_carried(stream: bytes) -> None:
    reader = LineReader(frames=False)
    for item in reader.feed(stream) + reader.finish():
        assert parse_engine_line(item).raw == raw_of(item)


@untimed
@given(st.integers(-5, 300), st.integers(0, 2**31 - 1))
def test_a_slots_token(slot: int, token: int) -> None:
    raw = b"BT %d %d\n" % (slot, token)
    assert parse_engine_line(raw) == BatchToken(raw, slot, token)
