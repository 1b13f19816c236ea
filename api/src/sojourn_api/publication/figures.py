"""The figures of the index page: each is a query of the API, so that its permalink is all that computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sojourn_api.publication.declaration import Publication
from sojourn_api.publication.permalinks import Answer, Permalink, Rows

FIGURES = "figures.json"


@dataclass(frozen=True)
class Figure:
    """A figure by its query. ``column`` of a figure with boxes is what they are of; a table shows the rows."""

    title: str
    meaning: str
    dataset: str
    query: str
    kind: Literal["boxes", "table"]
    needs: frozenset[str]
    group: tuple[str, ...] = ()
    column: str = ""


def _boxes(title: str, meaning: str, dataset: str, column: str, filters: str, group: str) -> Figure:
    functions = ",".join(f"{function}:{column}" for function in ("q05", "q25", "median", "q75", "q95"))
    query = "&".join(part for part in (filters, f"group={group}", f"aggregate={functions}") if part)
    columns = tuple(group.split(","))
    return Figure(title, meaning, dataset, query, "boxes", frozenset({*columns, column}), columns, column)


_SETTING = "study_id,queue_label,congestion_control"
_OVER_RUNS = (
    "Each box is of runs: quartiles, and lines from 5 % to 95 %. n is the number of runs with a value; excluded runs "
    "are left out."
)
DECLARED = (
    _boxes("Mean queuing delay of the application", _OVER_RUNS, "run_queuing_delay", "mean_ms", "role=app", _SETTING),
    _boxes("95th percentile of queuing delay", _OVER_RUNS, "run_queuing_delay", "p95_ms", "role=all", _SETTING),
    _boxes("Throughput harm to the application", _OVER_RUNS, "run_harm", "harm_ratio", "role=app", _SETTING),
    _boxes("Flow-rate equality", _OVER_RUNS, "run_flow_rate_equality", "flow_rate_equality", "", _SETTING),
    _boxes("Utilisation of the bottleneck", _OVER_RUNS, "run_utilisation", "utilisation_mean_ratio", "", _SETTING),
    _boxes(
        "Voice quality (MOS of the E-model)", _OVER_RUNS, "run_voice_quality", "mos", "", f"{_SETTING},qoe_model_id"
    ),
    _boxes(
        "Delay under load, as tools measured it",
        _OVER_RUNS,
        "run_load_delay",
        "loaded_median_ms",
        "",
        "study_id,queue_label,role,delay_basis",
    ),
    Figure(
        "What each queue changes for the application, compared with the baseline",
        "Difference of the medians of the mean queuing delay with its interval; treatment_n is the number of runs.",
        "comparison",
        "metric=queuing_delay_mean&factor=aqm&role=app&select=study_id,queue_label,baseline_queue_label,"
        "congestion_control,treatment_n,verdict",
        "table",
        frozenset({"metric", "factor", "role", "baseline_queue_label", "treatment_n", "verdict"}),
    ),
    Figure(
        "Queuing delay of connections, by quantile",
        "Quantiles over connections of each data set and period; connections is their number.",
        "connection_queuing_delay_quantile",
        "period_kind=all&quantile_ratio__in=0.5,0.95,0.99&select=dataset,period,synthetic,rtt_basis,"
        "access_technology,quantile_ratio,queuing_delay_ms,connections,is_upper_bound",
        "table",
        frozenset({"period_kind", "quantile_ratio", "queuing_delay_ms", "connections", "is_upper_bound"}),
    ),
)


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with the rows of its permalink."""

    figure: Figure
    permalink: Permalink
    answer: Answer

    def document(self) -> dict[str, Any]:
        """Return the figure as figures.json has it."""
        return {
            "title": self.figure.title,
            "permalink": str(self.permalink),
            "columns": [column.as_json() for column in self.answer.columns],
            "rows": list(self.answer.rows),
        }


def drawn_figures(publication: Publication, rows: Rows) -> tuple[DrawnFigure, ...]:
    """Return the declared figures of which the publication has the dataset, the columns and at least one row."""
    published = {dataset.name: dataset.dataset for dataset in publication.datasets}
    found = []
    for figure in DECLARED:
        dataset = published.get(figure.dataset)
        # Builds of other versions may lack a column.
        if dataset is None or not figure.needs <= set(dataset.by_name):
            continue
        permalink = Permalink(publication.build_id, figure.dataset, figure.query)
        answer = rows.answer(permalink)
        answer = Answer(answer.columns, tuple(row for row in answer.rows if _has_value(figure, row)))
        if answer.rows:
            found.append(DrawnFigure(figure, permalink, answer))
    return tuple(found)


def _has_value(figure: Figure, row: dict[str, Any]) -> bool:
    return figure.kind == "table" or row[f"median_{figure.column}"] is not None
