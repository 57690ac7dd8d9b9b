import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import (
    ClientOpaque,
    Fragment,
    Frame,
    Generate,
    GrammarFrame,
    LineReader,
    Stop,
    parse_client_line,
    raw_of,
)
from tests.protocol.strategies import streams, untimed
from tests.protocol.transcript import check, parse_one


def generate(raw: bytes) -> Generate:
    line = parse_one(raw, client=True)
    assert isinstance(line, Generate)
    return line


def test_every_line_of_a_client() -> None:
    check("""
    >> GEN 64 1,2,3                    Generate verb='GEN' slot=None max_new=64 ids=[1,2,3]
    >> GEN 64 1,2,3                    Generate keys=() file=None cvec=1 ckpt=True
    >> GEN 64 1,2,3                    Generate images=False batch=False
    >> GEN 64 cvec=0 ckpt=0 7          Generate keys=((b'cvec',b'0'),(b'ckpt',b'0')) ids=[7]
    >> GEN 64 cvec=0 ckpt=0 7          Generate cvec=0 ckpt=False
    >> GEN 1 x= =y a=b=c 5             Generate keys=((b'x',b''),(b'',b'y'),(b'a',b'b=c')) ids=[5]
    >> GENI 8 seed=1 img.bin 4,5       Generate verb='GENI' max_new=8 file=b'img.bin' ids=[4,5]
    >> GENI 8 seed=1 img.bin 4,5       Generate images=True batch=False
    >> BGEN 3 200 park=1 slot=3 9,8    Generate verb='BGEN' slot=3 max_new=200 ids=[9,8]
    >> BGEN 3 200 park=1 slot=3 9,8    Generate batch=True images=False
    >> BGEN -1 0 9                     Generate slot=-1 max_new=0 ids=[9] batch=True
    >> BGENI 0 5 cvec=2 a/b.bin 1      Generate verb='BGENI' slot=0 file=b'a/b.bin' ids=[1]
    >> BGENI 0 5 cvec=2 a/b.bin 1      Generate cvec=2 images=True batch=True
    >> STOP                            Stop
    >> BSTOP 2                         BatchStop slot=2
    >> BSTOP -1                        BatchStop slot=-1
    >> BYIELD 5                        BatchYield slot=5
    >> VRAM                            Exchange verb='VRAM'
    >> VRAM 512                        Exchange verb='VRAM'
    >> RELEASE                         Exchange verb='RELEASE'
    >> REFILL                          Exchange verb='REFILL'
    >> SAVE /a path/with spaces        Exchange verb='SAVE'
    >> RESTORE /a                      Exchange verb='RESTORE'
    >> CHECKG root                     Exchange verb='CHECKG'
    >> QUIT                            Quit
    >> HELLO 1                         ClientOpaque
    """)


def test_fields_after_the_expected_ones_are_carried() -> None:
    check("""
    >> GEN 64 1,2,3 more x=y           Generate ids=[1,2,3] keys=()
    >> BSTOP 2 now                     BatchStop slot=2
    >> BYIELD 5 x                      BatchYield slot=5
    """)


def test_known_verbs_with_bad_fields_are_opaque() -> None:
    check(f"""
    >> GEN                     ClientOpaque
    >> GEN 5                   ClientOpaque
    >> GEN x 1,2               ClientOpaque
    >> GEN 1.5 1,2             ClientOpaque
    >> GEN +5 1,2              ClientOpaque
    >> GEN {"9" * 400} 1,2     ClientOpaque
    >> GEN 5 a=b               ClientOpaque
    >> GEN 5 1,,2              ClientOpaque
    >> GEN 5 ,1                ClientOpaque
    >> GEN 5 1,2,              ClientOpaque
    >> GEN 5 1, 2              ClientOpaque
    >> GEN 5 -1                ClientOpaque
    >> GEN 5 1,2147483648      ClientOpaque
    >> GEN 5 1,{"9" * 400}     ClientOpaque
    >> GEN 5 one               ClientOpaque
    >> GEN 5 cvec=x 1          ClientOpaque
    >> GEN 5 cvec= 1           ClientOpaque
    >> GENI 5 1,2              ClientOpaque
    >> BGEN 5 1,2              ClientOpaque
    >> BGEN x 5 1,2            ClientOpaque
    >> BGEN 1 x 1,2            ClientOpaque
    >> BGENI 1 5 1,2           ClientOpaque
    >> STOP now                ClientOpaque
    >> BSTOP                   ClientOpaque
    >> BSTOP x                 ClientOpaque
    >> BYIELD                  ClientOpaque
    >> BYIELD 1x               ClientOpaque
    >> gen 5 1,2               ClientOpaque
    """)


@pytest.mark.parametrize(
    "raw",
    [
        b" GEN 5 1,2\n",
        b" STOP\n",
        b"STOP \n",
        b"STOP\r\r\n",
        b"BGEN\t1 5 1,2\n",
        b"\n",
        b"\x00GEN 5 1,2\n",
        b"GEN 5 1,2\x00\n",
        b"\xff\xfe\n",
        b"GENG1 9000\n",
        b"G" * 1000 + b"\n",
    ],
)
def test_what_the_engine_would_not_know_is_opaque(raw: bytes) -> None:
    assert parse_one(raw, client=True) == ClientOpaque(raw)


def test_odd_spacing_and_line_ends_are_read_over() -> None:
    line = generate(b"BGEN   3 \t 200\x0b park=1   1,2,3 \r\n")
    assert (line.slot, line.max_new, line.keys) == (3, 200, ((b"park", b"1"),))
    assert line.ids.tolist() == [1, 2, 3]
    assert parse_one(b"STOP\r\n", client=True) == Stop(b"STOP\r\n")


def test_frames_and_fragments() -> None:
    frame, fragment = Frame(b"GENG1 4\nSTOP\n"), Fragment(b"GEN 5 1,2")
    assert parse_client_line(frame) == GrammarFrame(frame.raw)
    assert parse_client_line(fragment) == ClientOpaque(fragment.raw)


def test_a_repeated_key_counts_by_its_last_value() -> None:
    line = generate(b"GEN 5 cvec=0 park=1 cvec=2 park=3 1\n")
    assert line.cvec == 2
    assert line.key(b"park") == b"3"
    assert line.key(b"slot") is None


def test_a_printed_request_shows_no_prompt() -> None:
    assert "4242" not in repr(generate(b"GEN 5 4242,4243\n"))


def test_ids_cannot_be_written_to() -> None:
    assert not generate(b"GEN 5 1,2\n").ids.flags.writeable


def test_a_prompt_of_262144_tokens() -> None:
    raw = b"BGEN 3 200 seed=1 " + b"248319," * 262_143 + b"1\n"
    line = generate(raw)
    assert len(line.ids) == 262_144
    assert line.rewritten(12, {b"slot": b"12"}) == raw.replace(
        b"BGEN 3 200 seed=1 ", b"BGEN 12 200 seed=1 slot=12 "
    )


@pytest.mark.parametrize(
    ("raw", "slot", "set_keys", "written"),
    [
        (b"BGEN 3 9 1,2\n", 5, {}, b"BGEN 5 9 1,2\n"),
        (b"BGEN 3 9 1,2\n", None, {}, b"BGEN 3 9 1,2\n"),
        (b"BGEN 3 9 1,2\n", 5, {b"slot": b"5"}, b"BGEN 5 9 slot=5 1,2\n"),
        (b"GEN 9 1,2\n", 5, {b"park": b"0"}, b"GEN 9 park=0 1,2\n"),
        (b"GEN 9 park=4 1,2\n", None, {b"park": b"10"}, b"GEN 9 park=10 1,2\n"),
        (b"GEN 9 park=4 1,2\n", None, {b"park": None}, b"GEN 9 1,2\n"),
        (b"GEN 9 1,2\n", None, {b"park": None}, b"GEN 9 1,2\n"),
        (b"GEN 9 a=1 park=4 b=2 1,2\n", None, {b"park": b"5"}, b"GEN 9 a=1 park=5 b=2 1,2\n"),
        (b"GEN 9 a=1 b=2 1\n", None, {b"y": b"7", b"x": b""}, b"GEN 9 a=1 b=2 y=7 x= 1\n"),
        (b"GEN 9 p=1 a=2 p=3 1\n", None, {b"p": b"4"}, b"GEN 9 p=4 a=2 p=4 1\n"),
        (b"GEN 9 p=1 a=2 p=3 1\n", None, {b"p": None}, b"GEN 9 a=2 1\n"),
        (b"BGENI 3  9\tp=1   f.bin  1\r\n", 0, {b"s": b"0"}, b"BGENI 0  9\tp=1 s=0   f.bin  1\r\n"),
        (b"BGEN 3 9 a=\xff 1 slot=7\n", 1, {b"slot": b"1"}, b"BGEN 1 9 a=\xff slot=1 1 slot=7\n"),
        (b"GEN 9 1", None, {b"park": b"2"}, b"GEN 9 park=2 1"),
    ],
)
def test_rewritten(
    raw: bytes, slot: int | None, set_keys: dict[bytes, bytes | None], written: bytes
) -> None:
    line = parse_client_line(raw)
    assert isinstance(line, Generate)
    assert line.rewritten(slot, set_keys) == written


@pytest.mark.parametrize(
    ("name", "value"), [(b"a=b", b"1"), (b"a b", b"1"), (b"a", b"1 2"), (b"a", b"1\n")]
)
def test_rewritten_refuses_what_is_not_one_field(name: bytes, value: bytes) -> None:
    with pytest.raises(ValueError, match="a key is one field"):
        generate(b"GEN 5 1\n").rewritten(None, {name: value})


names = st.sampled_from([b"park", b"slot", b"cvec", b"seed", b"x"])
values = st.sampled_from([b"0", b"1", b"25"])
blanks = st.sampled_from([b" ", b" ", b"  ", b"\t", b" \x0b "])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    verb = draw(st.sampled_from([b"GEN", b"GENI", b"BGEN", b"BGENI"]))
    fields = [draw(values)] if verb.startswith(b"B") else []
    fields.append(draw(values))
    fields += [b"%s=%s" % pair for pair in draw(st.lists(st.tuples(names, values), max_size=5))]
    if verb.endswith(b"I"):
        fields.append(draw(st.sampled_from([b"a.bin", b"\xff", b"1,2"])))
    fields += [draw(st.sampled_from([b"7", b"1,2,3"])), *draw(st.sampled_from([[], [b"more"]]))]
    first, *rest = fields
    text = verb + b" " + first + b"".join(draw(blanks) + field for field in rest)
    return text + draw(st.sampled_from([b"\n", b"\r\n", b" \n"]))


def rewritten_field_by_field(
    raw: bytes, slot: int | None, set_keys: dict[bytes, bytes | None]
) -> bytes:
    """The same rewriting, on a list of [whitespace, field, whitespace, field, ..., end]."""
    pieces = re.split(rb"(\S+)", raw)
    units = [(pieces[at], pieces[at + 1]) for at in range(0, len(pieces) - 1, 2)]
    plain = 3 if raw.startswith(b"B") else 2
    end = plain
    while b"=" in units[end][1]:
        end += 1
    present = {field.partition(b"=")[0] for _, field in units[plain:end]}
    changed = units[:plain]
    if plain == 3 and slot is not None:
        changed[1] = (units[1][0], str(slot).encode())
    for blank, field in units[plain:end]:
        name = field.partition(b"=")[0]
        value = set_keys.get(name, field.partition(b"=")[2])
        if value is not None:
            changed.append((blank, name + b"=" + value))
    changed += [
        (b" ", name + b"=" + value)
        for name, value in set_keys.items()
        if name not in present and value is not None
    ]
    return b"".join(blank + field for blank, field in changed + units[end:]) + pieces[-1]


@untimed
@given(
    requests(),
    st.none() | st.integers(0, 12),
    st.dictionaries(names, st.none() | values, max_size=3),
)
def test_rewritten_changes_nothing_else(
    raw: bytes, slot: int | None, set_keys: dict[bytes, bytes | None]
) -> None:
    line = generate(raw)
    written = line.rewritten(slot, set_keys)
    assert written == rewritten_field_by_field(raw, slot, set_keys)
    again = generate(written)
    assert again.slot == (slot if line.batch and slot is not None else line.slot)
    assert (again.max_new, again.file, again.ids.tolist()) == (
        line.max_new,
        line.file,
        line.ids.tolist(),
    )
    assert all(again.key(name) == value for name, value in set_keys.items())


@untimed
@given(requests())
def test_rewriting_nothing_is_the_line(raw: bytes) -> None:
    line = generate(raw)
    assert line.raw == raw
    assert line.rewritten(None, {}) == raw


@untimed
@given(streams | st.binary(max_size=40).map(lambda tail: b"BGEN 1 5 " + tail))
def test_any_bytes_are_carried(stream: bytes) -> None:
    reader = LineReader(frames=True)
    for item in reader.feed(stream) + reader.finish():
        assert parse_client_line(item).raw == raw_of(item)
