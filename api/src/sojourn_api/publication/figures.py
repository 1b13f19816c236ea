"""The figures of the index page: each is a query of the API, so that its permalink is all that computes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sojourn_api.publication.declaration import Publication
from sojourn_api.publication.permalinks import Answer, Permalink, Rows
from sojourn_statistics.comparison.metrics import CONFIGURATION, OF_RUN, QUEUE_SIZE

FIGURES = "figures.json"


@dataclass(frozen=True)
class Boxes:
    """A figure of box plots over runs, one for each value of what is kept ``apart`` and each setting that differs."""

    title: str
    dataset: str
    column: str
    filters: str = ""
    apart: tuple[str, ...] = ()
    axis_from: float = 0.0

    @property
    def needs(self) -> frozenset[str]:
        """The columns without which it cannot be drawn."""
        return frozenset({"study_id", "queue_label", *self.apart, self.column})

    def figure(self, columns: Collection[str], build_id: str, rows: Rows) -> Figure:
        """Return the figure of a dataset with these columns. Nothing pools a setting that has several values."""
        settings = [column for column in SETTINGS if column in columns]
        rows_of_boxes = rows.answer(
            Permalink(build_id, self.dataset, self._query([*self.apart, *settings], "count"))
        ).rows
        varied = [column for column in settings if len({row[column] for row in rows_of_boxes}) > 1]
        group = (*ALWAYS, *(column for column in varied if column not in ALWAYS), *self.apart)
        functions = ",".join(f"{function}:{self.column}" for function in ("q05", "q25", "median", "q75", "q95"))
        shared = [
            f"{column} {rows_of_boxes[0][column]}" for column in settings if rows_of_boxes and column not in group
        ]
        said = f" Of all runs: {', '.join(each for each in shared if not each.endswith(' None'))}." if shared else ""
        return Figure(
            self.title,
            OVER_RUNS + said,
            self.dataset,
            self._query(group, functions),
            "boxes",
            self.needs,
            group,
            self.column,
            self.axis_from,
        )

    def _query(self, group: Iterable[str], aggregate: str) -> str:
        parts = (self.filters, f"group={','.join(group)}", f"aggregate={aggregate}")
        return "&".join(part for part in parts if part)


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
    axis_from: float = 0.0


ALWAYS = ("study_id", "queue_label")
SETTINGS = (*ALWAYS, *(part for part in CONFIGURATION if part not in (*ALWAYS, "aqm", *QUEUE_SIZE, *OF_RUN)))
"""What is set for a run, in the order of a group's name."""
OVER_RUNS = (
    "Each box shows runs: quartiles, and lines from 5 % to 95 %. n is the number of runs with a value; excluded runs "
    "are left out."
)
DECLARED: tuple[Boxes | Figure, ...] = (
    Boxes("Mean queuing delay of the application", "run_queuing_delay", "mean_ms", "role=app"),
    Boxes("95th percentile of queuing delay, all packets", "run_queuing_delay", "p95_ms", "role=all"),
    Boxes("Throughput harm to the application", "run_harm", "harm_ratio", "role=app"),
    Boxes("Flow-rate equality", "run_flow_rate_equality", "flow_rate_equality"),
    Boxes("Utilisation of the bottleneck", "run_utilisation", "utilisation_mean_ratio"),
    Boxes("Voice quality (MOS of the E-model)", "run_voice_quality", "mos", "qoe_model_id=g107-network", axis_from=1.0),
    Boxes(
        "Delay under load, as tools measured it",
        "run_load_delay",
        "loaded_median_ms",
        apart=("role", "delay_basis"),
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
    figures = []
    for declared in DECLARED:
        dataset = published.get(declared.dataset)
        # Builds of other versions may lack a column.
        if dataset is None or not declared.needs <= set(dataset.by_name):
            continue
        figure = declared
        if isinstance(figure, Boxes):
            figure = figure.figure(dataset.by_name, publication.build_id, rows)
        permalink = Permalink(publication.build_id, figure.dataset, figure.query)
        answer = rows.answer(permalink)
        answer = Answer(answer.columns, tuple(row for row in answer.rows if _has_value(figure, row)))
        if answer.rows:
            figures.append(DrawnFigure(figure, permalink, answer))
    return tuple(figures)


def _has_value(figure: Figure, row: dict[str, Any]) -> bool:
    return figure.kind == "table" or row[f"median_{figure.column}"] is not None
