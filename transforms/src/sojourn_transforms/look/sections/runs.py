"""Runs: delay, rates, drops and marks by role, and fairness and harm where two roles compete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.figures import Curve, delay_cdf, over_time
from sojourn_transforms.look.content import (
    COUNTED,
    DEPENDENT_PACKETS,
    ONE_RUN,
    Column,
    Evidence,
    Figure,
    Section,
    Table,
)
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.sections.bins import curve_of_bins, data_of
from sojourn_transforms.look.sections.configurations import configuration_items, setting
from sojourn_transforms.look.sections.findings import queue_metrics, queue_sentences, run_sentences
from sojourn_transforms.look.view import View

#: Runs with figures of their own, and runs in a table; configurations sum up all of them.
RUNS_DRAWN = 3
RUNS_SHOWN = 12
ROLES = {"app": "application", "tcp": "TCP", "rival": "rival", "other": "other"}
#: A role has one colour on every figure.
COLOURS = {"app": "C0", "tcp": "C1", "rival": "C1", "other": "C2"}
_RUN = Column("run", "run")
_ROLE = Column("role", "role", in_words=True)
#: Length of the intervals of delay over time.
_INTERVAL_MS = 100

Items = list[Figure | Table]
Run = Mapping[str, Any]


def runs_sections(view: View) -> list[Section]:
    """Return the sections of runs: their figures, and those of competition; none if there are no runs."""
    if not view.has("run", "run_source"):
        return []
    runs = sorted(view.rows("run"), key=view.run_place)
    if not runs:
        return []
    for run in runs:
        run["run"] = view.run_name(run)
    section = Section("runs", "Runs")
    studies = list(dict.fromkeys(run["study_id"] for run in runs))
    configurations = len({run["configuration_id"] for run in runs})
    section.lead = (
        f"{counted(len(runs), 'run')} of {counted(configurations, 'configuration')}, from {', '.join(studies[:4])}"
        f"{' and others' if len(studies) > 4 else ''}. Figures are over the measurement window of a run."
    )
    of_queues = queue_sentences(queue_metrics(view)) if len({run["queue_label"] for run in runs}) > 1 else []
    sentences = of_queues or run_sentences(view, runs, section.absent)
    section.lead = " ".join((*sentences, section.lead))
    section.is_answer = bool(sentences)
    section.items.append(_runs(runs))
    for number, run in enumerate(runs_to_draw(runs)):
        section.items += _figures(view, section, run, number)
    if len(runs) > RUNS_DRAWN:
        section.absent.append(
            f"Figures over time of {counted(len(runs) - RUNS_DRAWN, 'more run')}: tables and "
            "configurations include them. Give the folder of a run to see its own."
        )
    section.items += _tables(view, section, runs)
    if len(runs) > configurations:
        section.items += configuration_items(view, section)
    else:
        section.absent.append("Intervals over runs: each configuration has one run, and an interval needs several.")
    return [section, *_competition(view, section, runs)]


def runs_to_draw(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many runs as are drawn, in their order: the first of each configuration, then others."""
    firsts = {run["configuration_id"]: place for place, run in reversed(list(enumerate(runs)))}.values()
    chosen = [*sorted(firsts), *(place for place in range(len(runs)) if place not in firsts)][:RUNS_DRAWN]
    return [runs[place] for place in sorted(chosen)]


def _named(rows: Sequence[Run], runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return rows of the runs that tables show, in their order, with the name of the run."""
    places = {(run["study_id"], run["run_id"]): place for place, run in enumerate(runs[:RUNS_SHOWN])}
    chosen = [row for row in rows if (row["study_id"], row["run_id"]) in places]
    chosen.sort(key=lambda row: places[row["study_id"], row["run_id"]])
    names = {(run["study_id"], run["run_id"]): run["run"] for run in runs}
    return [
        {**row, "run": names[row["study_id"], row["run_id"]], "role": ROLES.get(row.get("role") or "", row.get("role"))}
        for row in chosen
    ]


def _left_off(runs: Sequence[Run]) -> str:
    if len(runs) <= RUNS_SHOWN:
        return ""
    return f"{RUNS_SHOWN} of {len(runs):,} runs; the others are counted in the configurations, and --parquet writes all"


def _interval(runs: Sequence[Run]) -> str:
    return ONE_RUN if len(runs) == 1 else "none: each row is one run"


def _runs(runs: Sequence[Run]) -> Table:
    rows = [
        {
            **run,
            "setting": setting(run),
            "window_s": None if run["window_ms"] is None else run["window_ms"] / 1000,
            "measured": ", ".join(name for name, column in _MEASURED.items() if run[column]) or "other files",
            "remark": run["exclusion_reason"] or run["run_flag"] or "",
        }
        for run in runs[:RUNS_SHOWN]
    ]
    return Table(
        "runs",
        "Runs",
        (
            Column("run", "run"),
            Column("setting", "configuration"),
            Column("start_order", "order", in_words=True),
            Column("window_s", "window", "s", 1),
            Column("measured", "measured by"),
            Column("reconciliation_verdict", "sources", in_words=True),
            Column("remark", "excluded or flagged because"),
        ),
        rows,
        Evidence("as in the headings", counted(len(runs), "run"), "none: a list"),
        _left_off(runs),
    )


_MEASURED = {"queue log": "has_queue_log", "captures": "has_captures", "polls of ss": "has_tcp_polls"}


def _of(run: Run) -> str:
    return " and ".join(f"{name} = '{str(run[name]).replace(chr(39), chr(39) * 2)}'" for name in ("study_id", "run_id"))


def _figures(view: View, section: Section, run: Run, number: int) -> Items:
    items: Items = []
    name = run["run"]
    items += _delay_over_time(view, run, number)
    declared = " and role in ('app', 'tcp', 'rival', 'other')"
    bins = view.rows("queuing_delay_histogram", _of(run) + declared, "role, bin_index")
    if bins:
        curves = [
            curve_of_bins(ROLES[role], [row for row in bins if row["role"] == role], "packets", colour=COLOURS[role])
            for role in ROLES
            if any(row["role"] == role for row in bins)
        ]
        items.append(
            drawn(
                f"run-cdf-{number}",
                f"Queuing delay: {name}",
                Evidence(
                    "ms",
                    counted(sum(row["packets"] for row in bins), "packet") + " dequeued in the window",
                    DEPENDENT_PACKETS,
                ),
                data_of(curves, "delay_ms", "share_ratio"),
                lambda axes: delay_cdf(axes, curves, "queuing delay (ms)", "cumulative share of packets"),
            )
        )
    seconds = view.rows("int_capture_second", _of(run), "measurement, role, second")
    if seconds:
        point = "capture_after" if any(row["measurement"] == "capture_after" for row in seconds) else "capture_before"
        rates = [
            Curve(
                ROLES.get(role, role),
                [row["second"] for row in chosen],
                [8 * row["bytes"] / 1e6 for row in chosen],
                colour=COLOURS[role],
            )
            for role in ROLES
            if (chosen := [row for row in seconds if (row["measurement"], row["role"]) == (point, role)])
        ]
        items.append(
            drawn(
                f"run-rate-{number}",
                f"Rates: {name}",
                Evidence(
                    "Mbit/s",
                    f"{len({row['second'] for row in seconds})} seconds of the capture "
                    f"{'after' if point == 'capture_after' else 'before'} the bottleneck",
                    COUNTED,
                ),
                data_of(rates, "second", "rate_mbps"),
                lambda axes: over_time(axes, rates, "rate (Mbit/s)", "time since the start of the run (s)"),
            )
        )
    if not items and not view.has("series"):
        section.absent.append(
            f"Delay and rates over time of {name}: it has no queue log, captures, or series of a tool."
        )
    return items


def _delay_over_time(view: View, run: Run, number: int) -> Items:
    rows: list[dict[str, Any]] = []
    of_what = "queue log"
    if run["has_queue_log"]:
        rows = view.select(
            f"""
            select role, interval_number * {_INTERVAL_MS / 1000} as second, count(*) as packets,
                median(sojourn_ns) / 1e6 as median_ms, max(sojourn_ns) / 1e6 as max_ms
            from (
                select role, sojourn_ns,
                    (departure_utc_ns - min(departure_utc_ns) over ()) // {_INTERVAL_MS * 1_000_000} as interval_number
                from {{int_queue_packet_with_role}}
                where {_of(run)} and fate = 'dequeued' and sojourn_ns is not null and departure_utc_ns is not null
            ) group by role, interval_number order by role, interval_number
            """,
            "int_queue_packet_with_role",
        )
    if not rows and view.has("packet_pair"):
        of_what = "pair of captures"
        rows = view.select(
            f"""
            select 'all' as role, interval_number * {_INTERVAL_MS / 1000} as second, count(*) as packets,
                median(delay_ns) / 1e6 as median_ms, max(delay_ns) / 1e6 as max_ms
            from (
                select packets.queuing_delay_ns as delay_ns,
                    (packets.before_ns - min(packets.before_ns) over ()) // {_INTERVAL_MS * 1_000_000}
                    as interval_number
                from {{stg_lake__packet_pair}} as packets
                inner join {{stg_lake__capture_pair}} as pairs on packets.source_hash = pairs.source_hash
                where {_of(run)} and packets.fate = 'delivered'
            ) group by interval_number order by interval_number
            """,
            "stg_lake__packet_pair",
            "stg_lake__capture_pair",
        )
    if not rows:
        return []
    curves = []
    for role in dict.fromkeys(row["role"] for row in rows):
        by_interval = {round(1000 * row["second"] / _INTERVAL_MS): row for row in rows if row["role"] == role}
        # An interval without a packet of the role is a gap, and no line across it.
        places = (
            range(min(by_interval), max(by_interval) + 1)
            if max(by_interval) - min(by_interval) < 100_000
            else sorted(by_interval)
        )
        median = [by_interval[place]["median_ms"] if place in by_interval else None for place in places]
        most = [by_interval[place]["max_ms"] if place in by_interval else None for place in places]
        curves.append(
            Curve(
                ROLES.get(role, "all packets"),
                [place * _INTERVAL_MS / 1000 for place in places],
                median,
                median,
                most,
                colour=COLOURS.get(role),
            )
        )
    return [
        drawn(
            f"run-delay-time-{number}",
            f"Queuing delay over time: {run['run']}",
            Evidence(
                "ms",
                counted(sum(row["packets"] for row in rows), "packet") + f" of the {of_what}",
                DEPENDENT_PACKETS,
            ),
            rows,
            lambda axes: over_time(axes, curves, "queuing delay (ms)", "time since the first packet (s)"),
            note=f"Median of each {_INTERVAL_MS} ms, over the whole recording; the band reaches the maximum.",
        )
    ]


def _tables(view: View, section: Section, runs: Sequence[Run]) -> Items:
    items: Items = []
    columns: tuple[Column, ...]
    n = counted(len(runs), "run")
    delays = _named(view.rows("run_queuing_delay", order="role"), runs)
    if delays:
        columns = (
            _RUN,
            _ROLE,
            Column("packets", "packets"),
            Column("mean_ms", "mean", "ms", 2),
            Column("median_ms", "median", "ms", 2),
            Column("p95_ms", "95 %", "ms", 2),
            Column("p99_ms", "99 %", "ms", 2),
            Column("max_ms", "max", "ms", 2),
            Column("delay_basis", "basis", in_words=True),
        )
        items.append(
            Table("run-delay", "Queuing delay", columns, delays, Evidence("ms", n, _interval(runs)), _left_off(runs))
        )
    else:
        section.absent.append("Queuing delay by packet: no run has a usable queue log or a mean stated by its study.")
    pairs = _named(view.rows("run_capture_pair_flow", order="role"), runs) if view.has("flow_pair") else []
    if pairs:
        columns = (
            _RUN,
            _ROLE,
            Column("sent_packets", "sent"),
            Column("delivered_packets", "delivered"),
            Column("dropped_packets", "dropped"),
            Column("one_way_queuing_delay_mean_ms", "mean one-way queuing delay", "ms", 2),
            Column("one_way_queuing_delay_max_ms", "max", "ms", 2),
            Column("reconciliation_verdict", "sources", in_words=True),
        )
        items.append(
            Table(
                "run-pair",
                "Pair of captures, before and after the bottleneck",
                columns,
                pairs,
                Evidence("ms, packets", n, _interval(runs)),
                _left_off(runs),
            )
        )
    rates = _named(view.rows("run_rate", order="role"), runs)
    for row in rates:
        row["rate_mbps"] = None if row["rate_bps"] is None else row["rate_bps"] / 1e6
        row["utilisation_percent"] = None if row["utilisation_ratio"] is None else 100 * row["utilisation_ratio"]
    if rates:
        columns = (
            _RUN,
            _ROLE,
            Column("rate_mbps", "rate", "Mbit/s", 3),
            Column("utilisation_percent", "of the link rate", "%", 1),
            Column("packets", "packets"),
            Column("rate_basis", "basis", in_words=True),
        )
        items.append(
            Table("run-rate", "Rates", columns, rates, Evidence("Mbit/s", n, _interval(runs)), _left_off(runs))
        )
    losses = _named(view.rows("run_flow_loss", order="role"), runs)
    for row in losses:
        row["loss_percent"] = None if row["loss_ratio"] is None else 100 * row["loss_ratio"]
    if losses:
        columns = (
            _RUN,
            _ROLE,
            Column("received_packets", "packets at the queue"),
            Column("dropped_packets", "dropped"),
            Column("dropped_overlimit_packets", "dropped, queue full"),
            Column("dropped_aqm_packets", "dropped by AQM"),
            Column("loss_percent", "dropped", "%", 3),
            Column("ecn_marked_packets", "CE marks by the queue"),
        )
        items.append(
            Table(
                "run-loss",
                "Drops and marks at the queue",
                columns,
                losses,
                Evidence("packets, %", n, _interval(runs)),
                _left_off(runs),
            )
        )
    else:
        section.absent.append("Drops and marks at the queue: no run has a usable queue log.")
    return [*items, *_rtts(view, runs), *_voice(view, section, runs)]


def _rtts(view: View, runs: Sequence[Run]) -> Items:
    captured = (
        {(row["study_id"], row["run_id"]): row for row in view.rows("run_capture_rtt")} if view.has("flow") else {}
    )
    polled = (
        {(row["study_id"], row["run_id"]): row for row in view.rows("run_smoothed_rtt")} if view.has("tcp_poll") else {}
    )
    rows = [
        {
            "run": run["run"],
            **{f"capture_{name}": value for name, value in captured.get(key, {}).items()},
            **polled.get(key, {}),
        }
        for run in runs[:RUNS_SHOWN]
        if (key := (run["study_id"], run["run_id"])) in captured or key in polled
    ]
    if not rows:
        return []
    columns = (
        _RUN,
        Column("capture_rtt_samples", "RTT samples"),
        Column("capture_rtt_min_ms", "min RTT", "ms", 2),
        Column("capture_rtt_avg_ms", "mean RTT", "ms", 2),
        Column("capture_rtt_max_ms", "max RTT", "ms", 2),
        Column("polls", "polls of ss"),
        Column("srtt_mean_ms", "mean smoothed RTT", "ms", 2),
        Column("srtt_max_ms", "max", "ms", 2),
    )
    return [
        Table(
            "run-rtt",
            "RTT of TCP: captures, and the kernel",
            columns,
            rows,
            Evidence("ms", counted(len(runs), "run"), _interval(runs)),
            _left_off(runs),
        )
    ]


def _voice(view: View, section: Section, runs: Sequence[Run]) -> Items:
    rows = _named(view.rows("run_quality", order="item, qoe_model_id"), runs)
    if not rows:
        section.absent.append("MOS: no run has an RTP stream of its application, scores of frames, or page loads.")
        return []
    for row in rows:
        row["why"] = row["score_null_reason"] or ""
    columns = (
        _RUN,
        Column("item", "item"),
        Column("qoe_model_id", "model"),
        Column("mos", "MOS", "1 to 5", 2),
        Column("quality_class", "class"),
        Column("score", "score of the model", "", 2),
        Column("queuing_delay_mean_ms", "mean queuing delay", "ms", 2),
        Column("why", "no score because"),
    )
    note = (
        "Models: g107-network is the E-model of ITU-T G.107 with G.711 and concealment; docs/quality.md "
        "describes all models."
    )
    return [
        Table(
            "run-quality",
            "Calls and other items: MOS",
            columns,
            rows,
            Evidence("MOS", counted(len(rows), "item and model", "items and models"), _interval(runs)),
            _left_off(runs),
            note,
        )
    ]


def _why_not_compared(view: View) -> str:
    reason = "Flow-rate equality and harm: no run has rates of two roles, or of exactly two TCP flows."
    if view.has("series") and any(row["jain_index"] is not None for row in view.rows("run_load_rate")):
        reason += " Jain's index of more flows is in the table of their rates."
    return reason


def _competition(view: View, of_runs: Section, runs: Sequence[Run]) -> list[Section]:
    section = Section("competition", "Fairness and harm")
    equal = _named(view.rows("run_flow_rate_equality"), runs)
    if not equal:
        of_runs.absent.append(_why_not_compared(view))
        return []
    section.lead = (
        "Flow-rate equality is 0 if both get the same bytes, 1 if the application (or the first of two TCP "
        "flows) gets all, -1 if the other gets all. Harm is what a role "
        "loses to competition, relative to its solo runs; negative harm is a gain."
    )
    columns: tuple[Column, ...] = (
        _RUN,
        Column("flow_rate_equality", "flow-rate equality", "-1 to 1", 3),
        Column("jain_index", "Jain's index", "0.5 to 1", 3),
        Column("app_bytes", "bytes of the application"),
        Column("tcp_bytes", "bytes of TCP"),
        Column("rival_bytes", "bytes of the rival"),
        Column("rate_basis", "basis", in_words=True),
    )
    n = counted(len(equal), "shared run")
    section.items.append(
        Table(
            "equality",
            "How the link was shared",
            columns,
            equal,
            Evidence("ratio", n, _interval(runs)),
            _left_off(runs),
        )
    )
    harms = _named(view.rows("run_metric_harm", order="role, harm_metric"), runs)
    columns = (
        _RUN,
        _ROLE,
        Column("harm_metric", "harm by", in_words=True),
        Column("harm_ratio", "harm", "ratio", 3),
        Column("performance", "performance", "", 3),
        Column("demand", "demand", "", 3),
        Column("metric_unit", "unit"),
        Column("demand_runs", "solo runs"),
        Column("harm_null_reason", "no harm because"),
    )
    if harms:
        section.items.append(
            Table("harm", "Harm", columns, harms, Evidence("ratio", n, _interval(runs)), _left_off(runs))
        )
    if not any(row["harm_ratio"] is not None for row in harms):
        section.absent.append(
            "Harm: no solo runs of the same configuration are among the files; give their folders too."
        )
    return [section]
