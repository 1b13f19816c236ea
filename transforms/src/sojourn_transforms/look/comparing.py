"""Two settings beside each other: effects over runs with intervals, and the distributions of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn_ingest.session import Attempt
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.own_folder import own_folder
from sojourn_process.printable import counted
from sojourn_statistics.comparison.metrics import METRICS
from sojourn_statistics.findings.settings import Difference, settings_finding
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
from sojourn_transforms.look.differences import KIND, Key, Value, differences, values_of
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.looking import Looked, command_of, frame_of, given_files, title_of
from sojourn_transforms.look.sections.bins import curve_of_bins, curve_of_values, data_of
from sojourn_transforms.look.sections.files import files_section
from sojourn_transforms.look.sections.findings import queue_metrics, queue_sentences
from sojourn_transforms.look.sections.runs import ROLES
from sojourn_transforms.look.sections.tools import delay_rows
from sojourn_transforms.look.texts import in_words, short, significant
from sojourn_transforms.look.view import View, viewed

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
    metric_differences = differences((a.view, _runs(a)), (b.view, _runs(b)), ("A", "B"))
    first, second = (f"{short(side.name, 40)} ({side.letter})" for side in (a, b))
    sentences = _which_queue(a, b) or [settings_finding(first, second, metric_differences).sentence]
    section.lead = " ".join((*sentences, "")) + (
        f"A is {a.name}, B is {b.name}. An effect is B minus A: the Hodges-Lehmann shift over runs, with "
        "its 95 % interval, or the reason why there is none. Intervals are not corrected for the number of metrics."
    )
    section.is_answer = True
    _effects(section, metric_differences)
    _boxes(section, a, b)
    _queue_cdf(section, a, b)
    _tool_cdf(section, a, b)
    _capture_cdf(section, a, b)
    files = []
    for side in (a, b):
        read = files_section(side.view)
        read.key, read.title = f"files-{side.letter.lower()}", f"What was read from {side.letter}"
        read.items = [_renamed(item, side.letter) for item in read.items]
        files.append(read)
    tiles = [Tile(side.letter, side.name) for side in (a, b)]
    frame = frame_of([*_runs(a), *_runs(b)])
    return Page(f"{a.name} and {b.name}", tiles, [section, *files], command_of(sources), __version__, frame)


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


def _runs(side: Side) -> list[dict[str, Any]]:
    return side.view.rows("run") if side.view.has("run", "run_source") else []


def _effects(section: Section, metric_differences: Sequence[Difference]) -> None:
    if not metric_differences:
        section.absent.append(
            "Effects over runs: neither setting has runs. Connections of a capture are not independent replicates."
        )
        return
    for letter, alone in (
        ("A", [one for one in metric_differences if not one.second_n]),
        ("B", [one for one in metric_differences if not one.first_n]),
    ):
        if alone:
            kinds_alone = "; ".join(dict.fromkeys(one.kind for one in alone))
            metrics = ", ".join(dict.fromkeys(in_words(one.metric) for one in alone))
            section.absent.append(f"Effects on {metrics}: only {letter} has such runs ({kinds_alone}).")
    # Delays first, as in the sentence.
    rows = [
        _effect(one)
        for one in sorted(metric_differences, key=lambda one: one.unit != "ms")
        if one.first_n and one.second_n
    ]
    if not rows:
        return
    reasons = {row["interval"] for row in rows if row["effect"] is not None}
    shared_reason = reasons.pop() if len(reasons) == 1 else None
    if shared_reason is not None and shared_reason.startswith("none: "):
        rows = [{**row, "interval": None if row["effect"] is not None else row["interval"]} for row in rows]
    else:
        shared_reason = None
    numbers = {(row["n_a"], row["n_b"]) for row in rows if row["effect"] is not None}
    has_one_n = len(numbers) == 1
    kinds = {row["kind"] for row in rows}
    # Four columns, which a phone has room for: what else belongs to a number is below it.
    columns = (
        Column("metric", "metric", below=("role", *(("kind",) if len(kinds) > 1 else ()))),
        Column("median_a", "A", "median", significant=3, unit_of="unit", below=() if has_one_n else ("runs_a",)),
        Column("median_b", "B", "median", significant=3, unit_of="unit", below=() if has_one_n else ("runs_b",)),
        Column("effect", "B minus A", "95 % interval", significant=3, unit_of="unit", below=("interval",)),
    )
    more = (
        Column("unit", "unit"),
        Column("interval", "95 % interval", "in the unit"),
        Column("n_a", "n of A"),
        Column("n_b", "n of B"),
        Column("role", "role"),
        Column("kind", "runs of"),
    )
    n = counted(len(rows), "metric of a role", "metrics of roles")
    if has_one_n:
        of_a, of_b = numbers.pop()
        n += f", over {counted(of_a, 'run')} of A and {counted(of_b, 'run')} of B"
    section.items.append(
        Table(
            "effects",
            "Effects",
            columns,
            rows,
            Evidence("in the table", n, shared_reason or "in the table, or the reason"),
            note=f"Runs of {kinds.pop()}." if len(kinds) == 1 else "",
            more=more,
        )
    )


def _effect(one: Difference) -> dict[str, Any]:
    # Rates as people say them.
    scale, unit = (1e-6, "Mbit/s") if one.unit == "bit/s" else (1.0, one.unit or "")
    interval = (
        f"none: {one.reason}"
        if one.lower is None or one.upper is None
        else f"[{significant(one.lower * scale, 3)}, {significant(one.upper * scale, 3)}]"
    )
    return {
        "metric": in_words(one.metric) + (f", {in_words(one.basis)}" if one.basis else ""),
        "kind": one.kind,
        "role": "both" if one.role is None else ROLES.get(one.role, one.role),
        "unit": unit,
        "n_a": one.first_n,
        "n_b": one.second_n,
        "runs_a": counted(one.first_n, "run"),
        "runs_b": counted(one.second_n, "run"),
        "median_a": None if one.first_median is None else one.first_median * scale,
        "median_b": None if one.second_median is None else one.second_median * scale,
        "effect": None if one.shift is None else one.shift * scale,
        "interval": interval,
    }


def _boxes(section: Section, a: Side, b: Side) -> None:
    groups: dict[str, list[float]] = {}
    for role, name in (("app", "application"), ("tcp", "TCP"), ("rival", "rival")):
        for side in (a, b):
            values = _comparable(values_of(side.view, METRICS["queuing_delay_mean"], _runs(side)), role)
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


def _comparable(values: Mapping[Key, Sequence[Value]], role: str) -> list[float]:
    """Return the values of a role in one configuration: shared runs before solo runs; none if there are several."""
    of_role = {key: of_key for key, of_key in values.items() if key[len(KIND)] == role}
    shared = {key: of_key for key, of_key in of_role.items() if key[KIND.index("start_order")] != "solo"} or of_role
    together = [value for of_key in shared.values() for value in of_key]
    return [value.value for value in together] if len({value.configuration for value in together}) == 1 else []


def _queue_cdf(section: Section, a: Side, b: Side) -> None:
    curves: list[Curve] = []
    if not any(side.view.has("queue_packet") for side in (a, b)):
        section.absent.append("Queuing delay by packet: neither setting has a queue log.")
        return
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
                f"Distribution of queuing delay of {side.letter}: its runs have {len(settings)} "
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
    points = [delay_rows(side.view) if side.view.has("series") else [] for side in (a, b)]
    bases = Counter(basis for rows in points for basis in {_unless_idle(row) for row in rows})
    common = sorted(basis for basis, sides in bases.items() if basis is not None and sides == 2)
    if not common:
        if all(side.view.has("series") for side in (a, b)):
            section.absent.append("Delay measured by tools: the settings share no kind of delay under load.")
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
            f"{side.label}, {phase}",
            [delay for row in rows if (row["delay_basis"], row["phase"]) == (basis, phase) for delay in row["delays"]],
            dashed=phase == "idle",
            colour=side.colours[0],
        )
        for side, rows in zip((a, b), points, strict=True)
        for phase in sorted({row["phase"] for row in rows if row["delay_basis"] == basis})
    ]
    title = f"Delay, idle and loaded: {in_words(basis)}"
    _add_cdf(
        section,
        "compare-tool-cdf",
        title,
        curves,
        "delay (ms)",
        "samples",
        "none: samples of one run are not independent replicates",
    )


def _unless_idle(row: Mapping[str, Any]) -> str | None:
    return None if row["phase"] == "idle" else row["delay_basis"]


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
            lambda axes: delay_cdf(axes, drawn_curves, x, f"cumulative share of {what}"),
            height_inches=2.6 + 0.08 * len(drawn_curves),
        )
    )
