"""A status object as Prometheus metrics, by its official client library.

Here: which metrics there are, and their names. Not here: asking for the status, and serving.
Needs the extra `metrics`.

Counters begin anew when an engine starts, as what slotd believes does; Prometheus' `rate()` and
`increase()` take that into account.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from slotd.eyes.ask import NoAnswerError
from slotd.eyes.part import Part

Ask = Callable[[], Mapping[str, object]]
"""Returns a status; raises NoAnswerError."""

ENGINE_STATES = ("loading", "serving", "stopped", "waiting")
SLOT_STATES = ("idle", "reading", "decoding", "yielded", "reserved", "parking")
"""Given even when no slot is in one, so that a graph has no gaps."""


def metrics_text(status: Mapping[str, object]) -> str:
    """Return the metrics of `status` in Prometheus' text format."""
    return generate_latest(registry(lambda: status)).decode()


def registry(ask: Ask) -> CollectorRegistry:
    """Return a registry that asks for a status whenever it is read."""
    made = CollectorRegistry(auto_describe=False)
    made.register(StatusCollector(ask))
    return made


class StatusCollector(Collector):
    """Makes the metrics of the status of the moment."""

    def __init__(self, ask: Ask) -> None:
        """Ask `ask` at every collection; while there is no answer, only `slotd_up` is given."""
        self._ask = ask

    def describe(self) -> Iterable[Metric]:
        """Name nothing in advance: nobody is asked before somebody collects."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        try:
            status = Part(self._ask())
        except NoAnswerError:
            yield _gauge("slotd_up", "Whether slotd answers.", 0)
            return
        yield _gauge("slotd_up", "Whether slotd answers.", 1)
        yield from _of_slotd(status)
        yield from _of_requests(status.part("counters"))
        yield from _of_slots(status.parts("slots"))
        yield from _of_main(status)
        yield _latency(status.part("latency"))


def _of_slotd(status: Part) -> Iterator[Metric]:
    slotd, engine, settings = status.part("slotd"), status.part("engine"), status.part("settings")
    yield InfoMetricFamily(
        "slotd",
        "What runs.",
        {
            "version": slotd.text("version", ""),
            "mode": slotd.text("mode", ""),
            "policy": settings.text("policy_name", settings.text("policy", "")),
            "park": settings.text("park", ""),
            "engine": engine.part("capabilities").text("engine", ""),
        },
    )
    yield _gauge("slotd_uptime_seconds", "Since slotd started.", slotd.number("uptime_s") or 0)
    state = engine.text("state", "stopped")
    yield _by(
        GaugeMetricFamily("slotd_engine_state", "1 for the state it is in.", labels=["state"]),
        {name: float(name == state) for name in (*ENGINE_STATES, state)},
    )
    yield CounterMetricFamily(
        "slotd_engine_starts", "How often it was started.", engine.whole("starts")
    )
    attached = status.part("client").is_set("attached")
    yield _gauge("slotd_client_attached", "Whether a serve process is attached.", float(attached))


def _of_requests(counters: Part) -> Iterator[Metric]:
    events = counters.part("events")
    yield CounterMetricFamily("slotd_requests", "Requests seen.", counters.whole("requests"))
    yield _by(
        CounterMetricFamily(
            "slotd_prompt_tokens",
            "Tokens of prompts: reused from what a slot held, or read by the engine.",
            labels=["how"],
        ),
        {
            "reused": float(counters.whole("reused_tokens")),
            "read": float(counters.whole("read_tokens")),
        },
    )
    yield _by(
        CounterMetricFamily("slotd_placements", "By the rule that decided.", labels=["reason"]),
        dict(counters.part("placements").numbers()),
    )
    yield _by(
        CounterMetricFamily(
            "slotd_parks",
            "Main sessions that were to be parked: parked, failed, or why they were not.",
            labels=["outcome"],
        ),
        dict(counters.part("parks").numbers()),
    )
    yield _by(
        CounterMetricFamily("slotd_events", "Events logged, by name.", labels=["event"]),
        dict(events.numbers()),
    )
    yield CounterMetricFamily(
        "slotd_errors", "Refused requests and failures inside slotd.", events.whole("error")
    )
    yield CounterMetricFamily(
        "slotd_drifts",
        "Times the engine contradicted what slotd believed.",
        events.whole("drift"),
    )


def _of_slots(slots: list[Part]) -> Iterator[Metric]:
    states = [slot.text("state") for slot in slots]
    yield _by(
        GaugeMetricFamily("slotd_slots", "How many are in each state.", labels=["state"]),
        {state: float(states.count(state)) for state in (*SLOT_STATES, *states)},
    )
    for name, field, meaning in (
        ("slotd_slot_tokens", "tokens", "Length of the history a slot holds."),
        ("slotd_slot_value", "value", "What that history is worth, from 0 to 1."),
        ("slotd_slot_age_seconds", "age", "Since its last use."),
        ("slotd_slot_protection_seconds", "ttl_left", "For which it is still protected."),
    ):
        yield _by(
            GaugeMetricFamily(name, meaning, labels=["slot"]),
            {slot.text("slot"): slot.number(field) or 0.0 for slot in slots},
        )


def _of_main(status: Part) -> Iterator[Metric]:
    main = status.part("main")
    yield _gauge(
        "slotd_main_tokens", "Length of what the main session holds.", main.whole("tokens")
    )
    yield _gauge("slotd_main_value", "What that is worth.", main.number("value") or 0.0)


def _latency(latency: Part) -> Metric:
    buckets = list(latency.part("buckets").numbers()) or [("+Inf", 0.0)]
    return HistogramMetricFamily(
        "slotd_added_latency_seconds",
        "From when slotd read a piece of either side's output to when it had written it on.",
        buckets=buckets,
        sum_value=latency.number("sum_s") or 0.0,
    )


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value)


def _by(
    family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, float]
) -> CounterMetricFamily | GaugeMetricFamily:
    """Give `family` a sample for every label's value."""
    for label, value in values.items():
        family.add_metric([label], value)
    return family
