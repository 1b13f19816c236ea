"""Captures without a manifest: traffic, delay, loss and marks of each, and who is at the other end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.figures import Curve, Ranges, delay_cdf, over_time, ranges
from sojourn_transforms.look.content import (
    COUNTED,
    DEPENDENT_CONNECTIONS,
    Column,
    Evidence,
    Figure,
    Section,
    Table,
)
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.sections.bins import curve_of_bins, data_of
from sojourn_transforms.look.texts import short_apart
from sojourn_transforms.look.view import View

#: Rows of a table of flows or servers, and lines of a figure; what is left off is counted.
TOP_ROWS = 12
TOP_LINES = 5
#: Recordings with figures of their own; of further ones the tables tell.
RECORDINGS_DRAWN = 3
LOOSE = "run_id is null"
_LEGS = {"responder": "to the responder", "initiator": "to the initiator", "both": "whole path"}


def capture_sections(view: View) -> list[Section]:
    """Return the section of captures that belong to no run; none if there are none."""
    if not view.has("flow"):
        return []
    recordings = view.rows("capture_recording", LOOSE, "packets desc, recording_name, source_hash")
    if not recordings:
        return []
    section = Section("captures", "Captures")
    packets = sum(row["packets"] for row in recordings)
    flows = sum(row["flows"] for row in recordings)
    section.lead = (
        f"{counted(len(recordings), 'recording')} without a manifest: {counted(packets, 'packet')} in "
        f"{counted(flows, 'flow')}. The queuing delay of a connection is its maximum minus its minimum smoothed RTT, "
        "an upper bound. The capture point divides the path into two legs: to the responder and to the initiator."
    )
    section.items.append(_recordings(recordings))
    if packets == 0:
        section.absent.append("Delay, rates, loss and marks: no packet could be decoded.")
        return [section]
    section.items += _distributions(view, section)
    section.items += _over_time(view, section, recordings)
    section.items += _rates(view, section, recordings)
    section.items.append(_flows(view, flows))
    section.items.append(_services(view))
    section.items += _marks(view, section)
    section.items += _servers(view, section)
    return [section]


def _recordings(recordings: Sequence[Mapping[str, Any]]) -> Table:
    shown = recordings[:TOP_ROWS]
    return Table(
        "recordings",
        "Recordings",
        (
            Column("recording_name", "recording"),
            Column("link_type_name", "link type"),
            Column("duration_ms", "duration", "ms", 0),
            Column("packets", "packets"),
            Column("bytes", "bytes"),
            Column("flows", "flows"),
            Column("tcp_flows", "TCP flows"),
            Column("udp_flows", "UDP flows"),
            Column("records_refused", "records refused"),
        ),
        shown,
        Evidence("counts", counted(len(recordings), "recording"), COUNTED),
        _rest(len(recordings), len(shown), "recordings, those with the most packets first"),
    )


def _rest(all_rows: int, shown: int, what: str) -> str:
    return (
        f"{shown:,} of {all_rows:,} {what}; the other {all_rows - shown:,} are in the totals"
        if all_rows > shown
        else ""
    )


_LOOSE_DATASETS = "dataset like 'captures:%'"


def _distributions(view: View, section: Section) -> list[Figure | Table]:
    items: list[Figure | Table] = []
    delays = view.rows("capture_queuing_delay_histogram", _LOOSE_DATASETS)
    rtts = view.rows("capture_rtt_histogram", _LOOSE_DATASETS)
    if delays:
        curves = [
            curve_of_bins(_LEGS[leg], chosen, "connections", dashed=leg == "initiator")
            for leg in ("responder", "initiator")
            if (chosen := [row for row in delays if row["leg"] == leg])
        ]
        items.append(
            drawn(
                "capture-delay-cdf",
                "Queuing delay of connections, upper bound",
                Evidence(
                    "ms",
                    counted(
                        sum(row["connections"] for row in delays), "leg of a TCP connection", "legs of TCP connections"
                    )
                    + " with at least 10 RTT samples",
                    _median_interval(view),
                ),
                data_of(curves, "delay_ms", "share_ratio"),
                lambda axes: delay_cdf(axes, curves, "queuing delay (ms)", "cumulative share of connections"),
            )
        )
    else:
        section.absent.append(
            "Distribution of queuing delay: no TCP connection has 10 or more RTT samples, which the bound needs."
        )
    if rtts:
        names = {"handshake": "handshake, whole path", "smoothed": "mean smoothed"}
        curves_of_rtt = [
            curve_of_bins(
                names.get(basis, basis) if leg == "both" else f"{names.get(basis, basis)}, {_LEGS[leg]}",
                [row for row in rtts if (row["rtt_basis"], row["leg"]) == (basis, leg)],
                "connections",
                dashed=leg == "initiator",
            )
            for basis, leg in sorted(
                {(row["rtt_basis"], row["leg"]) for row in rtts}, key=lambda pair: (pair[0], pair[1] == "initiator")
            )
        ]
        items.append(
            drawn(
                "capture-rtt-cdf",
                "RTT of connections",
                Evidence("ms", ", ".join(curve.label for curve in curves_of_rtt), DEPENDENT_CONNECTIONS),
                data_of(curves_of_rtt, "rtt_ms", "share_ratio"),
                lambda axes: delay_cdf(axes, curves_of_rtt, "RTT (ms)", "cumulative share of connections"),
            )
        )
    else:
        section.absent.append("RTT: no TCP connection shows a segment with its acknowledgement, or a handshake.")
    return items


#: Connections of which the interval is computed; 2,000 resamples of more take longer than a page may.
_BOOTSTRAPPED = 20_000


def _median_interval(view: View) -> str:
    """Return the interval of the median queuing delay over clients, or why there is none."""
    rows = view.select(
        "select queuing_delay_us, client_host_key from {int_capture_leg}"
        " where queuing_delay_us is not null and leg = 'responder' and is_loose order by source_hash, flow_id",
        "int_capture_leg",
    )
    # Keys differ with the key of the pseudonyms, and the figure must not.
    numbers: dict[str | None, int] = {}
    numbered = [numbers.setdefault(row["client_host_key"], len(numbers)) for row in rows]
    if not rows:
        return "none: no leg to a responder has 10 RTT samples"
    clients = len(numbers)
    if len(rows) > _BOOTSTRAPPED:
        return f"none: {len(rows):,} connections are too many to resample here; sojourn build counts them by host"
    if clients < 10:
        return f"none: {counted(clients, 'client')}; the bootstrap of whole clients needs 10"
    # SciPy takes half a second, which a page without such an interval does not spend.
    from sojourn_statistics.intervals.cluster import cluster_bootstrap_quantile

    estimate = cluster_bootstrap_quantile([row["queuing_delay_us"] / 1000 for row in rows], numbered, 0.5, "client")
    if estimate.interval is None:
        return f"none: {estimate.interval_null_reason}"
    return (
        f"median to the responder {estimate.value:.1f} ms "
        f"[{estimate.interval.lower:.1f}, {estimate.interval.upper:.1f}], "
        f"95 %, over {counted(clients, 'client')} ({estimate.interval.method})"
    )


def _over_time(view: View, section: Section, recordings: Sequence[Mapping[str, Any]]) -> list[Figure | Table]:
    rows = view.rows("capture_delay_over_time", _LOOSE_DATASETS + " and leg in ('responder', 'both')")
    items: list[Figure | Table] = []
    for number, recording in enumerate(_drawn_recordings(recordings)):
        of_it = [
            row
            for row in rows
            if row["source_hash"] == recording["source_hash"] and row["delay_kind"] == "smoothed_rtt"
        ]
        services = _largest(of_it, "service", "connections", 3)
        if len({row["second"] for row in of_it}) < 3:
            section.absent.append(
                f"Delay over time of {recording['recording_name']}: its TCP connections with RTT started in "
                "fewer than three intervals of 10 s; the table of flows has the RTT of each."
            )
            continue
        curves = [
            Curve(
                service,
                [row["second"] for row in chosen],
                [row["median_ms"] for row in chosen],
                [row["p05_ms"] for row in chosen],
                [row["p95_ms"] for row in chosen],
            )
            for service in services
            if (chosen := sorted((row for row in of_it if row["service"] == service), key=lambda row: row["second"]))
        ]
        n = sum(row["connections"] for row in of_it if row["service"] in services)
        items.append(
            drawn(
                f"capture-delay-time-{number}",
                f"RTT over time: {recording['recording_name']}",
                Evidence(
                    "ms",
                    counted(n, "TCP connection") + ", by start time in steps of 10 s",
                    DEPENDENT_CONNECTIONS,
                ),
                [{**row, "start_date": None} for row in of_it],
                lambda axes, curves=curves: over_time(axes, curves, "RTT to the responder (ms)"),  # type: ignore[misc]
                note=(
                    "Median of connections; the band spans the 5th to the 95th percentile of connections. It "
                    "is not a confidence interval."
                ),
            )
        )
    return items


def _drawn_recordings(recordings: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return [row for row in recordings if row["packets"]][:RECORDINGS_DRAWN]


def _largest(rows: Sequence[Mapping[str, Any]], name: str, amount: str, most: int) -> list[str]:
    sums: dict[str, int] = {}
    for row in rows:
        sums[row[name]] = sums.get(row[name], 0) + row[amount]
    return sorted(sums, key=lambda key: (-sums[key], key))[:most]


def _rates(view: View, section: Section, recordings: Sequence[Mapping[str, Any]]) -> list[Figure | Table]:
    items: list[Figure | Table] = []
    for number, recording in enumerate(_drawn_recordings(recordings)):
        if recording["duration_ms"] < 2000:
            section.absent.append(
                f"Rates over time of {recording['recording_name']}: it lasts "
                f"{recording['duration_ms']:.0f} ms, and two seconds are needed."
            )
            continue
        first_second = recording["first_packet_ns"] // 1_000_000_000
        rows = view.select(
            f"""
            with top_flows as (
                select
                    source_hash, flow_id, protocol,
                    case service when 'other' then 'port ' || responder_port else service end as service,
                    row_number() over (order by fwd_bytes + rev_bytes desc, flow_id) as place
                from {{capture_flow}} where source_hash = '{recording["source_hash"]}'
            )
            select
                case when place <= {TOP_LINES} then place end as place,
                interval_start_ns // 1000000000 - {first_second} as second,
                any_value(case when place <= {TOP_LINES} then protocol || ' ' || service end) as name,
                cast(8 * sum(bytes) as double) as rate_bps
            from {{stg_lake__flow_interval}} inner join top_flows using (source_hash, flow_id)
            group by 1, 2 order by 1 nulls last, 2
            """,
            "capture_flow",
            "stg_lake__flow_interval",
        )
        last = int(recording["duration_ms"] // 1000) + 1
        curves = []
        for place in dict.fromkeys(row["place"] for row in rows):
            chosen = {row["second"]: row["rate_bps"] / 1e6 for row in rows if row["place"] == place}
            name = next((row["name"] for row in rows if row["place"] == place and row["name"]), None)
            label = f"{place}: {name}" if place else f"other {counted(recording['flows'] - TOP_LINES, 'flow')}"
            # A flow without a packet in a second sends nothing; weeks of a trickle would be a line of zeros.
            seconds = range(last + 1) if last <= 7200 else sorted(chosen)
            curves.append(Curve(label, list(seconds), [chosen.get(second, 0.0) for second in seconds]))
        items.append(
            drawn(
                f"capture-rate-{number}",
                f"Rates by flow: {recording['recording_name']}",
                Evidence(
                    "Mbit/s", f"{counted(recording['flows'], 'flow')}, both directions together, by second", COUNTED
                ),
                data_of(curves, "second", "rate_mbps"),
                lambda axes, curves=curves: over_time(axes, curves, "rate (Mbit/s)"),  # type: ignore[misc]
                note="Numbers are the ranks of flows by bytes in this recording, as in the table of flows.",
            )
        )
    left = sum(1 for row in recordings if row["packets"]) - RECORDINGS_DRAWN
    if left > 0:
        section.absent.append(f"Figures over time of {counted(left, 'more recording')}: the tables include them.")
    return items


def _flows(view: View, flows: int) -> Table:
    rows = view.select(
        f"""
        select
            recording_name, protocol, service, coalesce(server_name, '') as server_name, duration_ms,
            fwd_bytes + rev_bytes as bytes,
            8000 * cast(fwd_bytes + rev_bytes as double) / nullif(duration_ms, 0) / 1e6 as rate_mbps,
            responder_rtt_min_ms, responder_smoothed_rtt_ms, responder_rtt_max_ms, responder_queuing_delay_ms,
            responder_rtt_samples,
            100 * (coalesce(fwd_retransmitted_ratio * fwd_packets, 0)
            + coalesce(rev_retransmitted_ratio * rev_packets, 0))
            / nullif(case protocol when 'tcp' then fwd_packets + rev_packets end, 0) as retransmitted_percent,
            fwd_ecn_ce_packets + rev_ecn_ce_packets as ecn_ce_packets,
            sum(fwd_bytes + rev_bytes) over () as all_bytes
        from {{capture_flow}} where {_LOOSE_DATASETS} order by bytes desc, recording_name, flow_id limit {TOP_ROWS}
        """,
        "capture_flow",
    )
    share = sum(row["bytes"] for row in rows) / max(rows[0]["all_bytes"], 1) if rows else 0
    left = (
        f"{len(rows)} of {flows:,} flows, those with most bytes; the other {flows - len(rows):,} have "
        f"{1 - share:.1%} of the bytes"
    )
    return Table(
        "flows",
        "Flows with the most bytes",
        (
            Column("recording_name", "recording"),
            Column("protocol", "protocol"),
            Column("service", "service"),
            Column("server_name", "server"),
            Column("bytes", "bytes"),
            Column("rate_mbps", "mean rate", "Mbit/s", 2),
            Column("responder_rtt_min_ms", "min RTT", "ms", 2),
            Column("responder_smoothed_rtt_ms", "mean smoothed RTT", "ms", 2),
            Column("responder_rtt_max_ms", "max RTT", "ms", 2),
            Column("responder_rtt_samples", "RTT samples"),
            Column("responder_queuing_delay_ms", "queuing delay ≤", "ms", 2),
            Column("retransmitted_percent", "retransmitted", "%", 2),
            Column("ecn_ce_packets", "CE marks"),
        ),
        rows,
        Evidence("as in the headings", counted(len(rows), "flow"), "none: each row is one flow"),
        left if flows > len(rows) else "",
        note=(
            "RTT is to the responder; its minimum and maximum are individual samples. The bound on the queuing delay "
            "is the maximum minus the minimum of the smoothed RTT, which individual packets may exceed; it needs 10 "
            "RTT samples. Hosts are not named; servers are named by their registrable domain if a handshake shows it."
        ),
    )


def _services(view: View) -> Table:
    rows = view.rows("capture_service", _LOOSE_DATASETS, "bytes desc, protocol, service, dataset")
    for row in rows:
        for name in ("retransmitted", "out_of_order"):
            ratio = row[f"{name}_ratio"]
            row[f"{name}_percent"] = 100 * ratio if row["protocol"] == "tcp" and ratio is not None else None
    shown = rows[:TOP_ROWS]
    return Table(
        "services",
        "Loss and marks by service",
        (
            Column("protocol", "protocol"),
            Column("service", "service"),
            Column("flows", "flows"),
            Column("packets", "packets"),
            Column("bytes", "bytes"),
            Column("retransmitted_packets", "retransmitted packets"),
            Column("retransmitted_percent", "retransmitted", "%", 3),
            Column("out_of_order_percent", "out of order", "%", 3),
            Column("ecn_ce_packets", "CE marks"),
        ),
        shown,
        Evidence("packets, % of packets", counted(sum(row["packets"] for row in rows), "packet"), COUNTED),
        _rest(len(rows), len(shown), "services, those with the most bytes first"),
        note="A single capture shows retransmissions, not where a packet was lost. Only TCP has them.",
    )


def _marks(view: View, section: Section) -> list[Figure | Table]:
    if not view.has("flow_ecn"):
        section.absent.append("ECN: every packet is Not-ECT, and none has an ECN flag of TCP.")
        return []
    rows = view.select(
        f"""
        select protocol, coalesce(ecn_mode, 'not TCP or no handshake') as ecn_mode, count(*) as directions,
            sum(not_ect_packets) as not_ect_packets,
            sum(ect0_packets) as ect0_packets, sum(ect1_packets) as ect1_packets,
            sum(ce_packets) as ce_packets,
            100 * cast(sum(ce_packets) as double)
            / nullif(sum(ect0_packets + ect1_packets + ce_packets), 0) as ce_percent
        from {{capture_ecn}} where {_LOOSE_DATASETS} group by all order by all
        """,
        "capture_ecn",
    )
    if not rows:
        return []
    return [
        Table(
            "marks",
            "ECN codepoints",
            (
                Column("protocol", "protocol"),
                Column("ecn_mode", "ECN mode", in_words=True),
                Column("directions", "directions of flows"),
                Column("not_ect_packets", "Not-ECT"),
                Column("ect0_packets", "ECT(0)"),
                Column("ect1_packets", "ECT(1)"),
                Column("ce_packets", "CE"),
                Column("ce_percent", "CE share of ECN-capable", "%", 3),
            ),
            rows,
            Evidence(
                "packets",
                counted(sum(row["directions"] for row in rows), "direction of a flow", "directions of flows"),
                COUNTED,
            ),
        )
    ]


def _servers(view: View, section: Section) -> list[Figure | Table]:
    rows = view.rows(
        "capture_server_delay",
        _LOOSE_DATASETS + " and leg in ('responder', 'both')",
        "connections desc, server_name, delay_kind",
    )
    names = _largest(rows, "server_name", "connections", TOP_ROWS)
    if not [name for name in names if name != "unknown"]:
        section.absent.append("RTT by server: no TLS or QUIC handshake names a server.")
        return []
    titles = {
        "smoothed_rtt": "mean smoothed RTT",
        "queuing_delay": "queuing delay, upper bound",
        "handshake_rtt": "handshake",
    }
    labels = dict(zip(names, short_apart(names), strict=True))
    quantities = [
        Ranges(
            title,
            [labels[row["server_name"]] for row in chosen],
            [row["p05_ms"] for row in chosen],
            [row["median_ms"] for row in chosen],
            [row["p95_ms"] for row in chosen],
        )
        for kind, title in titles.items()
        if (chosen := _of_each(rows, names, kind))
    ]
    left = len({row["server_name"] for row in rows}) - len(names)
    n = sum(row["connections"] for row in rows if row["delay_kind"] == "smoothed_rtt")
    return [
        drawn(
            "capture-servers",
            "RTT by server",
            Evidence("ms", counted(n, "TCP connection") + " with an RTT", DEPENDENT_CONNECTIONS),
            rows,
            lambda axes: ranges(axes, quantities, "delay to the responder (ms)"),
            height_inches=1.1 + 0.27 * len(names),
            note="Median of connections, with the range from their 5th to their 95th percentile."
            + (f" {counted(left, 'server')} with fewer connections: not drawn." if left > 0 else ""),
        )
    ]


def _of_each(rows: Sequence[Mapping[str, Any]], names: Sequence[str], kind: str) -> list[Mapping[str, Any]]:
    """Return one row for each server: of several folders, that with most connections."""
    by_key: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["delay_kind"] == kind and row["server_name"] in names:
            by_key.setdefault(row["server_name"], row)
    return [by_key[name] for name in names if name in by_key]
