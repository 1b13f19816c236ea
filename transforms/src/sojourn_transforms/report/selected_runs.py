"""The runs of one study that a report is of: read from a published build, chosen, never pooled over what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sojourn_ingest.operator_error import OperatorError
from sojourn_process.parquet_sql import parquet_rows
from sojourn_snapshot.documents import read_build
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import mart_paths
from sojourn_snapshot.pointer import read_pointer
from sojourn_statistics.comparison.metrics import CONFIGURATION, FACTORS, METRICS, ComparisonMetric
from sojourn_statistics.ids import value_text
from sojourn_statistics.mixed.design import CrossedFactor
from sojourn_statistics.samples.arrays import Reals

Row = Mapping[str, Any]
#: The factors of the model, in the order of the page, with what people call them.
FACTORS_OF_MODEL = {
    "queue_label": "queue",
    "congestion_control": "congestion control",
    "bandwidth_bps": "rate",
}
#: Parts of a configuration that follow from a factor of the model.
_DETERMINED = {part for name in FACTORS_OF_MODEL for part in FACTORS[name].determines} | {"study_id"}
_AT_THE_END = r"_rep(\d+)$"
BLOCKS = {
    "block": "runs with the same block in their manifests",
    "repetition": "runs with the same repetition number",
    "session": "runs of the same session",
    _AT_THE_END: "runs whose id ends with the same _rep number, "
    "which sojourn testbed gives each randomised block of a plan",
}
_NAMED = 5


class ReportError(OperatorError):
    """A report cannot be made of what was asked for; the message says what to choose instead."""


@dataclass(frozen=True)
class ReportQuestion:
    """What a report is of: one of METRICS, and runs by texts COLUMN=VALUE of columns of CONFIGURATION."""

    study: str
    metric: str
    role: str | None = None
    basis: str | None = None
    where: tuple[str, ...] = ()
    block: str | None = None


@dataclass(frozen=True)
class Build:
    """A published build, with its marts as views of a database in memory."""

    build_id: str
    connection: duckdb.DuckDBPyConnection

    def rows(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        result = self.connection.execute(statement, list(values))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@dataclass(frozen=True)
class SelectedRuns:
    """The runs of a report in the order of their ids.

    ``values`` is float, shape (n,), in the metric's unit; ``levels`` and ``blocks`` have an entry for each run.
    ``shared`` are parts of the configuration that all runs have in common; ``left_out`` says what is not in it and why;
    ``findings`` are the sentences that the build has of the study.
    """

    build_id: str
    study: Row
    metric: ComparisonMetric
    role: str | None
    basis: str | None
    run_ids: tuple[str, ...]
    values: Reals
    factors: tuple[CrossedFactor, ...]
    levels: tuple[tuple[str, ...], ...]
    blocks: tuple[str | None, ...]
    block_rule: str
    shared: dict[str, str]
    left_out: tuple[str, ...]
    flagged: int
    synthetic: int
    findings: tuple[str, ...]


@contextmanager
def opened_build(snapshots: Path) -> Iterator[Build]:
    """Yield the build that is served.

    Raises
    ------
    ReportError
        If none was published, or it is damaged.
    """
    try:
        pointer = read_pointer(snapshots)
        if pointer is None:
            raise ReportError(f"no build published under {snapshots}: run `sojourn build`")
        folder = snapshots / pointer.build_id
        read_build(folder)
        datasets = {"study", "run", "finding", *(metric.dataset for metric in METRICS.values())}
        with duckdb.connect() as connection:
            for name in sorted(datasets):
                connection.execute(f'create view "{name}" as select * from {parquet_rows(mart_paths(folder, name))}')
            yield Build(pointer.build_id, connection)
    except (DamagedSnapshotError, duckdb.IOException) as error:
        raise ReportError(f"{str(error).splitlines()[0]}; build again with sojourn build --force") from error


def _list(values: Sequence[Any]) -> str:
    shown = ", ".join(str(value) for value in values[:_NAMED])
    return shown + (f" and {len(values) - _NAMED} more" if len(values) > _NAMED else "")


def selected(build: Build, question: ReportQuestion) -> SelectedRuns:
    """Return the runs that a report is of.

    Raises
    ------
    ReportError
        If the study or a value is not there, or runs differ in more than the model has.
    """
    studies = {row["study_id"]: row for row in build.rows("select * from study order by study_id")}
    if question.study not in studies:
        raise ReportError(f"the build has no study {question.study!r}; it has {_list(list(studies)) or 'none'}")
    metric = METRICS[question.metric]
    rows = _rows(build, metric, question.study)
    role = _stratum(rows, metric, metric.role, question.role, "role", "app")
    rows = [row for row in rows if role is None or row["role"] == role]
    basis = _stratum(rows, metric, metric.basis, question.basis, "basis", None)
    rows = [row for row in rows if basis is None or row["basis"] == basis]
    chosen, left_out = _chosen(rows, question)
    _check_shared(chosen, question)
    factors = tuple(CrossedFactor(name, _levels(chosen, name)) for name in FACTORS_OF_MODEL)
    rule, blocks = _blocks(chosen, question.block)
    others = [name for name in CONFIGURATION if name not in _DETERMINED]
    return SelectedRuns(
        build_id=build.build_id,
        study=studies[question.study],
        metric=metric,
        role=role,
        basis=basis,
        run_ids=tuple(row["run_id"] for row in chosen),
        values=np.asarray([row["value"] for row in chosen], dtype=np.float64),
        factors=factors,
        levels=tuple(tuple(_level(name, row[name]) for name in FACTORS_OF_MODEL) for row in chosen),
        blocks=blocks,
        block_rule=rule,
        shared={name: value_text(chosen[0][name]) for name in others if chosen[0][name] is not None},
        left_out=tuple(left_out),
        flagged=sum(row["run_flag"] is not None for row in chosen),
        synthetic=sum(bool(row["synthetic"]) for row in chosen),
        findings=_findings(build, question.study),
    )


def _findings(build: Build, study: str) -> tuple[str, ...]:
    """Return what the mart ``finding`` says of a study, not of single runs; a finding without an answer is none."""
    findings = build.rows(
        "select sentence from finding where study_id = ? and run_id is null and verdict not in ('none', 'cannot tell') "
        "order by question, finding_id",
        study,
    )
    return tuple(row["sentence"] for row in findings)


def _rows(build: Build, metric: ComparisonMetric, study: str) -> list[dict[str, Any]]:
    """Return the runs of a study with the metric as ``value`` and its strata as ``role`` and ``basis``."""
    parts = ", ".join(f"runs.{name}" for name in CONFIGURATION)
    role = "null" if metric.role is None else f"measured.{metric.role}"
    basis = "null" if metric.basis is None else f"measured.{metric.basis}"
    all_rows = build.rows(
        f"""
        select {parts}, runs.run_id, runs.block, runs.repetition, runs.session_id, runs.exclusion_reason, runs.run_flag,
            runs.synthetic, {role} as role, {basis} as basis, measured.{metric.column} as value
        from {metric.dataset} as measured
        inner join run as runs on runs.study_id = measured.study_id and runs.run_id = measured.run_id
        where runs.study_id = ?
        order by runs.run_id, role, basis
        """,
        study,
    )
    if any(row["value"] is not None for row in all_rows):
        return all_rows
    counts = {
        other.name: build.rows(f"select count({other.column}) as n from {other.dataset} where study_id = ?", study)[0][
            "n"
        ]
        for other in METRICS.values()
    }
    filled = [name for name, count in counts.items() if count]
    raise ReportError(
        f"study {study!r} has no values of {metric.name}; it has {', '.join(filled) or 'no metric of runs'}"
    )


def _stratum(
    rows: Sequence[Row], metric: ComparisonMetric, column: str | None, wanted: str | None, name: str, usual: str | None
) -> str | None:
    """Return the one role or basis that the report is of; None if the metric has none."""
    if column is None:
        if wanted is not None:
            raise ReportError(f"{metric.name} has no {name}; leave --{name} out")
        return None
    there = sorted({row[name] for row in rows if row["value"] is not None and row[name] is not None})
    if wanted is None and len(there) == 1:
        return str(there[0])
    if wanted is None and usual in there:
        return usual
    if wanted not in there:
        what = f"several values of {name}" if wanted is None else f"no {name} {wanted!r}"
        raise ReportError(f"{metric.name} has {what}; give --{name} with one of {', '.join(there)}")
    return wanted


def _chosen(rows: Sequence[Row], question: ReportQuestion) -> tuple[list[Row], list[str]]:
    """Return the runs that the model is of, and texts that say how many others there are and why they are not in it."""
    left: list[str] = []

    def keep(candidates: Sequence[Row], is_kept: Callable[[Row], bool], why: str) -> list[Row]:
        kept = [row for row in candidates if is_kept(row)]
        if len(kept) < len(candidates):
            number = len(candidates) - len(kept)
            left.append(f"{number} {'run' if number == 1 else 'runs'}: {why}")
        return kept

    wanted = _conditions(question.where)
    for column, values in wanted.items():
        rows = keep(rows, lambda row, c=column, v=values: _matches(row[c], v), f"{column} is not {' or '.join(values)}")  # type: ignore[misc]
    for reason in sorted({row["exclusion_reason"] for row in rows if row["exclusion_reason"] is not None}):
        rows = keep(rows, lambda row, r=reason: row["exclusion_reason"] != r, f"excluded by the study, {reason}")  # type: ignore[misc]
    if "start_order" not in wanted and any(row["start_order"] not in ("solo", None) for row in rows):
        rows = keep(rows, lambda row: row["start_order"] != "solo", "solo, without competition")
    rows = keep(rows, lambda row: row["value"] is not None, f"no value of {question.metric}")
    for name, called in FACTORS_OF_MODEL.items():
        if any(row[name] is not None for row in rows):
            rows = keep(rows, lambda row, n=name: row[n] is not None, f"no {called} is known")  # type: ignore[misc]
    if not rows:
        raise ReportError(f"study {question.study!r} has no run for the model ({'; '.join(left)}); change --where")
    return list(rows), left


def _conditions(where: Sequence[str]) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for condition in where:
        column, _, value = condition.partition("=")
        conditions.setdefault(column, []).append(value)
    return conditions


def _matches(value: Any, wanted: Sequence[str]) -> bool:
    if isinstance(value, int | float):
        try:
            return any(float(one) == value for one in wanted)
        except ValueError:
            return False
    return value_text(value) in wanted


def _check_shared(rows: Sequence[Row], question: ReportQuestion) -> None:
    """Refuse runs that differ in a part of their configuration that the model does not have."""
    differing = {
        name: Counter(value_text(row[name]) for row in rows)
        for name in CONFIGURATION
        if name not in _DETERMINED and len({row[name] for row in rows}) > 1
    }
    if differing:
        said = " and ".join(f"{name} ({_list(sorted(counts))})" for name, counts in differing.items())
        choices = " ".join(f"--where {name}={counts.most_common(1)[0][0]}" for name, counts in differing.items())
        raise ReportError(
            f"runs of {question.study!r} differ in {said} too, and are not pooled; choose, such as {choices}"
        )


def _level(name: str, value: Any) -> str:
    if name == "bandwidth_bps" and value is not None:
        return f"{value / 1e6:g} Mbit/s"
    return value_text(value)


def _levels(rows: Sequence[Row], name: str) -> tuple[str, ...]:
    """Return the levels of a factor; the first is the baseline: the smallest tail-drop, cubic, the lowest rate."""

    def order(row: Row) -> tuple[Any, ...]:
        value = row[name]
        if name == "queue_label":
            sizes = (row["queue_size_bdp"], row["queue_limit_packets"], row["queue_size_bytes"])
            return (row["aqm"] != "tail-drop", *(size if size is not None else 0 for size in sizes), value_text(value))
        if name == "congestion_control":
            return (value != "cubic", value_text(value))
        return (value if value is not None else 0,)

    return tuple(dict.fromkeys(_level(name, row[name]) for row in sorted(rows, key=order)))


def _blocks(rows: Sequence[Row], rule: str | None) -> tuple[str, tuple[str | None, ...]]:
    """Return the rule by which runs are blocks, and the block of each run."""
    if rule is not None:
        return rule, tuple(_block(row, rule) for row in rows)
    for usual in BLOCKS:
        blocks = tuple(_block(row, usual) for row in rows)
        if all(block is not None for block in blocks):
            return usual, blocks
    return "none", (None,) * len(rows)


def _block(row: Row, rule: str) -> str | None:
    if rule == "block":
        return None if row["block"] is None else str(row["block"])
    if rule == "repetition":
        return None if row["repetition"] is None else str(row["repetition"])
    if rule == "session":
        return None if row["session_id"] is None else str(row["session_id"])
    try:
        match = re.search(rule, row["run_id"])
    except re.error as error:
        raise ReportError(f"--block {rule!r} is not a regular expression: {error}") from error
    if match is None:
        return None
    if not match.groups():
        raise ReportError(
            f"--block {rule!r} has no group; put the part that names the block in parentheses, such as {_AT_THE_END}"
        )
    return match[1]
