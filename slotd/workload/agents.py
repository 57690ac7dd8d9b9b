"""People with coding agents: a working day of requests, deterministic by seed.

What a day is made of, with every figure, is in `slotd.workload.figures`; here is how the figures
become requests:

- A person works in sessions.  A session is one conversation: the client's system prompt and tools,
  then rounds.  In a round the person asks, the agent calls tools seconds apart, each result making
  the transcript longer, and answers; the person reads for minutes.  A session that gets too long is
  summarised and goes on from the summary.
- Beside it run a title request when a session begins, side requests, sub-agents that end for good,
  and a safety classifier: each query is the transcript with what is new inserted before a closing
  text, so that it leaves the query before it a few dozen tokens before that one's end.
- In between come two chats in turns, and a chat whose replies are sent back without their thinking.
- The day has a lunch break.

Arrival times assume the service's published speeds; a closed-loop replay uses the gaps (`think`)
instead, so that a slower engine makes a longer day.  Prompts are runs (see `prompt`): tokens exist
only when somebody asks for them.  Nothing here does I/O or reads a clock.
"""

from __future__ import annotations

import math
import random

from attrs import Factory, define

from slotd.workload.figures import FIGURES
from slotd.workload.prompt import NOTHING, TURN, TURN_TOKEN, Prompt, text
from slotd.workload.traffic import RequestSpec, Traffic, in_order, pick

_HEADER = TURN + text(1, 2)
"""What a message begins with; alone at a prompt's end it asks for the reply."""
_AGENT_SYSTEM, _SUBAGENT_SYSTEM, _TITLE_SYSTEM, _SIDE_SYSTEM, _CLASSIFIER_SYSTEM = range(2, 7)
_CLASSIFIER_CLOSING = 7
_FIRST_FREE_STREAM = 100


@define
class _Chance:
    """Draws from the figures."""

    random: random.Random

    def draw(self, name: str) -> float:
        """Draw from a figure's range (log-normal where its unit says so)."""
        figure = FIGURES[name]
        if figure.low == figure.high:
            return figure.low
        if figure.unit.endswith("log"):
            middle = math.log(figure.low * figure.high) / 2
            spread = math.log(figure.high / figure.low) / 2
            return math.exp(self.random.gauss(middle, spread))
        return self.random.uniform(figure.low, figure.high)

    def count(self, name: str) -> int:
        """Draw a whole number >= 1."""
        return max(1, round(self.draw(name)))

    def whole(self, name: str) -> int:
        """Draw one of a range's whole numbers, each as likely."""
        figure = FIGURES[name]
        return self.random.randint(int(figure.low), int(figure.high))

    def happens(self, name: str) -> bool:
        """Tell whether something with this share happens."""
        return self.random.random() < FIGURES[name].low


@define
class _Day:
    """The requests made so far, and the numbers that are free."""

    seconds: float
    requests: list[RequestSpec] = Factory(list)
    conversations: int = 0
    streams: int = _FIRST_FREE_STREAM

    def fresh(self, count: int) -> Prompt:
        """Return a new text of `count` tokens."""
        self.streams += 1
        return text(self.streams, count)

    def begin(self) -> int:
        """Begin a conversation; return its number."""
        self.conversations += 1
        return self.conversations


@define
class _Sent:
    """A request that was made: its number, and when its reply ends at the published speeds."""

    number: int | None
    end: float


@define
class _Conversation:
    """One transcript that grows; `told` is everything up to the next message."""

    day: _Day
    kind: str
    told: Prompt
    number: int = 0
    turn: int = 0
    known: int = 0

    def __attrs_post_init__(self) -> None:
        self.number = self.day.begin()

    def hear(self, message: Prompt) -> None:
        """Add a message of somebody else: a turn of its own."""
        self.told = self.told + _HEADER + message

    def ask(self, before: _Sent, think: float, reply: Prompt, keep: Prompt | None = None) -> _Sent:
        """Send the transcript `think` seconds after `before` ended, and add the reply to it.

        `keep` is what is sent back of the reply later (None: all of it).
        """
        prompt = self.told + _HEADER
        arrival = before.end + think
        self.turn += 1
        self.day.requests.append(
            RequestSpec(
                arrival=arrival,
                conversation=self.number,
                turn=self.turn,
                after=before.number,
                prompt=prompt,
                reply=reply,
                kind=self.kind,
                think=None if before.number is None else think,
            )
        )
        length = len(prompt)
        seconds = (length - self.known) / FIGURES["read_tok_s"].low
        seconds += len(reply) / FIGURES["decode_tok_s"].low
        self.told = prompt + (reply if keep is None else keep)
        self.known = length
        return _Sent(len(self.day.requests) - 1, arrival + seconds)


@define
class _Person:
    """One person's day, made step by step; `last` is the request the next one comes after."""

    day: _Day
    chance: _Chance
    classifier: bool
    last: _Sent

    def texts(self, name: str) -> Prompt:
        """Return a new text as long as the figure says."""
        return self.day.fresh(self.chance.count(name))

    def work(self) -> None:
        """Sessions until the day is over, with lunch in between."""
        lunch = self.chance.draw("lunch_after") * 3600
        had_lunch = False
        while self.last.end < self.day.seconds:
            self.session()
            if not had_lunch and self.last.end > lunch:
                self.last.end += self.chance.draw("lunch") * 60
                had_lunch = True
            self.last.end += self.chance.draw("new_session")

    def session(self) -> None:
        """One agent session, from its title to its last answer."""
        agent = _Conversation(
            self.day, "agent", TURN + text(_AGENT_SYSTEM, FIGURES["agent_system"].whole)
        )
        agent.hear(self.texts("agent_opening"))
        guard = _Guard(self) if self.classifier else None
        self.side(_TITLE_SYSTEM, "title", "title")
        for number in range(self.chance.count("rounds")):
            think = self.chance.draw("reading" if number else "opening_wait")
            if self.last.end + think > self.day.seconds:
                return
            if number:
                agent.hear(self.texts("person_text"))
            self.round(agent, think, guard)
            if len(agent.told) > FIGURES["session_limit"].low:
                agent = self.summarised(agent)

    def round(self, agent: _Conversation, think: float, guard: _Guard | None) -> None:
        """One prompt of the person, the tool calls it leads to, and the answer."""
        steps = self.chance.count("steps")
        if self.chance.happens("side_share"):
            self.side(_SIDE_SYSTEM, "side", "side", wait=think)
        for _ in range(steps - 1):
            self.last = agent.ask(self.last, think, self.texts("step_reply"))
            if guard is not None and len(agent.told) >= FIGURES["classifier_from"].low:
                guard.check()
            think = self.chance.draw("tool_time")
            agent.hear(self.texts("tool_result"))
        if self.chance.happens("subagent_share"):
            self.subagents()
            agent.hear(self.texts("tool_result"))
        answer = self.chance.whole("answer")
        self.last = agent.ask(self.last, think, self.day.fresh(answer))

    def summarised(self, agent: _Conversation) -> _Conversation:
        """Summarise a session that got too long; it goes on from its summary."""
        agent.hear(self.texts("title_answer"))
        summary = self.texts("summary")
        self.last = agent.ask(self.last, self.chance.draw("tool_time"), summary)
        shorter = _Conversation(
            self.day, "agent", TURN + text(_AGENT_SYSTEM, FIGURES["agent_system"].whole)
        )
        shorter.hear(summary)
        return shorter

    def side(self, system: int, kind: str, length: str, wait: float = 0.0) -> None:
        """Send a short request of its own beside the session; nobody waits for it."""
        own = self.chance.whole("side_text")
        shared = FIGURES[length].whole - len(TURN) - len(_HEADER) - own - len(_HEADER)
        side = _Conversation(self.day, kind, TURN + text(system, shared))
        side.hear(self.day.fresh(own))
        side.ask(self.last, wait, self.texts("title_answer"))

    def subagents(self) -> None:
        """Sub-agents beside each other; the agent goes on when the last of them has ended."""
        begin = self.last
        ends = []
        for _ in range(self.chance.count("subagents")):
            helper = _Conversation(
                self.day,
                "subagent",
                TURN + text(_SUBAGENT_SYSTEM, FIGURES["subagent_system"].whole),
            )
            helper.hear(self.texts("person_text"))
            last = begin
            for _ in range(self.chance.count("subagent_steps")):
                think = self.chance.draw("tool_time")
                last = helper.ask(last, think, self.texts("step_reply"))
                helper.hear(self.texts("tool_result"))
            ends.append(last)
        self.last = max(ends, key=lambda sent: sent.end)

    def chats(self) -> None:
        """Two chats in turns, and chats whose thinking is not sent back, at their own times."""
        for _ in range(FIGURES["chats_a_day"].whole):
            self.last = _Sent(None, self.chance.draw("chat_begin") * self.day.seconds)
            pair = [_Conversation(self.day, "chat", TURN) for _ in range(2)]
            for chat in pair:
                chat.hear(self.texts("chat_lengths"))
            for turn in range(2 * self.chance.count("chat_turns")):
                chat = pair[turn % 2]
                if turn > 1:
                    chat.hear(self.day.fresh(FIGURES["chat_new"].whole))
                self.last = chat.ask(
                    self.last,
                    FIGURES["chat_gap"].low / 2 if turn else 0.0,
                    self.texts("chat_reply"),
                )
        for _ in range(FIGURES["thinking_chats_a_day"].whole):
            self.last = _Sent(None, self.chance.draw("chat_begin") * self.day.seconds)
            chat = _Conversation(self.day, "thinking", TURN)
            chat.hear(self.day.fresh(FIGURES["thinking_chat"].whole))
            for turn in range(self.chance.count("thinking_turns")):
                if turn:
                    chat.hear(self.texts("person_text"))
                thinking, answer = self.texts("thinking"), self.texts("chat_reply")
                think = self.chance.draw("reading") if turn else 0.0
                self.last = chat.ask(self.last, think, thinking + answer, keep=answer)


@define
class _Guard:
    """The safety classifier beside one session: its transcript, without the closing text."""

    person: _Person
    told: Prompt = NOTHING
    number: int = 0
    queries: int = 0

    def check(self) -> None:
        """Query it about a step's tool calls; the agent waits for the last answer."""
        person = self.person
        for _ in range(person.chance.count("classifier_queries")):
            transcript = FIGURES["classifier_transcript"]
            if not len(self.told) or len(self.told) > transcript.high:
                begin = TURN + text(_CLASSIFIER_SYSTEM, FIGURES["classifier_system"].whole)
                self.told = begin + person.day.fresh(transcript.whole - len(begin))
                self.number, self.queries = person.day.begin(), 0
            self.told = self.told + person.texts("classifier_growth")
            self.queries += 1
            query = _Conversation(person.day, "classifier", self.told)
            query.number, query.turn = self.number, self.queries - 1
            wait = person.chance.draw("classifier_wait")
            closing = FIGURES["classifier_closing"].whole - len(_HEADER)
            query.told = self.told + text(_CLASSIFIER_CLOSING, closing)
            query.known = len(self.told) if self.queries > 1 else 0
            person.last = query.ask(person.last, wait, person.texts("classifier_answer"))


def agent_day(
    people: int = FIGURES["people"].whole, hours: float = FIGURES["day"].low, seed: int = 1
) -> Traffic:
    """Make the traffic of a working day.

    Args:
        people: how many people work, each with an agent and chats; of them `classifier_people`
            run the safety classifier, the first included.
        hours: the day's length.
        seed: another seed is another day of the same kind.

    Raises:
        ValueError: nobody works, or the day has no hours.
    """
    if people < 1 or not 0 < hours <= 24:
        raise ValueError(
            f"a day needs 1 person or more and 0 to 24 hours, not {people} and {hours}"
        )
    day = _Day(hours * 3600)
    one_in = round(1 / FIGURES["classifier_people"].low)
    for number in range(people):
        chance = _Chance(random.Random(f"{seed} {number}"))
        begin = _Sent(None, chance.draw("day_begin"))
        person = _Person(day, chance, number % one_in == 0, begin)
        person.work()
        person.chats()
    made = Traffic("", tuple(day.requests))
    within = pick(made, (request.arrival < day.seconds for request in made.requests))
    return Traffic(f"agents-{people}p-{hours:g}h-{seed}", in_order(within.requests), TURN_TOKEN)
