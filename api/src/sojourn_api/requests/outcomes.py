"""Requests for scores of quality of outcome over groups of runs or connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from sojourn_api.catalogue import Catalogue
from sojourn_api.distribution_metrics import METRICS
from sojourn_api.distribution_statistics import DEFAULT_STATISTIC, STATISTICS, Arguments
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.requests.distributions import DistributionRequest, dimensions, replicated_dataset, replication
from sojourn_api.requests.query_string import MetricName, RequestContext, comma_list
from sojourn_api.requests.rows import group_columns
from sojourn_api.requests.run_scores import RUN_SCORES
from sojourn_api.requests.selection import STUDY, DataParameters, Text, select

DEFAULT_PERCENTILES: Final = ("50", "75", "90", "95", "99")
REFERENCE: Final = "95"
"""The percentile whose ranks those of the others are compared with."""
MOST_PERCENTILES: Final = 20

SCORED: Final = ("queuing_delay", "connection_queuing_delay", "rtt", "capture_queuing_delay")
"""The metrics of distributions whose medians over replicates have scores."""

OutcomeMetric = Annotated[str, MetricName((*SCORED, *RUN_SCORES))]


class OutcomeParameters(DataParameters):
    """Parameters of ``/v1/outcomes/{metric}``."""

    group: Text = Field(
        default=None, description="Columns to group by, comma-separated, in addition to the basis of measurement."
    )
    percentiles: Text = Field(
        default=None,
        description=f"Whole numbers from 1 to 99, comma-separated; default: {', '.join(DEFAULT_PERCENTILES)}. "
        "Scores of runs: 50, 95, 99.",
    )


@dataclass(frozen=True)
class OutcomeRequest:
    """Scores of groups: `replicated` is the request for the distribution of each replicate of each group."""

    replicated: DistributionRequest
    replication_unit: str
    percentiles: tuple[int, ...]


def percentiles_of(text: str | None) -> tuple[int, ...]:
    """Return the percentiles of ``percentiles=50,95``; raises ProblemError for one that is none."""
    texts = comma_list("percentiles", text) or DEFAULT_PERCENTILES
    if len(texts) > MOST_PERCENTILES:
        raise invalid_parameter("percentiles", f"{len(texts)} values; at most {MOST_PERCENTILES}")
    for one in texts:
        if not (one.isascii() and one.isdigit() and len(one) <= 2 and 1 <= int(one) <= 99):
            raise invalid_parameter("percentiles", f"{quoted(one)} is not a whole number from 1 to 99")
    if len({int(one) for one in texts}) != len(texts):
        raise invalid_parameter("percentiles", "a percentile occurs twice in the list")
    return tuple(int(one) for one in texts)


def outcome_request(
    name: str, catalogue: Catalogue, parameters: OutcomeParameters, context: RequestContext
) -> OutcomeRequest:
    """Return the request for scores of a metric.

    Raises
    ------
    ProblemError
        404, when the build has no dataset of the metric; 422, when a parameter is unknown or has a value that it cannot
        have, or no dataset has the columns of the group by day, month or run; 406 for formats.
    """
    metric = METRICS[name]
    names = parameters.names()
    context.refuse_repeated(names)
    wanted = comma_list("group", parameters.group) or ()
    filters = tuple(one for one, _ in context.items if one not in names)
    studies = [] if context.key.studies is None else [STUDY]
    dataset, unit, replicate = replicated_dataset(metric, catalogue, (*filters, *studies), wanted, metric.replicates)
    columns = dimensions(dataset)
    context.key.permit(dataset.name)
    selection = select(context, parameters, dataset, columns, wanted)
    group = group_columns(wanted, columns)
    always = tuple(column for one in metric.always if (column := dataset.by_name[one]) not in group)
    keys = (*group, *always)
    over = replication(dataset, keys, unit, replicate, "group")
    percentiles = percentiles_of(parameters.percentiles)
    quantiles = tuple(percentile / 100 for percentile in sorted({*percentiles, int(REFERENCE)}))
    replicated = DistributionRequest(
        metric, dataset, selection, keys, STATISTICS[DEFAULT_STATISTIC], Arguments(quantiles=quantiles), over
    )
    return OutcomeRequest(replicated, unit, percentiles)
