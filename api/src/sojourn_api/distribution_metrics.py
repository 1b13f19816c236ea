"""The metrics that have histograms, and the datasets that hold their counts."""

from __future__ import annotations

from dataclasses import dataclass

HISTOGRAM_COLUMNS = frozenset({"bin_index", "bin_lower_us", "bin_upper_us", "packets", "connections", "hosts"})
"""What a histogram consists of; all other columns say what it is of."""


@dataclass(frozen=True)
class Metric:
    """A quantity with histogram datasets.

    Rows that differ in one of `always` measure differently, or of something else: they are never pooled, so these
    columns are part of every group. `datasets` hold the same counts at several grains: the one with the fewest rows
    that has all columns of a request answers it. `otherwise` is asked for columns that none of them has.

    `replicates` is what intervals are over, the finest first: a unit, and the columns that tell its replicates apart.
    Without such columns each value that is counted is a replicate.
    """

    name: str
    description: str
    quantity: str
    count: str
    datasets: tuple[str, ...]
    always: tuple[str, ...]
    otherwise: tuple[str, ...] = ()
    replicates: tuple[tuple[str, tuple[str, ...]], ...] = ()


_BY_DAY = ("day", ("start_date",))
_BY_MONTH = ("month", ("start_month",))
_OF_CONNECTIONS = ("dataset", "synthetic", "rtt_basis", "sample_basis")

METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "queuing_delay",
            "queuing delay of packets of runs",
            "queuing_delay",
            "packets",
            ("queuing_delay_histogram",),
            ("delay_basis",),
            replicates=(("run", ("study_id", "run_id")),),
        ),
        Metric(
            "connection_queuing_delay",
            "queuing delay of connections in the wild: maximum minus minimum RTT",
            "queuing_delay",
            "connections",
            (
                "connection_queuing_delay_histogram",
                "connection_queuing_delay_month_histogram",
                "connection_queuing_delay_month_technology_histogram",
                "connection_queuing_delay_month_country_histogram",
                "connection_queuing_delay_day_technology_histogram",
                "connection_queuing_delay_day_country_histogram",
            ),
            ("is_upper_bound", *_OF_CONNECTIONS),
            ("connection_queuing_delay_as_histogram", "connection_queuing_delay_day_hour_histogram"),
            (_BY_DAY, _BY_MONTH),
        ),
        Metric(
            "host_maximum_queuing_delay",
            "largest queuing delay of each host in the wild in a period",
            "queuing_delay",
            "hosts",
            ("host_maximum_queuing_delay_histogram",),
            ("is_upper_bound", *_OF_CONNECTIONS, "period_kind", "period"),
            ("host_maximum_queuing_delay_as_histogram",),
            replicates=(("host", ()),),
        ),
        Metric(
            "rtt",
            "RTT of connections in the wild",
            "rtt",
            "connections",
            ("rtt_histogram", "connection_rtt_histogram"),
            (*_OF_CONNECTIONS, "rtt_statistic"),
            ("connection_rtt_as_histogram",),
            (_BY_DAY, _BY_MONTH),
        ),
        Metric(
            "capture_queuing_delay",
            "queuing delay of TCP connections in captures: maximum minus minimum smoothed RTT",
            "queuing_delay",
            "connections",
            ("capture_queuing_delay_histogram",),
            ("is_upper_bound", "dataset", "leg"),
            replicates=(_BY_DAY,),
        ),
        Metric(
            "capture_rtt",
            "RTT of TCP connections in captures",
            "rtt",
            "connections",
            ("capture_rtt_histogram",),
            ("dataset", "leg", "rtt_basis"),
            replicates=(_BY_DAY,),
        ),
    )
}


REPLICATION_UNITS = tuple(dict.fromkeys(unit for metric in METRICS.values() for unit, _ in metric.replicates))


def histogram_counts() -> dict[str, str]:
    """Return the column of counts of each dataset of histograms."""
    return {name: metric.count for metric in METRICS.values() for name in (*metric.datasets, *metric.otherwise)}
