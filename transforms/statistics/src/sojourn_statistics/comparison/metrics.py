"""What can be compared, and by what: metrics with one value for each run, and factors of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ComparisonMetric:
    """A quantity with one value for each run.

    `strata` are columns of the mart that distinguish kinds of the quantity, such as its role: never pooled.
    """

    name: str
    dataset: str
    column: str
    unit: str | None
    role: str | None
    basis: str | None
    description: str

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns that distinguish kinds of the quantity."""
        return tuple(column for column in (self.role, self.basis) if column is not None)


def _delay(name: str, column: str, description: str) -> ComparisonMetric:
    return ComparisonMetric(name, "run_queuing_delay", column, "ms", "role", "delay_basis", description)


METRICS = {
    metric.name: metric
    for metric in (
        _delay("queuing_delay_mean", "mean_ms", "mean queuing delay of the packets of a run"),
        _delay("queuing_delay_median", "median_ms", "median queuing delay of the packets of a run"),
        _delay("queuing_delay_p95", "p95_ms", "95th percentile of the queuing delay of the packets of a run"),
        ComparisonMetric("harm", "run_harm", "harm_ratio", "ratio", "role", "harm_metric", "harm by the other flows"),
        ComparisonMetric(
            "rate", "run_rate", "rate_bps", "bit/s", "role", "rate_basis", "rate of the flows of a role in the window"
        ),
        ComparisonMetric(
            "incumbent_share",
            "run_phase",
            "incumbent_share_ratio",
            "ratio",
            "incumbent_role",
            "run_phase",
            "share of the role that started first, while both are active",
        ),
        ComparisonMetric(
            "flow_rate_equality",
            "run_flow_rate_equality",
            "flow_rate_equality",
            None,
            None,
            None,
            "flow-rate equality of the application and what competes with it",
        ),
        ComparisonMetric(
            "app_link_share",
            "run_flow_rate_equality",
            "app_link_share_ratio",
            "ratio",
            None,
            None,
            "link share of the application",
        ),
        ComparisonMetric(
            "drop", "run_packet_drop", "drop_ratio", "ratio", "role", "drop_basis", "share of packets dropped"
        ),
        ComparisonMetric(
            "loaded_delay_median",
            "run_load_delay",
            "loaded_median_ms",
            "ms",
            "role",
            "delay_basis",
            "median delay under load that a measurement tool saw",
        ),
        ComparisonMetric(
            "loaded_delay_p95",
            "run_load_delay",
            "loaded_p95_ms",
            "ms",
            "role",
            "delay_basis",
            "95th percentile of the delay under load that a measurement tool saw",
        ),
        ComparisonMetric(
            "load_delay_increase",
            "run_load_delay",
            "median_increase_ms",
            "ms",
            "role",
            "delay_basis",
            "median delay under load minus the one before it",
        ),
        ComparisonMetric(
            "load_rate",
            "run_load_rate",
            "rate_bps",
            "bit/s",
            "role",
            "rate_basis",
            "sum of the flows' rates that a measurement tool saw",
        ),
        ComparisonMetric(
            "media_rate",
            "run_streaming",
            "media_rate_mean_bps",
            "bit/s",
            None,
            None,
            "mean media rate of the segments of adaptive streaming",
        ),
        ComparisonMetric(
            "stalled",
            "run_streaming",
            "stalled_ratio",
            "ratio",
            None,
            None,
            "share of the time for which adaptive streaming stalled",
        ),
        ComparisonMetric("qoe_score", "harm_qoe", "qoe_score", None, None, "qoe_metric", "quality score, by metric"),
        ComparisonMetric("mos", "run_mos", "mos", None, None, "qoe_model_id", "mean opinion score, by model"),
    )
}

_OF_FEW_STUDIES = (
    "testbed",
    "queue_scheme",
    "congested_direction",
    "opposite_link",
    "participants",
    "call_view",
    "ecn",
    "l4s",
    "aqm_parameters",
    "bandwidth_programme",
)

CONFIGURATION = (
    "study_id",
    "workload",
    "direction",
    "bandwidth_bps",
    "rtt_ms",
    "aqm",
    "queue_size_bdp",
    "queue_size_bytes",
    "queue_limit_packets",
    "queue_label",
    "congestion_control",
    "application",
    "rival_application",
    "start_order",
    *_OF_FEW_STUDIES,
)
"""What must be equal between two runs for them to have one configuration."""

OF_RUN = ("aqm_parameters", "bandwidth_programme")
"""Parts of a configuration that of the marts of runs only `run` has."""

OPTIONAL_PARTS = ("rival_application", "queue_limit_packets", *_OF_FEW_STUDIES)
"""Parts of a configuration that most studies do not have."""

QUEUE_SIZE = ("queue_size_bdp", "queue_size_bytes", "queue_limit_packets")


def selected_runs(columns: Sequence[str], dataset: str, run: str, where: str = "") -> str:
    """Return the statement that selects columns of a mart of runs, with what only the mart `run` has (`OF_RUN`).

    `columns` are columns or expressions with a name, study_id and run_id among them; `dataset` and `run` are the names
    of the two marts, and `where` a clause of the first.
    """
    chosen = f"select {', '.join(columns)} from {dataset} {where}"
    described = f"select study_id, run_id, {', '.join(OF_RUN)} from {run}"
    return f"select * from ({chosen}) as chosen left join ({described}) as described using (study_id, run_id)"


@dataclass(frozen=True)
class Factor:
    """What configurations are compared by.

    `determines` are the parts of a configuration that follow from it, and so may differ with it. `loose` are
    parts that must be equal only if both configurations have one.
    """

    name: str
    determines: tuple[str, ...]
    loose: tuple[str, ...] = ()


FACTORS = {
    factor.name: factor
    for factor in (
        # CoDel and FQ-CoDel often run with the default limit of their queue, which is not a size in BDP: they compare
        # with each size of a tail-drop queue.
        Factor("aqm", ("aqm", "queue_label", "aqm_parameters"), QUEUE_SIZE),
        Factor("queue_label", ("aqm", "queue_label", "queue_scheme", "aqm_parameters", *QUEUE_SIZE)),
        Factor("queue_size_bdp", ("queue_label", "queue_scheme", *QUEUE_SIZE)),
        Factor("queue_limit_packets", ("queue_label", "queue_scheme", *QUEUE_SIZE)),
        # A queue of the same size in BDP has other bytes at another rate or RTT.
        Factor("bandwidth_bps", ("bandwidth_bps", "queue_size_bytes")),
        Factor("rtt_ms", ("rtt_ms", "queue_size_bytes")),
        Factor("congestion_control", ("congestion_control",)),
        Factor("application", ("application",)),
        Factor("rival_application", ("rival_application",)),
        Factor("start_order", ("start_order",)),
        Factor("direction", ("direction",)),
        Factor("workload", ("workload",)),
        # Another set-up has its own rates and queues only if the study says so: all else must be equal.
        Factor("testbed", ("testbed",)),
        Factor("queue_scheme", ("queue_scheme", "queue_label", *QUEUE_SIZE)),
        # The background traffic is what fills a direction.
        Factor("congested_direction", ("congested_direction", "workload")),
        Factor("opposite_link", ("opposite_link",)),
        Factor("participants", ("participants",)),
        Factor("call_view", ("call_view",)),
        Factor("ecn", ("ecn",)),
        Factor("l4s", ("l4s",)),
        Factor("aqm_parameters", ("aqm_parameters",)),
        # A rate that changes within the run is not one rate.
        Factor("bandwidth_programme", ("bandwidth_programme", "bandwidth_bps", "queue_size_bytes")),
    )
}
