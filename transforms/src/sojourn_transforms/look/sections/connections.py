"""Tables of connections: how many were counted, and the queuing delay of each data set with small-count suppression."""

from __future__ import annotations

from sojourn_process.printable import counted
from sojourn_transforms.figures import delay_cdf
from sojourn_transforms.look.content import COUNTED, DEPENDENT_CONNECTIONS, Column, Evidence, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.sections.bins import curve_of_bins, data_of
from sojourn_transforms.look.texts import short_apart
from sojourn_transforms.look.view import View

DATASETS_DRAWN = 5
#: Connections that captures show are in the section of captures.
_OTHERS = "dataset not like 'captures:%'"


def connections_sections(view: View) -> list[Section]:
    """Return the section of connections; none if no table or log has any."""
    if not view.has("connection"):
        return []
    counts = view.select(
        "select dataset, rtt_basis, sample_basis, outcome, sum(connections)::bigint as connections from "
        "{connection_count}"
        f" where {_OTHERS} group by all order by all",
        "connection_count",
    )
    section = Section("connections", "Connections")
    if not counts:
        return []
    total = sum(row["connections"] for row in counts)
    section.items.append(
        Table(
            "connection-count",
            "Connections by outcome",
            (
                Column("dataset", "data set"),
                Column("rtt_basis", "RTT basis", in_words=True),
                Column("sample_basis", "sample basis", in_words=True),
                Column("outcome", "outcome"),
                Column("connections", "connections"),
            ),
            counts[:40],
            Evidence("connections", counted(total, "connection"), COUNTED),
            f"40 of {len(counts)} rows" if len(counts) > 40 else "",
        )
    )
    bins = view.rows("connection_queuing_delay_histogram", _OTHERS)
    groups = sorted({(row["dataset"], row["rtt_basis"]) for row in bins})
    if not bins:
        section.absent.append(
            "Queuing delay of connections: none was counted, or each cell has fewer than 10 hosts and is "
            "not shown (small-count suppression)."
        )
        return [section]
    drawn_groups = groups[:DATASETS_DRAWN]
    curves = [
        curve_of_bins(
            label,
            [row for row in bins if (row["dataset"], row["rtt_basis"]) == group],
            "connections",
        )
        for label, group in zip(short_apart([", ".join(group) for group in drawn_groups]), drawn_groups, strict=True)
    ]
    section.items.append(
        drawn(
            "connection-cdf",
            "Queuing delay of connections, upper bound",
            Evidence(
                "ms",
                counted(sum(row["connections"] for row in bins), "connection") + " in cells of 10 or more hosts",
                DEPENDENT_CONNECTIONS,
            ),
            data_of(curves, "delay_ms", "share_ratio"),
            lambda axes: delay_cdf(axes, curves, "queuing delay (ms)", "cumulative share of connections"),
        )
    )
    return [section]
