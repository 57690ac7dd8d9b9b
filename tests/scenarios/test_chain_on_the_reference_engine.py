"""The classifier chain on the reference engine, a real process behind `slotd run`.

The six rows of the checkpoints' document as the engine's own ledger has them; see
`test_classifier_chain` for what they mean.
"""

from pathlib import Path

import pytest

from protocol.tokens import TokenIds
from slotd.sim.serve_requests import ServeSettings
from slotd.sim.token_model import HashModel
from tests.clients.levels import ACTIVE_ROWS, CHECKPOINTS, GROUPS, clean_environment
from tests.clients.process import open_client
from tests.clients.reference import LedgerRow, engine_command, read_ledger
from tests.clients.slotd import alarms, behind_slotd, read_log
from tests.scenarios.chain import CHAIN, SHORT_ANSWER, Scene
from tests.scenarios.conversations import Conversation

ENGINE = (*GROUPS, "--read-tok-s", "0", "--step-ms", "1", "--ckpt-every", "16384")
NO_YIELDS = ServeSettings(long_read=100_000)
"""No read is so long that it gives way: each query is one row of the ledger."""

WITHOUT = [row.without for row in CHAIN]
WITH = [row.with_checkpoints for row in CHAIN]


async def play(folder: Path, variables: dict[str, str], beside: bool) -> list[LedgerRow]:
    """Play the chain with the agent's turns in between; return the queries' ledger rows."""
    log, ledger = folder / "slotd.log", folder / "ledger.jsonl"
    command = behind_slotd(engine_command(*ENGINE, "--ledger", str(ledger)), log)
    environment = clean_environment() | ACTIVE_ROWS | variables
    scene, model = Scene(seed=2843), HashModel()
    async with open_client(command, environment, NO_YIELDS) as client:

        async def ask(prompt: TokenIds, answer: int) -> tuple[int, ...]:
            reply = await client.generate(prompt.tolist(), answer)
            assert list(reply) == model.reply(prompt, answer)
            return reply

        other = Conversation(scene.writer).say(300)
        stream = client.begin(other.tolist(), 200_000) if beside else None
        if stream is not None:
            await stream.tokens(1)
        for number, row in enumerate(CHAIN):
            if number:
                scene.agent.say(600)
            scene.agent.hear(await ask(scene.agent.told, 30))
            await ask(scene.classifier.query(row.tokens), SHORT_ANSWER)
        if stream is not None:
            stream.cancel()
            await client.idle()
    assert alarms(read_log(log)) == []
    lengths = [row.tokens for row in CHAIN]
    return [row for row in read_ledger(ledger) if row.prompt in lengths]


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a client"])
@pytest.mark.parametrize(
    ("variables", "rows"), [({}, WITHOUT), (CHECKPOINTS, WITH)], ids=["without", "with"]
)
async def test_six_rows(
    variables: dict[str, str], rows: list[tuple[int, int]], beside: bool, tmp_path: Path
) -> None:
    queries = await play(tmp_path, variables, beside)
    assert [(query.resumed, query.prompt - query.resumed) for query in queries] == rows
    # Those beside a client run in slots, and each in that of the query before it.
    assert len({query.slot for query in queries}) == 1
