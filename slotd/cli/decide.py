"""`slotd decide`: slot tables in, decisions out, one JSON object a line.

Here: reading lines and writing lines. Not here: what a table is (`slotd.policy.token_tables`) and
what is decided (`slotd.policy.decide`).
"""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import click

from slotd.policy.decide import Decider, RetentionDecider
from slotd.policy.json_fields import JsonValue, TableError
from slotd.policy.table_json import decision_to_json
from slotd.policy.token_tables import table_from_tokens


@click.command()
@click.argument("tables", metavar="[FILE]", type=click.File("rb"), default="-")
def decide(tables: BinaryIO) -> None:
    """Read slot tables, one JSON object a line, and print the decision about each.

    FILE holds the tables; without it, or with -, they are read from standard input. Every line is
    answered by one line, as soon as it is read; empty lines are skipped. A line that cannot be
    read is answered by {"error": "line N: FIELD: what is wrong"}, said on standard error too, and
    makes the exit status 1; the lines after it are still decided.

    \b
    A table:    {"now", "engine", "settings", "prompt_rate", "request", "main", "slots"}
    engine:     {"batch_slots", "batch_groups", "slot_cache", "slot_padding_safe",
                 "slot_park", "turn_token"}
    settings:   short names, such as "ttl_max_s"; those not given have their defaults
    request:    {"verb", "client_slot", "cvec", "images", "prompt"}
    main:       null or {"tokens", "last_use", "images", "cvec"}
    slots:      [{"state", "tokens", "last_use", "valid", "images", "cvec", "checkpoints"}]
    tokens, prompt: lists of token ids or [first, count] runs of consecutive ids
    A decision: {"slot", "reason", "source", "hint", "score", "park": {"slot", "reason"}}
    """  # noqa: D301 - the backspace itself is what keeps click from joining the lines
    failed = False
    for answer in answers(tables, RetentionDecider()):
        if "error" in answer:
            failed = True
            click.echo(f"slotd decide: {answer['error']}", err=True)
        # echo flushes: whoever writes a table may wait for its decision before the next.
        click.echo(json.dumps(answer))
    if failed:
        sys.exit(1)


def answers(lines: Iterable[bytes], decider: Decider) -> Iterator[dict[str, JsonValue]]:
    """Yield what is to be said about every line that is not empty, in order."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decision_to_json(decider.decide(table_from_tokens(parse_line(line))))
        except TableError as error:
            yield {"error": f"line {number}: {error}"}


def parse_line(line: bytes) -> object:
    """Read one line as JSON. Raises TableError when it is not."""
    try:
        parsed: object = json.loads(line.rstrip().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise TableError("", f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise TableError("", f"not JSON at column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise TableError("", "not a table: lists nested too deep") from None
    except ValueError:
        # The interpreter's own limit on the digits of an integer.
        raise TableError("", "holds a number with too many digits") from None
    return parsed
