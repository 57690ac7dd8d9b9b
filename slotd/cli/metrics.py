"""`slotd metrics`: a running slotd's figures for Prometheus, printed once or served.

Here: the command and its HTTP server, in a process of their own: whatever is asked of it, the relay
is only ever asked for a status. Not here: the metrics (`slotd.eyes.metrics`, which needs the extra
`metrics`).
"""

import signal
from collections.abc import Mapping
from functools import partial

import click

from slotd.cli.control import Failed, control_option, extra_missing
from slotd.eyes.ask import NoAnswerError, ask
from slotd.eyes.loopback import Address, NotLoopbackError, loopback_address


def _loopback(
    _ctx: click.Context, _parameter: click.Parameter, given: str | None
) -> Address | None:
    try:
        return None if given is None else loopback_address(given)
    except NotLoopbackError as refusal:
        raise click.BadParameter(str(refusal)) from None


@click.command()
@control_option
@click.option(
    "--listen",
    metavar="127.0.0.1:PORT",
    callback=_loopback,
    help="Serve them over HTTP at this address, on loopback only, until told to end.",
)
def metrics(control: str, listen: Address | None) -> None:
    """Print a running slotd's metrics in Prometheus' text format.

    With --listen they are served instead, for a Prometheus on this machine; while slotd does not
    answer, slotd_up is 0.
    """
    try:
        from slotd.eyes.metrics import metrics_text
    except ImportError as missing:
        raise extra_missing("metrics", missing) from None
    if listen is not None:
        _serve(listen, control)
        return
    try:
        status: Mapping[str, object] = ask(control)
    except NoAnswerError as error:
        raise Failed(str(error)) from None
    click.echo(metrics_text(status), nl=False)


def _serve(address: Address, control: str) -> None:
    from prometheus_client import start_http_server

    from slotd.eyes.metrics import registry

    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before there are threads that could take them
    try:
        server, thread = start_http_server(
            address.port, address.host, registry(partial(ask, control))
        )
    except OSError as error:
        raise Failed(
            f"{address}: cannot be listened on: {error.strerror}: give another port"
        ) from None
    click.echo(f"slotd metrics: http://{address.host}:{server.server_port}/metrics", err=True)
    signal.sigwait(ends)
    server.shutdown()
    server.server_close()
    thread.join()
