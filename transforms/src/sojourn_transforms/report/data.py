"""What the model is fitted to: the study, its runs by cell, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn_process.printable import counted
from sojourn_transforms.figures import runs_and_boxes
from sojourn_transforms.look.content import Column, Evidence, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.texts import short
from sojourn_transforms.report.fitted import Fitted, digits_of
from sojourn_transforms.report.selected_runs import BLOCKS, FACTORS_OF_MODEL

#: Boxes beside one another; more have no room for their names.
BOXES = 8


def data_section(fitted: Fitted) -> Section:
    """Return the runs by cell as table and figures."""
    runs, design = fitted.runs, fitted.design
    section = Section("data", "Data")
    section.lead = _lead(fitted)
    rows: list[dict[str, Any]] = []
    groups: list[tuple[tuple[str, ...], list[float]]] = []
    for place, cell in enumerate(design.cells):
        of_cell = design.cell == place
        values = runs.values[of_cell]
        rows.append(
            dict(zip((factor.name for factor in design.factors), cell, strict=True))
            | {
                "runs": int(of_cell.sum()),
                "blocks": len(set(design.block[of_cell].tolist())),
                "mean": float(values.mean()),
                "deviation": float(np.std(values, ddof=1)) if values.size > 1 else None,
                "lowest": float(values.min()),
                "highest": float(values.max()),
            }
        )
        groups.append((cell, values.tolist()))
    for number, part in enumerate(_parts(groups)):
        section.items.append(_boxes(fitted, number, part))
    spreads = [row["deviation"] for row in rows if row["deviation"]]
    digits = digits_of(min(spreads)) if spreads else fitted.shown_digits
    columns = (
        *(Column(factor.name, FACTORS_OF_MODEL[factor.name]) for factor in design.factors),
        Column("runs", "runs"),
        Column("blocks", "blocks"),
        Column("mean", "mean", fitted.unit, digits),
        Column("deviation", "standard deviation", fitted.unit, digits),
        Column("lowest", "lowest", fitted.unit, digits),
        Column("highest", "highest", fitted.unit, digits),
    )
    evidence = Evidence(fitted.unit, counted(len(runs.values), "run"), "none: these describe the observed runs")
    section.items.append(Table("cells-observed", "Runs of each cell", columns, rows, evidence))
    section.absent = list(runs.left_out)
    if runs.flagged:
        section.absent.append(
            f"{counted(runs.flagged, 'run')} with a flag (run_flag) in the model: you decide whether to leave them out."
        )
    return section


def _lead(fitted: Fitted) -> str:
    runs, design = fitted.runs, fitted.design
    study, counts = runs.study, design.counts
    complete = bool((counts == counts[0, 0]).all())
    how = BLOCKS.get(runs.block_rule, f"runs for which {runs.block_rule} finds the same text in their id")
    parts = [
        ", ".join(part.rstrip(".") for part in (study["title"] or study["study_id"], study["citation"]) if part) + ".",
        "Generated, not measured: every value on this page comes from synthetic runs."
        if runs.synthetic == len(runs.values)
        else f"{runs.synthetic} of the runs are synthetic: generated, not measured."
        if runs.synthetic
        else "",
        f"{counted(len(runs.values), 'run')} in {len(design.cells)} cells and {len(design.blocks)} blocks "
        f"({'complete and balanced' if complete else 'not balanced'}) of build {runs.build_id}.",
        f"A block: {how}.",
        f"Metric: {runs.metric.description}{'' if runs.basis is None else f', {runs.basis}'}.",
    ]
    return " ".join(part for part in parts if part)


def _parts(groups: Sequence[tuple[tuple[str, ...], list[float]]]) -> list[list[tuple[tuple[str, ...], list[float]]]]:
    """Return groups of neighbouring cells, each of which fits one figure: by the last factor, else by number."""
    if len(groups) <= BOXES:
        return [list(groups)]
    by_last: dict[str, list[tuple[tuple[str, ...], list[float]]]] = {}
    for group in groups:
        by_last.setdefault(group[0][-1], []).append(group)
    return [part[start : start + BOXES] for part in by_last.values() for start in range(0, len(part), BOXES)]


def _in_lines(level: str) -> str:
    """Return a level in lines that fit below a box: tail-drop over 10 BDP."""
    return "\n".join(short(part, 11) for part in level.split(" ", 1))


def _boxes(fitted: Fitted, number: int, part: Sequence[tuple[tuple[str, ...], list[float]]]) -> Any:
    same = len({cell[-1] for cell, _ in part}) == 1 and len(part) > 1 and len(part[0][0]) > 1
    shown = {cell: cell[:-1] if same else cell for cell, _ in part}
    named: Mapping[str, Sequence[float]] = {
        "\n".join(_in_lines(level) for level in shown[cell]): values for cell, values in part
    }

    def draw(axes: Any) -> None:
        runs_and_boxes(axes, named)
        axes.tick_params(axis="x", labelsize=6.5)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.set_ylabel(f"{fitted.runs.metric.name} ({fitted.unit})", fontsize=8)

    total = sum(len(values) for _, values in part)
    return drawn(
        f"runs-{number}",
        "Every run" + (f": {part[0][0][-1]}" if same else ""),
        Evidence(fitted.unit, counted(total, "run"), "none: each point is one run"),
        [{"cell": ", ".join(cell), "value": value} for cell, values in part for value in values],
        draw,
    )
