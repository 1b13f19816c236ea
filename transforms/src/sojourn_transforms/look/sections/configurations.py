"""Configurations with several runs: every run as a point, and intervals over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.figures import runs_and_boxes
from sojourn_transforms.look.content import Column, Evidence, Figure, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.texts import in_words, short_apart
from sojourn_transforms.look.view import View

CONFIGURATIONS_SHOWN = 24
#: Boxes beside one another; more have no room for their names.
BOXES = 8
Items = list[Figure | Table]


def setting(row: Mapping[str, Any]) -> str:
    """Return what was set for a run or configuration, in one line."""
    rate = row.get("bandwidth_bps")
    parts = [
        row.get("application"),
        row.get("rival_application"),
        in_words(row.get("congestion_control") or ""),
        row.get("queue_label") or row.get("aqm"),
        None if rate is None else f"{rate / 1e6:g} Mbit/s",
        None if row.get("rtt_ms") is None else f"{row['rtt_ms']:g} ms",
    ]
    return ", ".join(str(part) for part in parts if part) or "not stated"


def _interval(row: Mapping[str, Any], lower: str, upper: str, digits: int) -> str:
    if row[lower] is None:
        return f"none: {row['interval_null_reason']}"
    return f"[{row[lower]:.{digits}f}, {row[upper]:.{digits}f}]"


def configuration_items(view: View, section: Section) -> Items:
    """Return figures and tables over runs."""
    items: Items = []
    runs = view.rows(
        "run_queuing_delay",
        "role in ('app', 'tcp', 'rival') and mean_ms is not null and exclusion_reason is null",
        "study_id, run_id, role",
    )
    for role, name in (("app", "application"), ("tcp", "TCP"), ("rival", "rival")):
        queues = {row["queue_label"] or row["aqm"] or "no queue": None for row in runs}
        labels = dict(zip(queues, short_apart(list(queues), 14), strict=True))
        groups: dict[str, list[float]] = {}
        for row in runs:
            if row["role"] == role:
                queue = labels[row["queue_label"] or row["aqm"] or "no queue"]
                key = f"{queue}\n{row['congestion_control'] or 'no TCP'}"
                key += (
                    ""
                    if len({one["bandwidth_bps"] for one in runs}) < 2
                    else f"\n{(row['bandwidth_bps'] or 0) / 1e6:g} Mbit/s"
                )
                groups.setdefault(key, []).append(row["mean_ms"])
        if sum(len(values) > 1 for values in groups.values()) == 0:
            continue
        chosen = dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:BOXES])
        ordered = {key: chosen[key] for key in sorted(chosen)}

        def draw(axes: Any, ordered: Mapping[str, Sequence[float]] = ordered) -> None:
            runs_and_boxes(axes, ordered)
            axes.tick_params(axis="x", labelsize=6.5)
            axes.set_ylim(bottom=0)
            axes.set_ylabel("mean queuing delay (ms)")

        left = len(groups) - len(chosen)
        items.append(
            drawn(
                f"configuration-delay-{role}",
                f"Mean queuing delay of each run: {name}",
                Evidence(
                    "ms",
                    counted(sum(len(values) for values in groups.values()), "run"),
                    "in the table of configurations",
                ),
                [
                    {"group": key.replace("\n", ", "), "mean_ms": value}
                    for key, values in groups.items()
                    for value in values
                ],
                draw,
                note=f"{counted(left, 'group')} with fewer runs: not drawn." if left else "",
            )
        )
    items += _delays(view)
    items += _quality(view)
    return items


def _delays(view: View) -> Items:
    rows = view.rows(
        "configuration_queuing_delay",
        "role in ('app', 'tcp', 'rival')",
        "study_id, queue_label, congestion_control, role, configuration_id",
    )
    if not rows:
        return []
    for row in rows:
        row["setting"], row["interval"] = setting(row), _interval(row, "mean_lower_ms", "mean_upper_ms", 2)
    columns = (
        Column("setting", "configuration"),
        Column("start_order", "order", in_words=True),
        Column("role", "role", in_words=True),
        Column("runs", "runs"),
        Column("excluded_runs", "excluded runs"),
        Column("mean_ms", "mean of runs", "ms", 2),
        Column("interval", "95 % interval", "ms"),
    )
    return [_table("configuration-delay", "Queuing delay by configuration", columns, rows, "ms")]


def _quality(view: View) -> Items:
    rows = view.rows(
        "configuration_quality",
        "items > 0",
        "study_id, queue_label, congestion_control, qoe_model_id, configuration_id",
    )
    if not rows:
        return []
    for row in rows:
        row["setting"], row["interval"] = setting(row), _interval(row, "run_mos_lower", "run_mos_upper", 2)
    columns = (
        Column("setting", "configuration"),
        Column("start_order", "order", in_words=True),
        Column("qoe_model_id", "model"),
        Column("runs", "runs"),
        Column("run_mos_median", "median MOS of runs", "1 to 5", 2),
        Column("interval", "95 % interval", "MOS"),
        Column("harm_median_ratio", "median harm", "ratio", 3),
        Column("flow_rate_equality_median", "median equality", "-1 to 1", 3),
    )
    return [_table("configuration-quality", "Quality, harm and equality by configuration", columns, rows, "MOS, ratio")]


def _table(key: str, title: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], unit: str) -> Table:
    left = (
        f"{CONFIGURATIONS_SHOWN} of {len(rows):,} rows; --parquet writes all"
        if len(rows) > CONFIGURATIONS_SHOWN
        else ""
    )
    return Table(
        key,
        title,
        columns,
        rows[:CONFIGURATIONS_SHOWN],
        Evidence(unit, counted(len(rows), "row"), "in the table, or the reason"),
        left,
    )
