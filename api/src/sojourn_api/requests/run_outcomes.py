"""Requests for the scores of runs over groups of any columns."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn_api.catalogue import Catalogue, Column, Dataset
from sojourn_api.problems import invalid_parameter
from sojourn_api.requests.outcomes import OutcomeParameters, percentiles_of
from sojourn_api.requests.query_string import RequestContext, comma_list
from sojourn_api.requests.rows import group_columns
from sojourn_api.requests.run_scores import RUN_SCORES, Point, RunScore
from sojourn_api.requests.selection import Selection, select


@dataclass(frozen=True)
class RunOutcomeRequest:
    """The score of each group of runs: `group` ends with the columns that are part of every group.

    `points` are all of the score, from which ranks at the 95th percentile are known; those of `percentiles` are shown,
    or all without them.
    """

    score: RunScore
    dataset: Dataset
    selection: Selection
    group: tuple[Column, ...]
    points: tuple[Point, ...]
    percentiles: tuple[int, ...] | None


def run_outcome_request(
    name: str, catalogue: Catalogue, parameters: OutcomeParameters, context: RequestContext
) -> RunOutcomeRequest:
    """Return the request for a score of runs.

    Raises
    ------
    ProblemError
        404, when the build has no dataset of the score; 422, when a parameter is unknown or has a value that it cannot
        have, or the score is not known at a percentile; 406 for formats.
    """
    score = RUN_SCORES[name]
    dataset = catalogue.dataset(score.dataset)
    context.key.permit(dataset.name)
    columns = dataset.by_name
    wanted = comma_list("group", parameters.group) or ()
    selection = select(context, parameters, dataset, columns, wanted)
    group = group_columns(wanted, columns)
    always = tuple(column for one in score.always if (column := columns[one]) not in group)
    percentiles = None if parameters.percentiles is None else percentiles_of(parameters.percentiles)
    available = [point.percentile for point in score.points if point.percentile is not None]
    unknown = [one for one in percentiles or () if one not in available]
    if unknown:
        detail = (
            f"{name} of runs is known at {', '.join(map(str, available))}" if available else f"{name} has no percentile"
        )
        raise invalid_parameter("percentiles", detail, allowed=available)
    return RunOutcomeRequest(score, dataset, selection, (*group, *always), score.points, percentiles)
