"""Results of measurement tools: delay before and under load, rates, and what load adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.figures import Curve, delay_cdf, over_time
from sojourn_transforms.look.content import Column, Evidence, Figure, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.sections.bins import curve_of_values, data_of
from sojourn_transforms.look.sections.runs import RUNS_DRAWN, runs_to_draw
from sojourn_transforms.look.texts import in_words, short, short_apart
from sojourn_transforms.look.view import View

ROWS_SHOWN = 24
LINES = 5
_DELAYS = "series_metric in ('rtt_ms', 'srtt_ms', 'one_way_delay_ms')"
_INTERVAL = "none: samples of one run are not independent replicates"

Items = list[Figure | Table]


def tools_sections(view: View) -> list[Section]:
    """Return the section of tools; none if no file has series."""
    if not view.has("series"):
        return []
    section = Section("tools", "Measurement tools")
    runs = view.select(
        "select study_id, run_id, string_agg(distinct measurement, ', ' order by measurement) as tools, "
        "count(*) as samples,"
        " count(distinct phase) filter (where phase = 'idle') > 0 as has_idle,"
        " count(distinct phase) filter (where phase = 'loaded') > 0 as has_load"
        " from {int_run_series_value} group by all order by all",
        "int_run_series_value",
    )
    configurations = {(run["study_id"], run["run_id"]): run for run in view.rows("run")}
    runs = [configurations.get((run["study_id"], run["run_id"]), {"configuration_id": None}) | run for run in runs]
    runs.sort(key=view.run_place)
    if not runs:
        section.absent.append("Figures of tools: none of their files belongs to a run.")
        return [section]
    section.lead = (
        f"{counted(len(runs), 'run')} with {counted(sum(run['samples'] for run in runs), 'sample')} of "
        "tools. Loaded means from the first to the last moment at which a bulk flow moved data; idle is before that."
    )
    for run in runs:
        run["run"] = view.run_name(run)
    section.items += _cdf(view, section, runs)
    for number, run in enumerate(runs_to_draw(runs)):
        section.items += _over_time(view, run, number)
    if len(runs) > RUNS_DRAWN:
        section.absent.append(
            f"Figures over time of {counted(len(runs) - RUNS_DRAWN, 'more run')}: the tables include them."
        )
    section.items += _tables(view, section)
    return [section]


def _of(run: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} = '{str(run[name]).replace(chr(39), chr(39) * 2)}'" for name in ("study_id", "run_id"))


def _cdf(view: View, section: Section, runs: Sequence[dict[str, Any]]) -> Items:
    """Return the distribution of delays: idle and loaded of each run and basis, as many as fit."""
    rows = delay_rows(view)
    apart = view.rows("run_load_delay", where="delay_null_reason is not null")
    if apart:
        section.absent.append(
            "Distribution of delay over the series of "
            f"{counted(len(apart), 'run or basis', 'runs or bases')}: their hosts are at different distances, "
            "so only the delay added by load can be compared."
        )
    if not rows:
        if not apart:
            section.absent.append("Distribution of delay: no tool measured a delay.")
        return []
    if not any(row["phase"] == "idle" for row in rows):
        section.absent.append("Idle delay: no tool measured a delay before the load began, or no load was seen.")
    several = len(runs) > 1
    if several:
        basis = _basis_to_compare(rows)
        to_draw = {(run["study_id"], run["run_id"]) for run in runs_to_draw(runs)}
        chosen = [row for row in rows if row["delay_basis"] == basis and (row["study_id"], row["run_id"]) in to_draw]
        # The runs that are drawn may have no delay of the basis that most have.
        shown = (chosen or [row for row in rows if row["delay_basis"] == basis])[: 2 * RUNS_DRAWN]
    else:
        shown = rows[:LINES]
    left = len(rows) - len(shown)
    named = {
        (row["study_id"], row["run_id"]) if several else row["delay_basis"]: view.run_name(row)
        if several
        else in_words(row["delay_basis"])
        for row in shown
    }
    labels = dict(zip(named, short_apart(list(named.values()), 24), strict=True))
    curves = [
        curve_of_values(
            f"{labels[(row['study_id'], row['run_id']) if several else row['delay_basis']]}, {row['phase']}",
            row["delays"],
            dashed=row["phase"] == "idle",
        )
        for row in shown
    ]
    title = "Delay, idle and loaded" + (f": {in_words(basis)}" if several else "")
    return [
        drawn(
            "tool-cdf",
            title,
            Evidence("ms", counted(sum(len(row["delays"]) for row in shown), "sample"), _INTERVAL),
            data_of(curves, "delay_ms", "share_ratio"),
            lambda axes: delay_cdf(axes, curves, "delay (ms)", "cumulative share of samples"),
            height_inches=2.6 + 0.14 * len(curves),
            note=f"{counted(left, 'more distribution')} of other runs or bases: not drawn." if left else "",
        )
    ]


def delay_rows(view: View) -> list[dict[str, Any]]:
    """Return the delays of each run, basis and phase in the order of the runs; without a load all are one phase."""
    rows = view.select(
        """
        select study_id, run_id, delay_basis, phase, list(value order by value) as delays
        from {int_run_load_sample} inner join {run_load_delay} using (study_id, run_id, role, delay_basis)
        where value is not null and delay_null_reason is null
        group by all
        """,
        "int_run_load_sample",
        "run_load_delay",
    )
    if not rows and not view.rows("run_load_delay"):
        rows = view.select(
            f"""
            select study_id, run_id, measurement || '_' || series_metric || '_' || sample_basis as delay_basis,
                'load not known' as phase, list(value order by value) as delays
            from {{int_run_series_value}}
            where {_DELAYS} and sample_basis != 'total' and value is not null group by all
            """,
            "int_run_series_value",
        )
    return sorted(rows, key=lambda row: (*view.run_place(row), row["delay_basis"], row["phase"]))


def _basis_to_compare(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one basis in which runs can be compared.

    It is that which most runs have under load; of several, that which most runs also have idle, and rather single round
    trips of a probe than the smoothed ones of the load itself.
    """
    phases: dict[str, dict[tuple[str, str], set[str]]] = {}
    for row in rows:
        runs = phases.setdefault(row["delay_basis"], {})
        runs.setdefault((row["study_id"], row["run_id"]), set()).add(row["phase"])

    def rank(basis: str) -> tuple[int, int, bool, bool, str]:
        of_basis = phases[basis].values()
        loaded = sum(bool(run - {"idle"}) for run in of_basis)
        both = sum("idle" in run and len(run) > 1 for run in of_basis)
        return loaded, both, "_srtt_" not in basis, basis.endswith("_samples"), basis

    return max(phases, key=rank)


def _over_time(view: View, run: Mapping[str, Any], number: int) -> Items:
    items: Items = []
    for key, condition, title, label, scale in (
        ("delay", _DELAYS, "Delay over time", "delay (ms)", 1.0),
        ("rate", "series_metric = 'rate_bps'", "Rates over time", "rate (Mbit/s)", 1e6),
    ):
        rows = view.select(
            f"""
            with measured as (
                select *, max(case when flow_name is null then 0 else 1 end) over () as has_flows
                from {{int_run_series_value}}
                where {_of(run)} and {condition} and sample_basis != 'total' and time_s is not null
            ),
            chosen as (
                -- What a tool computed of several flows stands for them only where it gives no flow.
                select * from measured where flow_name is not null or has_flows = 0
            ),
            ranked as (
                select measurement, series_number,
                    row_number() over (
                        order by case any_value(sample_basis) when 'interpolated' then 1 else 0 end,
                            count(value) desc, measurement, series_number
                    ) as place,
                    count(*) over () as all_series
                from chosen group by measurement, series_number
            )
            select ranked.place, ranked.all_series, chosen.measurement, chosen.series_name, chosen.flow_name,
                chosen.time_s, chosen.value
            from chosen inner join ranked using (measurement, series_number)
            where ranked.place <= {LINES} order by ranked.place, chosen.time_s, chosen.sample_number
            """,
            "int_run_series_value",
        )
        if not rows:
            continue
        # Qlog and others count from a start of their own.
        series = [
            [row for row in rows if row["place"] == place] for place in dict.fromkeys(row["place"] for row in rows)
        ]
        names = [f"{of[0]['measurement']} {of[0]['series_name'] or of[0]['flow_name'] or ''}".strip() for of in series]
        curves = [
            Curve(
                label,
                [row["time_s"] for row in chosen],
                [None if row["value"] is None else row["value"] / scale for row in chosen],
            )
            for label, chosen in zip(short_apart(names, 30), series, strict=True)
        ]
        left = rows[0]["all_series"] - len(curves)
        items.append(
            drawn(
                f"tool-{key}-{number}",
                f"{title}: {short(run['run'], 60)}",
                Evidence(
                    label.split("(")[1].rstrip(")"),
                    counted(sum(row["value"] is not None for row in rows), "sample"),
                    _INTERVAL,
                ),
                data_of(curves, "time_s", "value"),
                lambda axes, curves=curves, label=label: over_time(axes, curves, label),  # type: ignore[misc]
                height_inches=2.6 + 0.07 * len(curves),
                note=f"{counted(left, 'more series', 'more series')} left off." if left > 0 else "",
            )
        )
    return items


def _rows(view: View, model: str, basis: str) -> list[dict[str, Any]]:
    rows = [{**row, "run": view.run_name(row)} for row in view.rows(model)]
    return sorted(rows, key=lambda row: (*view.run_place(row), row["role"], row[basis]))


def _tables(view: View, section: Section) -> Items:
    items: Items = []
    delays = _rows(view, "run_load_delay", "delay_basis")
    run, role = Column("run", "run"), Column("role", "role", in_words=True)
    if delays:
        columns: tuple[Column, ...] = (
            run,
            role,
            Column("delay_basis", "basis", in_words=True),
            Column("idle_median_ms", "idle median", "ms", 2, below=("idle_n",)),
            Column("loaded_median_ms", "loaded median", "ms", 2, below=("loaded_n",)),
            Column("loaded_p95_ms", "loaded 95 %", "ms", 2),
            Column("loaded_p99_ms", "loaded 99 %", "ms", 2),
            Column("median_increase_ms", "median increase", "ms", 2),
        )
        more = (
            Column("series", "series"),
            Column("idle_samples", "idle samples"),
            Column("loaded_samples", "loaded samples"),
            Column("loaded_unanswered_samples", "unanswered"),
        )
        for row in delays:
            unanswered = row["loaded_unanswered_samples"]
            row["idle_n"] = f"n = {row['idle_samples']:,}"
            row["loaded_n"] = f"n = {row['loaded_samples']:,}" + (
                f", {unanswered:,} not answered" if unanswered else ""
            )
        items.append(_table("tool-delay", "Delay before and under load", columns, delays, "ms", more))
    else:
        section.absent.append("Delay before and under load: no run has a delay and a bulk flow whose time is known.")
    rates = _rows(view, "run_load_rate", "rate_basis")
    for row in rates:
        for name in ("rate", "flow_min_rate", "flow_max_rate"):
            row[f"{name}_mbps"] = None if row[f"{name}_bps"] is None else row[f"{name}_bps"] / 1e6
    if rates:
        columns = (
            run,
            role,
            Column("rate_basis", "basis", in_words=True),
            Column("flows", "flows"),
            Column("rate_mbps", "sum of flows", "Mbit/s", 3),
            Column("flow_min_rate_mbps", "slowest flow", "Mbit/s", 3),
            Column("flow_max_rate_mbps", "fastest flow", "Mbit/s", 3),
            Column("jain_index", "Jain's index", "1/n to 1", 3),
        )
        items.append(_table("tool-rate", "Rates of flows", columns, rates, "Mbit/s"))
    outcomes = _rows(view, "run_outcome", "delay_basis")
    if outcomes:
        columns = (
            run,
            Column("delay_basis", "basis", in_words=True),
            Column("added_delay_ms", "added delay", "ms", 2),
            Column("bufferbloat_grade", "grade"),
            Column("responsiveness_rpm", "responsiveness", "1/min", 0),
            Column("qoo_score", "QoO", "0 to 100", 1),
            Column("qoo_null_reason", "no QoO because"),
        )
        items.append(_table("outcome", "Delay added by load", columns, outcomes, "ms"))
    return items


def _table(
    key: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Any]],
    unit: str,
    more: Sequence[Column] = (),
) -> Table:
    left = f"{ROWS_SHOWN} of {len(rows):,} rows; --parquet writes all" if len(rows) > ROWS_SHOWN else ""
    return Table(
        key,
        title,
        columns,
        rows[:ROWS_SHOWN],
        Evidence(unit, counted(len(rows), "row") + ", each of one run", "none: each row is one run"),
        left,
        more=more,
    )
