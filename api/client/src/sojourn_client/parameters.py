"""What can be asked, as types; and Python values as the query string that the API takes.

The names are those of the API's OpenAPI document, which a test compares with these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Value = str | int | float | bool
Filter = Value | Sequence[Value]
"""Value of a filter; a sequence keeps rows with any of its values."""
Names = str | Sequence[str]
"""Names of columns or other words, as a sequence or comma-separated."""
Numbers = str | float | Sequence[float]
"""Numbers, as a sequence or comma-separated."""
Query = list[tuple[str, str]]

Excluded = Literal["leave_out", "include"]
UnknownValues = Literal["refuse", "allow"]
Escape = Literal["formulas"]
DistributionMetric = Literal[
    "queuing_delay",
    "connection_queuing_delay",
    "host_maximum_queuing_delay",
    "rtt",
    "capture_queuing_delay",
    "capture_rtt",
]
OutcomeMetric = Literal[
    "queuing_delay",
    "connection_queuing_delay",
    "rtt",
    "capture_queuing_delay",
    "added_delay",
    "responsiveness",
    "qoo",
    "iqb",
    "aim",
]
ReplicationUnit = Literal["run", "day", "month", "host"]
Statistic = Literal["quantiles", "cdf", "pdf", "thresholds"]
BinsPerOctave = Literal[1, 2, 4, 8, 16, 32, 64]
ComparedMetric = Literal[
    "queuing_delay_mean",
    "queuing_delay_median",
    "queuing_delay_p95",
    "harm",
    "rate",
    "incumbent_share",
    "flow_rate_equality",
    "app_link_share",
    "drop",
    "loaded_delay_median",
    "loaded_delay_p95",
    "load_delay_increase",
    "load_rate",
    "media_rate",
    "stalled",
    "qoe_score",
    "mos",
    "connection_delay_share",
    "connection_delay_share_by_host",
    "host_delay_share",
]
Factor = Literal[
    "aqm",
    "queue_label",
    "queue_size_bdp",
    "queue_limit_packets",
    "bandwidth_bps",
    "rtt_ms",
    "congestion_control",
    "application",
    "rival_application",
    "start_order",
    "direction",
    "workload",
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
    "access_technology",
    "country",
]
Analysis = Literal["shift", "quantiles", "distributions", "groups", "modes"]
Correction = Literal["holm", "benjamini_hochberg"]
Effect = Literal["difference", "ratio"]

LISTS = frozenset(("select", "group", "aggregate", "order", "quantiles", "thresholds_ms", "percentiles"))
"""Parameters whose values the API takes comma-separated; a list for any other name is a filter on any of its values."""


def _text(name: str, value: Value | None) -> str:
    if value is None:
        raise TypeError(f"{name} is None: ask for nulls with {name}__null=True")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def query_of(filters: Mapping[str, Filter], /, **parameters: Names | Numbers | None) -> Query:
    """Return parameters as names and texts; those that are None are not sent.

    Raises
    ------
    TypeError
        For a filter of None, which no filter compares with.
    """
    set_parameters = {name: value for name, value in parameters.items() if value is not None}
    items: Query = []
    for name, value in (*set_parameters.items(), *filters.items()):
        values = [value] if isinstance(value, str | int | float) or value is None else list(value)
        texts = [_text(name, one) for one in values]
        if name in LISTS:
            items.append((name, ",".join(texts)))
        else:
            items += [(name, text) for text in texts]
    return items
