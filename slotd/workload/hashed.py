"""From block hashes to a `Traffic`: what public traces and slotd's own records have in common.

A prompt is known as a list of block ids; equal ids at the same place after equal ids mean equal
tokens, and the last, partly filled block has an id of its own.  From that alone follow:

- **Blocks.**  Every distinct block after a distinct beginning is one node of a tree, and one text.
- **Continuations.**  A request continues an earlier one when its blocks begin with all of that
  one's full blocks and it is longer than that one's prompt and reply together; the one that shares
  the most counts, then the latest.  One that shares them but is shorter (a reply sent back without
  its thinking) continues it too, where nothing else fits, but does not hold its reply.
- **Preambles.**  A block that many different texts follow (`PREAMBLE_FANOUT`) ends a system
  prompt: sharing it and what is before it makes no conversation.  Where the trace names its chats,
  the names count instead.
- **Conversations.**  A request belongs to the conversation that brought its deepest shared block.
- **The last block.**  Its tokens go on in the continuing request's block at the same place, which
  has another id: that block's text begins with them.
- **Replies.**  The reply of a continued request is what follows its prompt in the first request
  that holds it whole; any other reply is a text of its own, which no later prompt holds.

Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, field, frozen

from slotd.workload.prompt import TURN_STREAM, TURN_TOKEN, Prompt, text
from slotd.workload.traffic import RequestSpec, Traffic, in_order

PREAMBLE_FANOUT: Final = 32
"""A block with at least so many different blocks after it is a system prompt (assumption; the
conversation trace has one block with 7,373 and none other with more than 11)."""

REPLY_STREAMS: Final = 1 << 40
"""Replies that no later prompt holds are streams from this number on."""


@frozen
class HashedRequest:
    """One request of a trace: seconds, tokens, block ids (None: only the full blocks have one).

    `chat` and `parent_chat` are the trace's own names where it has them.  `last_turn` is the length
    up to the prompt's last turn token, and `end` the time the reply ended, where they are known.
    """

    arrival: float
    prompt_length: int
    output_length: int
    blocks: tuple[int | str, ...]
    kind: str = "chat"
    chat: int | str | None = None
    parent_chat: int | str | None = None
    last_turn: int | None = None
    end: float | None = None


@define
class _Tree:
    """The tree of blocks: node numbers by (node before, id), and who brought each node first."""

    block_tokens: int
    children: dict[tuple[int, int | str], int] = field(factory=dict)
    brought_by: list[int] = field(factory=list)
    fanout: list[int] = field(factory=list)
    heads: dict[int, tuple[int, int]] = field(factory=dict)
    turns: dict[int, set[int]] = field(factory=dict)

    def insert(self, request: int, hashed: HashedRequest) -> list[int]:
        """Return the nodes of a prompt, one a block; new ones are brought by `request`."""
        nodes: list[int] = []
        before = -1
        for block in hashed.blocks:
            before = self._child(before, block, request)
            nodes.append(before)
        if len(nodes) * self.block_tokens < hashed.prompt_length:
            nodes.append(self._child(before, f"tail of {request}", request))
        return nodes

    def _child(self, before: int, block: int | str, request: int) -> int:
        node = self.children.get((before, block))
        if node is None:
            node = len(self.brought_by)
            self.children[(before, block)] = node
            self.brought_by.append(request)
            self.fanout.append(0)
            if before >= 0:
                self.fanout[before] += 1
        return node

    def begins_with(self, node: int, other: int, count: int) -> None:
        """Say that the first `count` tokens of `node` are those of `other`, an older node."""
        if node not in self.heads and self.brought_by[other] < self.brought_by[node]:
            self.heads[node] = (other, count)

    def place(self, node: int, offset: int) -> tuple[int, int]:
        """Return the node whose own text has what stands at `offset` of `node`."""
        while node in self.heads and offset < self.heads[node][1]:
            node = self.heads[node][0]
        return node, offset

    def runs(self, node: int, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return tokens `start` to `end` of a node's text as runs."""
        out: list[tuple[int, int, int]] = []
        if node in self.heads:
            other, count = self.heads[node]
            if start < count:
                out += self.runs(other, start, min(end, count))
                start = count
        for turn in sorted(self.turns.get(node, ())):
            if start <= turn < end:
                out += [(node, start, turn - start), (TURN_STREAM, 0, 1)]
                start = turn + 1
        if start < end:
            out.append((node, start, end - start))
        return out


@define
class _Links:
    """What is known of each request: its nodes, the request it continues, its conversation."""

    nodes: list[list[int]]
    parents: list[int | None]
    conversations: list[int]


def _by_chat(requests: Sequence[HashedRequest]) -> tuple[list[int | None], list[int]]:
    """Parents and conversations by the trace's own names."""
    latest: dict[int | str, int] = {}
    parents: list[int | None] = []
    conversations: list[int] = []
    for number, hashed in enumerate(requests):
        parent = None if hashed.parent_chat is None else latest.get(hashed.parent_chat)
        parents.append(parent)
        conversations.append(number if parent is None else conversations[parent])
        if hashed.chat is not None:
            latest[hashed.chat] = number
    return parents, conversations


def _preamble(path: Sequence[int], tree: _Tree, fanout: int) -> int:
    """Return how many of a prompt's blocks are system prompt: up to the last with such a fanout."""
    return max((at + 1 for at, node in enumerate(path) if tree.fanout[node] >= fanout), default=0)


def _by_blocks(
    requests: Sequence[HashedRequest], nodes: list[list[int]], tree: _Tree, fanout: int
) -> tuple[list[int | None], list[int]]:
    """Parents and conversations by shared blocks (the rules are in the module's docstring)."""
    ends_at: dict[int, list[int]] = {}
    parents: list[int | None] = []
    conversations: list[int] = []
    for number, hashed in enumerate(requests):
        path = nodes[number]
        shared = 0
        while shared < len(path) and tree.brought_by[path[shared]] < number:
            shared += 1
        preamble = _preamble(path, tree, fanout)
        parent: int | None = None
        trimmed: int | None = None
        for node in reversed(path[preamble:shared]):
            for earlier in reversed(ends_at.get(node, [])):
                before = requests[earlier]
                if before.prompt_length + before.output_length < hashed.prompt_length:
                    parent = earlier
                    break
                if trimmed is None and before.prompt_length < hashed.prompt_length:
                    trimmed = earlier
            if parent is not None:
                break
        parents.append(trimmed if parent is None else parent)
        own = shared <= preamble
        conversations.append(number if own else conversations[tree.brought_by[path[shared - 1]]])
        full = hashed.prompt_length // tree.block_tokens
        if full:
            ends_at.setdefault(path[full - 1], []).append(number)
    return parents, conversations


def _link_texts(requests: Sequence[HashedRequest], links: _Links, tree: _Tree) -> None:
    """Let continuing blocks begin with the partly filled ones they continue; place the turns."""
    for number, parent in enumerate(links.parents):
        if parent is None:
            continue
        length = requests[parent].prompt_length
        full, rest = divmod(length, tree.block_tokens)
        mine, theirs = links.nodes[number], links.nodes[parent]
        if rest and length < requests[number].prompt_length and mine[:full] == theirs[:full]:
            tree.begins_with(mine[full], theirs[full], rest)
    for number, hashed in enumerate(requests):
        if hashed.last_turn is not None:
            block, offset = divmod(hashed.last_turn, tree.block_tokens)
            node, offset = tree.place(links.nodes[number][block], offset)
            tree.turns.setdefault(node, set()).add(offset)


def _prompt(hashed: HashedRequest, nodes: list[int], tree: _Tree) -> Prompt:
    size = tree.block_tokens
    runs: list[tuple[int, int, int]] = []
    for place, node in enumerate(nodes):
        runs += tree.runs(node, 0, min(size, hashed.prompt_length - place * size))
    return Prompt(runs)


def _replies(
    requests: Sequence[HashedRequest], parents: list[int | None], prompts: list[Prompt]
) -> list[Prompt]:
    replies: list[Prompt | None] = [None] * len(requests)
    for number, parent in enumerate(parents):
        if parent is None or replies[parent] is not None:
            continue
        before, prompt = prompts[parent], prompts[number]
        end = len(before) + requests[parent].output_length
        if end < len(prompt) and prompt.shared(before) == len(before):
            replies[parent] = prompt.part(len(before), end)
    return [
        text(REPLY_STREAMS + number, requests[number].output_length) if reply is None else reply
        for number, reply in enumerate(replies)
    ]


def traffic_from_hashes(
    name: str,
    requests: Iterable[HashedRequest],
    block_tokens: int,
    *,
    turn_token: int = TURN_TOKEN,
    preamble_fanout: int = PREAMBLE_FANOUT,
) -> Traffic:
    """Make the traffic of requests known by blocks of `block_tokens` tokens.

    `requests` may come in any order; they are linked in the order of their arrival.
    """
    ordered = sorted(requests, key=lambda hashed: hashed.arrival)
    tree = _Tree(block_tokens)
    nodes = [tree.insert(number, hashed) for number, hashed in enumerate(ordered)]
    if any(hashed.chat is not None for hashed in ordered):
        parents, conversations = _by_chat(ordered)
    else:
        parents, conversations = _by_blocks(ordered, nodes, tree, preamble_fanout)
    links = _Links(nodes, parents, conversations)
    _link_texts(ordered, links, tree)
    prompts = [_prompt(hashed, path, tree) for hashed, path in zip(ordered, nodes, strict=True)]
    replies = _replies(ordered, parents, prompts)
    turns: list[int] = []
    specs: list[RequestSpec] = []
    begin = ordered[0].arrival if ordered else 0.0
    for number, hashed in enumerate(ordered):
        parent = parents[number]
        turns.append(1 if parent is None else turns[parent] + 1)
        ended = None if parent is None else ordered[parent].end
        specs.append(
            RequestSpec(
                arrival=hashed.arrival - begin,
                conversation=conversations[number],
                turn=turns[number],
                after=parent,
                prompt=prompts[number],
                reply=replies[number],
                kind=hashed.kind,
                think=None if ended is None else max(0.0, hashed.arrival - ended),
            )
        )
    return Traffic(name, in_order(specs), turn_token)
