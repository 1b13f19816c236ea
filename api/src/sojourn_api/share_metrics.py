"""Shares of delayed connections and hosts in the wild: what of them can be compared, and by what."""

from __future__ import annotations

from dataclasses import dataclass

_BASIS = ("dataset", "synthetic", "rtt_basis", "sample_basis")


@dataclass(frozen=True)
class ShareMetric:
    """A share above a threshold, with the clusters that its connections come in. `strata` are never pooled."""

    name: str
    dataset: str
    strata: tuple[str, ...]
    factors: tuple[str, ...]
    replication_unit: str
    description: str


SHARE_METRICS = {
    metric.name: metric
    for metric in (
        ShareMetric(
            "connection_delay_share",
            "connection_queuing_delay_as_histogram",
            _BASIS,
            ("access_technology", "country"),
            "autonomous system",
            "share of connections above a threshold, clustered by autonomous system",
        ),
        ShareMetric(
            "connection_delay_share_by_host",
            "queuing_delay_share",
            (*_BASIS, "period_kind", "period"),
            ("access_technology",),
            "host",
            "share of connections above a threshold, clustered by host",
        ),
        ShareMetric(
            "host_delay_share",
            "queuing_delay_share",
            (*_BASIS, "period_kind", "period"),
            ("access_technology",),
            "host",
            "share of hosts with a connection above a threshold",
        ),
    )
}
SHARE_FACTORS = tuple(dict.fromkeys(factor for metric in SHARE_METRICS.values() for factor in metric.factors))
