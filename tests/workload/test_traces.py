import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from slotd.workload.fields import TraceError
from slotd.workload.hashed import HashedRequest, traffic_from_hashes
from slotd.workload.prompt import Prompt
from slotd.workload.traces import bailian, mooncake, read_trace
from slotd.workload.traffic import RequestSpec, Traffic, between, thin
from tests.paths import SHARED

TRACE = SHARED / "traces" / "mooncake_conversation.jsonl"


def row(at_ms: int, tokens: int, out: int, *blocks: int) -> str:
    return json.dumps(
        {"timestamp": at_ms, "input_length": tokens, "output_length": out, "hash_ids": blocks}
    )


def history(request: RequestSpec) -> Prompt:
    whole = request.prompt + request.reply
    return whole.part(0, len(whole) - 1)


def continues(traffic: Traffic, later: int, earlier: int) -> bool:
    held = history(traffic.requests[earlier])
    return traffic.requests[later].prompt.shared(held) == len(held)


TURNS = [
    row(0, 1000, 100, 0, 1),
    row(10_000, 1300, 50, 0, 2, 3),
    row(20_000, 1400, 10, 0, 2, 4),
]


def test_a_later_turn_goes_on_exactly_where_the_earlier_one_ended() -> None:
    # The first block is everybody's only in real traces; with three requests it makes a
    # conversation, and each turn is longer than the one before it with its reply.
    traffic = mooncake(TURNS)
    assert [request.after for request in traffic.requests] == [None, 0, 1]
    assert [request.turn for request in traffic.requests] == [1, 2, 3]
    assert continues(traffic, 1, 0)
    assert continues(traffic, 2, 1)
    assert len(set(traffic.conversations)) == 1


def test_the_partly_filled_block_is_the_start_of_the_block_that_takes_its_place() -> None:
    first, second, _ = mooncake(TURNS).requests
    assert np.array_equal(second.prompt.tokens()[:1000], first.prompt.tokens())
    assert np.array_equal(second.prompt.tokens()[1000:1100], first.reply.tokens())


def test_a_reply_nobody_continues_is_a_text_of_its_own() -> None:
    traffic = mooncake(TURNS)
    last = traffic.requests[2]
    assert last.output_length == 10
    assert not any(request.prompt.shared(last.reply) for request in traffic.requests)


def test_two_requests_that_share_only_a_preamble_are_two_conversations() -> None:
    lines = [row(number, 1024, 5, 7, 100 + number) for number in range(40)]
    traffic = mooncake(lines)
    assert len(set(traffic.conversations)) == 40
    assert all(request.after is None for request in traffic.requests)
    shared = traffic.requests[0].prompt.shared(traffic.requests[1].prompt)
    assert shared == 512


def test_all_of_a_long_preamble_makes_no_conversation() -> None:
    system = tuple(f"system {place}" for place in range(6))
    requests = [
        HashedRequest(
            float(chat), 448 + 64 * turn, 5, (*system, *(f"{chat} {at}" for at in range(1 + turn)))
        )
        for turn in range(2)
        for chat in range(10)
    ]
    traffic = traffic_from_hashes("t", requests, 64, preamble_fanout=8)
    assert len(traffic.conversations) == 10
    assert sum(request.after is not None for request in traffic.requests) == 10


def test_a_prompt_too_short_to_hold_the_reply_continues_but_does_not_hold_it() -> None:
    traffic = mooncake([row(0, 1100, 600, 1, 2, 3), row(1000, 1200, 5, 1, 2, 4)])
    assert traffic.requests[1].after == 0
    assert not continues(traffic, 1, 0)
    assert traffic.requests[1].prompt.shared(traffic.requests[0].prompt) == 1100


def test_bailian_chats_are_linked_by_their_names() -> None:
    def chat(number: int, parent: int, at: float, tokens: int, turn: int, *ids: int) -> str:
        return json.dumps(
            {
                "chat_id": number,
                "parent_chat_id": parent,
                "timestamp": at,
                "type": "text",
                "turn": turn,
                "input_length": tokens,
                "output_length": 4,
                "hash_ids": ids,
            }
        )

    traffic = bailian(
        [
            chat(5, -1, 0.5, 20, 1, 1, 2),
            chat(6, -1, 1.0, 20, 1, 1, 3),
            chat(7, 5, 9.0, 40, 2, 1, 4, 5),
        ]
    )
    assert [request.after for request in traffic.requests] == [None, None, 0]
    assert [request.turn for request in traffic.requests] == [1, 1, 2]
    assert continues(traffic, 2, 0)
    assert traffic.requests[0].conversation == traffic.requests[2].conversation
    assert traffic.requests[0].kind == "text"


def test_last_turns_and_ends_come_into_the_traffic() -> None:
    traffic = traffic_from_hashes(
        "t",
        [
            HashedRequest(0.0, 100, 10, ("a", "b"), last_turn=97, end=4.0),
            HashedRequest(9.0, 140, 10, ("a", "c", "d"), last_turn=137),
        ],
        64,
    )
    first, second = traffic.requests
    assert first.prompt.last_turn() == 97
    assert second.think == 5.0
    assert np.array_equal(second.prompt.tokens()[:100], first.prompt.tokens())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: not a JSON object"),
        (row(0, 0, 5), "line 2: input_length is 0"),
        (row(0, 600, 5, 1), "line 2: hash_ids has 1 ids"),
        (row(0, 600, -1, 1, 2), "line 2: output_length is -1"),
        ('{"timestamp": "x", "input_length": 5}', "line 2: timestamp is 'x'"),
        ('{"timestamp": 0, "input_length": 5, "output_length": 1}', "line 2: hash_ids"),
        ("[" * 100_000, "line 2: not JSON (nested too deep)"),
        ("9" * 5_000, "line 2: not JSON"),
        (row(0, 600, 1 << 31, 1, 2), "line 2: output_length is 2147483648"),
        (row(0, 600, 5, 1, 2).replace(": 0", ": NaN", 1), "line 2: timestamp is nan"),
        (row(0, 600, 5, 1, 2).replace(": 0", ": Infinity", 1), "line 2: timestamp is inf"),
    ],
)
def test_a_malformed_line_is_named_with_its_field(line: str, says: str) -> None:
    with pytest.raises(TraceError, match=r"t\.jsonl") as caught:
        mooncake([TURNS[0], line], "t.jsonl")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


BAILIAN = (
    '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0, "type": "text", "turn": 1,'
    ' "input_length": 40, "output_length": 4, "hash_ids": [1, 2, 3]}\n'
)


@pytest.mark.parametrize("before", ["", "\n\n", "\ufeff"])
def test_a_format_is_told_by_the_first_line_that_is_not_blank(before: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(before + BAILIAN, encoding="utf-8")
    (request,) = read_trace(path).requests
    assert request.kind == "text"


def test_a_line_without_its_chat_is_not_taken_for_the_other_format(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(BAILIAN.replace('"chat_id": 1, ', ""))
    with pytest.raises(TraceError, match="chat_id is missing"):
        read_trace(path)


def test_a_compressed_file_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(BAILIAN.encode()))
    with pytest.raises(TraceError, match="has to be unpacked first"):
        read_trace(path)


def test_a_file_that_is_not_there_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl")


def test_thinning_keeps_whole_conversations_and_depends_on_the_seed() -> None:
    lines = [
        line
        for number in range(50)
        for line in (
            row(number * 100, 1024, 5, 7, 2 * number + 100),
            row(number * 100 + 50, 2048, 5, 7, 2 * number + 100, 1000 + number, 2000 + number),
        )
    ]
    traffic = mooncake(lines)
    thinned = thin(traffic, 0.2, 3)
    assert len(thinned.conversations) == 10
    assert len(thinned.requests) == 20
    assert thin(traffic, 0.2, 3) == thinned
    assert thin(traffic, 0.2, 4) != thinned
    for number, request in enumerate(thinned.requests):
        if request.after is not None:
            assert request.after < number
            assert thinned.requests[request.after].conversation == request.conversation
    with pytest.raises(ValueError, match="share"):
        thin(traffic, 0, 1)


def test_a_span_of_time_forgets_what_came_before_it() -> None:
    later = between(mooncake(TURNS), 5, 15)
    assert len(later.requests) == 1
    assert later.requests[0].after is None


def test_the_public_trace_holds_what_was_counted_in_it() -> None:
    traffic = read_trace(TRACE)
    assert len(traffic.requests) == 12_031
    assert len(traffic.conversations) == 7_373
    exact = [
        number
        for number, request in enumerate(traffic.requests)
        if request.after is not None and continues(traffic, number, request.after)
    ]
    assert len(exact) > 3_500
    assert len(traffic.requests[0].prompt.tokens()) == 6_758
