"""Two settings beside each other: effects over runs with intervals, and the distributions of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from sojourn_ingest.arrow_alone import keep_pandas_out
from sojourn_ingest.own_folder import own_folder
from sojourn_ingest.printable import counted
from sojourn_ingest.session import Attempt
from sojourn_statistics.comparison.metrics import METRICS, ComparisonMetric
from sojourn_statistics.significance.two_samples import hodges_lehmann
from sojourn_transforms import __version__
from sojourn_transforms.figures import Curve, delay_cdf, runs_and_boxes
from sojourn_transforms.look.content import (
    DEPENDENT_CONNECTIONS,
    DEPENDENT_PACKETS,
    Column,
    Evidence,
    Figure,
    Page,
    Section,
    Table,
    Tile,
)
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.looking import Looked, command_of, given_files, title_of
from sojourn_transforms.look.sections.bins import curve_of_bins, curve_of_values, data_of
from sojourn_transforms.look.sections.configurations import setting
from sojourn_transforms.look.sections.files import files_section
from sojourn_transforms.look.sections.findings import queue_metrics, queue_sentences
from sojourn_transforms.look.sections.runs import ROLES
from sojourn_transforms.look.texts import short, significant
from sojourn_transforms.look.view import View, viewed

#: Runs of two settings are compared if they are equal in these: the same roles in the same order.
KIND = ("workload", "direction", "application", "rival_application", "start_order")
_CAPTURES = "dataset like 'captures:%'"


@dataclass(frozen=True)
class Side:
    """One of the two settings."""

    letter: str
    name: str
    colours: tuple[str, str]
    view: View

    @property
    def label(self) -> str:
        """The letter with a name that fits a legend."""
        return f"{self.letter} {short(self.name, 18)}"


def compare(a: Path, b: Path, on_done: Callable[[Attempt], None], workers: int, parquet: Path | None = None) -> Looked:
    """Return the page that compares what two files or folders hold; marts go to ``A`` and ``B`` in ``parquet``.

    Raises
    ------
    LookError
        If either has no file.
    """
    keep_pandas_out()
    with ExitStack() as held:
        sides = []
        for letter, source, colours in (("A", a, ("C0", "C5")), ("B", b, ("C1", "C4"))):
            folder = held.enter_context(own_folder("sojourn-look-"))
            files = held.enter_context(given_files([source], folder))
            view = held.enter_context(viewed(files, on_done, workers))
            sides.append(Side(letter, title_of([source]), colours, view))
        page = comparison_page(sides[0], sides[1], [a, b])
        marts = []
        for side in sides if parquet is not None else ():
            below = parquet / side.letter  # type: ignore[operator]
            below.mkdir(exist_ok=True)
            marts += [f"{side.letter}/{name}" for name in side.view.write_parquet(below)]
        any_facts = all(any(one.commit.status != "rejected" for one in side.view.attempts) for side in sides)
        return Looked(page, any_facts, marts)


def comparison_page(a: Side, b: Side, sources: Sequence[Path]) -> Page:
    """Return what there is to say of two settings together."""
    section = Section("comparison", "Comparison")
    section.lead = " ".join((*_which_queue(a, b), "")) + (
        f"A is {a.name}, B is {b.name}. An effect is B minus A: the Hodges-Lehmann shift over runs, with "
        "its 95 % interval, or the "
        "reason why there is none. It is not corrected for the number of metrics."
    )
    _effects(section, a, b)
    _boxes(section, a, b)
    _queue_cdf(section, a, b)
    _tool_cdf(section, a, b)
    _capture_cdf(section, a, b)
    files = []
    for side in (a, b):
        read = files_section(side.view)
        read.key, read.title = f"files-{side.letter.lower()}", f"What was read of {side.letter}"
        read.items = [_renamed(item, side.letter) for item in read.items]
        files.append(read)
    tiles = [Tile(side.letter, side.name) for side in (a, b)]
    return Page(f"{a.name} and {b.name}", tiles, [section, *files], command_of(sources), __version__)


def _which_queue(a: Side, b: Side) -> list[str]:
    """Return which queue to run where the settings differ by it, each named with its letter."""
    rows = [(side.letter, row) for side in (a, b) for row in queue_metrics(side.view)]
    if len({row["queue_label"] for _, row in rows}) < 2:
        return []
    # Both are one study here, whatever their files say.
    return queue_sentences(
        {**row, "study_id": None, "queue_label": f"{row['queue_label']} ({letter})"} for letter, row in rows
    )


def _renamed(item: Figure | Table, letter: str) -> Figure | Table:
    return replace(item, key=f"{item.key}-{letter.lower()}")


@dataclass(frozen=True)
class _Value:
    value: float
    configuration: str
    setting: str


_Key = tuple[Any, ...]


def _values(side: Side, metric: ComparisonMetric) -> dict[_Key, list[_Value]]:
    """Return the values of runs that count, by kind of run and stratum of the metric."""
    if not side.view.has("run", "run_source"):
        return {}
    configurations = {(run["study_id"], run["run_id"]): run for run in side.view.rows("run")}
    values: dict[_Key, list[_Value]] = {}
    for row in side.view.rows(metric.dataset):
        run = configurations.get((row["study_id"], row["run_id"]))
        if run is None or row[metric.column] is None or run["exclusion_reason"] is not None:
            continue
        key = (*(run[name] for name in KIND), *(row[name] for name in metric.strata))
        values.setdefault(key, []).append(_Value(float(row[metric.column]), run["configuration_id"], setting(run)))
    return values


def _effects(section: Section, a: Side, b: Side) -> None:
    rows = []
    for metric in METRICS.values():
        of_a, of_b = _values(a, metric), _values(b, metric)
        rows += [
            _effect(metric, key, of_a.get(key, []), of_b.get(key, []))
            for key in sorted(of_a.keys() | of_b.keys(), key=str)
        ]
    if not rows:
        section.absent.append(
            "Effects over runs: neither setting has runs. Connections of a capture are not independent replicates."
        )
        return
    reasons = {row["interval"] for row in rows}
    shared_reason = reasons.pop() if len(reasons) == 1 and all(row["effect"] is not None for row in rows) else None
    if shared_reason is not None and shared_reason.startswith("none: "):
        rows = [{**row, "interval": None} for row in rows]
    else:
        shared_reason = None
    # What is read first comes first: a phone shows the first columns.
    columns = (
        Column("metric", "metric"),
        Column("effect", "B minus A", significant=3),
        Column("unit", "unit"),
        Column("interval", "95 % interval", "in the unit"),
        Column("n_a", "n of A"),
        Column("n_b", "n of B"),
        Column("median_a", "median of A", significant=3),
        Column("median_b", "median of B", significant=3),
        Column("role", "role"),
        Column("kind", "runs of"),
    )
    section.items.append(
        Table(
            "effects",
            "Effects",
            columns,
            rows,
            Evidence(
                "in the table",
                counted(len(rows), "metric of a role", "metrics of roles"),
                shared_reason or "in the table, or the reason",
            ),
        )
    )


def _effect(metric: ComparisonMetric, key: _Key, a: Sequence[_Value], b: Sequence[_Value]) -> dict[str, Any]:
    stratum = dict(zip(metric.strata, key[len(KIND) :], strict=True))
    role = stratum.get("role")
    basis = " ".join(str(value).replace("_", " ") for name, value in stratum.items() if name != "role")
    # Rates as people say them.
    scale, unit = (1e-6, "Mbit/s") if metric.unit == "bit/s" else (1.0, metric.unit or "–")
    row: dict[str, Any] = {
        "metric": metric.name.replace("_", " ") + (f", {basis}" if basis else ""),
        "kind": ", ".join(str(part) for part in key[: len(KIND)] if part is not None),
        "role": ROLES.get(role or "", role or "both"),
        "unit": unit,
        "n_a": len(a),
        "n_b": len(b),
        "median_a": _median(a, scale),
        "median_b": _median(b, scale),
        "effect": None,
    }
    several = [name for name, values in (("A", a), ("B", b)) if len({value.configuration for value in values}) > 1]
    if not a or not b:
        row["interval"] = f"none: {'B' if a else 'A'} has no such run"
    elif several:
        # Runs of different configurations are never pooled.
        row["median_a"] = row["median_a"] if "A" not in several else None
        row["median_b"] = row["median_b"] if "B" not in several else None
        row["interval"] = f"none: {' and '.join(several)} mixes configurations; give the runs of one"
    else:
        shift = hodges_lehmann([value.value * scale for value in b], [value.value * scale for value in a])
        row["effect"] = shift.value
        row["interval"] = (
            f"none: {shift.interval_null_reason}"
            if shift.interval is None
            else f"[{significant(shift.interval.lower, 3)}, {significant(shift.interval.upper, 3)}]"
        )
    return row


def _median(values: Sequence[_Value], scale: float) -> float | None:
    return median(value.value for value in values) * scale if values else None


def _boxes(section: Section, a: Side, b: Side) -> None:
    groups: dict[str, list[float]] = {}
    for role, name in (("app", "application"), ("tcp", "TCP"), ("rival", "rival")):
        for side in (a, b):
            values = _comparable(_values(side, METRICS["queuing_delay_mean"]), role)
            if values:
                groups[f"{side.letter}: {name}"] = values
    if len({label[0] for label in groups}) < 2:
        return

    def draw(axes: Any) -> None:
        runs_and_boxes(axes, groups)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("mean queuing delay (ms)")

    data = [{"group": label, "mean_ms": value} for label, values in groups.items() for value in values]
    n = ", ".join(f"{label}: {len(values)}" for label, values in groups.items())
    section.items.append(
        drawn(
            "compare-runs",
            "Mean queuing delay of each run",
            Evidence("ms", f"runs of {n}", "of the shift: in the table"),
            data,
            draw,
        )
    )


def _comparable(values: Mapping[_Key, Sequence[_Value]], role: str) -> list[float]:
    """Return the values of a role in one configuration: shared runs before solo runs; none if there are several."""
    of_role = {key: of_key for key, of_key in values.items() if key[len(KIND)] == role}
    shared = {key: of_key for key, of_key in of_role.items() if key[KIND.index("start_order")] != "solo"} or of_role
    together = [value for of_key in shared.values() for value in of_key]
    return [value.value for value in together] if len({value.configuration for value in together}) == 1 else []


def _queue_cdf(section: Section, a: Side, b: Side) -> None:
    curves: list[Curve] = []
    for side in (a, b):
        if not side.view.has("queue_packet"):
            section.absent.append(f"Queuing delay by packet of {side.letter}: it has no queue log.")
            continue
        # Solo runs are there for the demand of the others.
        rows = side.view.rows(
            "queuing_delay_histogram",
            "role in ('app', 'tcp', 'rival') and exclusion_reason is null",
            "role, bin_index, run_id",
        )
        shared = [row for row in rows if row["start_order"] != "solo"] or rows
        settings = {
            tuple(row[name] for name in (*KIND, "queue_label", "bandwidth_bps", "congestion_control")) for row in shared
        }
        if len(settings) > 1:
            section.absent.append(
                f"Distribution of queuing delay of {side.letter}: its runs are of {len(settings)} "
                "configurations, which are not pooled."
            )
            continue
        own, competing = side.colours
        for role, colour in (("app", own), ("tcp", competing), ("rival", competing)):
            chosen = [row for row in shared if row["role"] == role]
            if chosen:
                curves.append(
                    curve_of_bins(
                        f"{side.label}, {ROLES[role]}", chosen, "packets", dashed=side.letter == "A", colour=colour
                    )
                )
    _add_cdf(
        section,
        "compare-queue-cdf",
        "Queuing delay of packets",
        curves,
        "queuing delay (ms)",
        "packets",
        DEPENDENT_PACKETS,
    )


def _tool_cdf(section: Section, a: Side, b: Side) -> None:
    points = [
        side.view.select(
            "select delay_basis, phase, list(value order by value) as delays, count(distinct run_id) as "
            "runs from {int_run_load_sample} inner join {run_load_delay} using (study_id, run_id, role, delay_basis)"
            " where value is not null and delay_null_reason is null group by all order by delay_basis, phase",
            "int_run_load_sample",
            "run_load_delay",
        )
        if side.view.has("series")
        else []
        for side in (a, b)
    ]
    bases = Counter(
        basis for rows in points for basis in {row["delay_basis"] for row in rows if row["phase"] == "loaded"}
    )
    common = sorted(basis for basis, sides in bases.items() if sides == 2)
    if not common:
        if all(side.view.has("series") for side in (a, b)):
            section.absent.append("Delay of tools: no kind of delay under load is in both settings.")
        return
    basis = max(
        common,
        key=lambda name: (
            sum(len(row["delays"]) for rows in points for row in rows if row["delay_basis"] == name),
            name,
        ),
    )
    curves = [
        curve_of_values(
            f"{side.label}, {row['phase']}", row["delays"], dashed=row["phase"] == "idle", colour=side.colours[0]
        )
        for side, rows in zip((a, b), points, strict=True)
        for row in rows
        if row["delay_basis"] == basis
    ]
    title = f"Delay, idle and loaded: {basis.replace('_', ' ')}"
    _add_cdf(
        section,
        "compare-tool-cdf",
        title,
        curves,
        "delay (ms)",
        "samples",
        "none: samples of one run are not independent replicates",
    )


def _capture_cdf(section: Section, a: Side, b: Side) -> None:
    for mart, key, title, condition in (
        ("capture_queuing_delay_histogram", "delay", "Queuing delay of connections, upper bound", "leg = 'responder'"),
        (
            "capture_rtt_histogram",
            "rtt",
            "Mean smoothed RTT of connections",
            "leg = 'responder' and rtt_basis = 'smoothed'",
        ),
    ):
        curves = []
        for side in (a, b):
            rows = side.view.rows(mart, f"{_CAPTURES} and {condition}") if side.view.has("flow") else []
            if rows:
                curves.append(
                    curve_of_bins(side.label, rows, "connections", dashed=side.letter == "A", colour=side.colours[0])
                )
        if len(curves) == 2:
            _add_cdf(
                section,
                f"compare-capture-{key}",
                f"{title}, to the responder",
                curves,
                "ms",
                "connections",
                DEPENDENT_CONNECTIONS,
            )


def _add_cdf(section: Section, key: str, title: str, curves: Iterable[Curve], x: str, what: str, interval: str) -> None:
    drawn_curves = list(curves)
    if not drawn_curves:
        return
    section.items.append(
        drawn(
            key,
            title,
            Evidence("ms", "; ".join(curve.label for curve in drawn_curves) + f" {what}", interval),
            data_of(drawn_curves, "delay_ms", "share_ratio"),
            lambda axes: delay_cdf(axes, drawn_curves, x, f"share of {what} up to it"),
            height_inches=2.6 + 0.08 * len(drawn_curves),
        )
    )
