"""What all requests for data share: format, filters, the treatment of excluded runs. It is prepared only here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from sojourn_api.catalogue import Column, Dataset
from sojourn_api.formats import MEDIA_TYPES, negotiate
from sojourn_api.problems import ProblemError
from sojourn_api.requests.exclusion import INCLUDE, LEAVE_OUT, excluded_runs
from sojourn_api.requests.filters import IN, NOT_EQUAL, Condition, Filters, parse_filters
from sojourn_api.requests.query_string import Items, OneOf, RequestContext
from sojourn_api.requests.value_words import MOST_VALUES, known_value
from sojourn_api.safety.keys import Key

STUDY = "study_id"
"""The column by which rows are of a study."""

REFUSE, ALLOW = "refuse", "allow"
FORMULAS = "formulas"

Text = str | SkipJsonSchema[None]
"""An optional parameter."""


class DataParameters(BaseModel):
    """Parameters of every data endpoint; those of one endpoint follow in a class of its own.

    Any other name in the query string is a filter.
    """

    model_config = ConfigDict(frozen=True)

    format: Annotated[Text, OneOf(tuple(MEDIA_TYPES))] = Field(
        default=None, description="Format of the response; default: as in the Accept header."
    )
    escape: Annotated[Text, OneOf((FORMULAS,))] = Field(
        default=None,
        description="`formulas` puts an apostrophe before each text that a spreadsheet would compute, such as one that "
        "begins with `=`. By default, texts are returned unchanged.",
    )
    excluded: Annotated[Text, OneOf((LEAVE_OUT, INCLUDE))] = Field(
        default=None,
        description="What to do with excluded runs. Rows include them (with `exclusion_reason`); aggregates and "
        "distributions leave them out, unless the request itself filters or groups by `exclusion_reason`.",
    )

    unknown_values: Annotated[Text, OneOf((REFUSE, ALLOW))] = Field(
        default=None,
        description="What to do with a filter value that no row has: `refuse` it, the default, or `allow` it. "
        f"Columns with more than {MOST_VALUES} values are not checked.",
    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names that are not filters: those of the endpoint first, then those of every endpoint."""
        shared = tuple(DataParameters.model_fields)
        return (*(name for name in cls.model_fields if name not in shared), *shared)


@dataclass(frozen=True)
class Selection:
    """Which rows of a dataset a request is of, and the form of the response.

    `key` identifies the result among all requests to one build: two formats of it, escaped or not, are one result.
    """

    key: tuple[str, Items, str]
    format: str
    escapes_formulas: bool
    filters: Filters
    excluded: str


def permit_columns(key: Key, columns: Mapping[str, Column]) -> None:
    """Refuse rows that are of no study to a key of some studies.

    Raises
    ------
    ProblemError
        403, if the key reads some studies and rows are of none.
    """
    if key.studies is not None and STUDY not in columns:
        raise ProblemError(
            "forbidden", "this key has access to only some studies, but rows of this dataset belong to no study"
        )


def of_studies(key: Key, columns: Mapping[str, Column], filters: Filters) -> Filters:
    """Return filters to which those of a key are added, for which `permit_columns` holds."""
    return filters if key.studies is None else filters.and_also(Condition(columns[STUDY], IN, key.studies))


def with_known_values(context: RequestContext, dataset: Dataset, filters: Filters) -> Filters:
    """Return filters whose values are those of rows, where a request gives a label instead.

    Raises
    ------
    ProblemError
        422, when no row of the dataset has a value.
    """
    if context.values_of is None or not dataset.rows:
        return filters
    conditions = []
    for condition in filters.conditions:
        # A number of single precision is compared with others as DuckDB rounds it.
        is_checked = condition.operator in (IN, NOT_EQUAL) and condition.column.type != "FLOAT"
        values = context.values_of(dataset, condition.column) if is_checked else None
        if values is not None:
            name, column = condition.column.name, condition.column
            condition = replace(
                condition, values=tuple(known_value(name, one, column, values) for one in condition.values)
            )
        conditions.append(condition)
    return replace(filters, conditions=tuple(conditions))


def select(
    context: RequestContext,
    parameters: DataParameters,
    dataset: Dataset,
    columns: Mapping[str, Column],
    group: Sequence[str] = (),
    excluded: str = LEAVE_OUT,
) -> Selection:
    """Return the selection of a request.

    Parameters
    ----------
    context : RequestContext
    parameters : DataParameters
    dataset : Dataset
    columns : mapping of str to Column
        The columns that may be filtered.
    group : sequence of str
        The columns that the request groups by.
    excluded : str
        What is done with excluded runs where the request does not say.

    Raises
    ------
    ProblemError
        422 for a parameter that is unknown or given twice, for a value that its column cannot have, and for one that no
        row has; 403 when rows are of no study and the key is of some; 406 when no format of the service is accepted.
    """
    permit_columns(context.key, columns)
    names = parameters.names()
    context.refuse_repeated(names)
    filters = parse_filters(context.items, columns, names)
    if parameters.unknown_values != ALLOW:
        filters = with_known_values(context, dataset, filters)
    format_name = negotiate(parameters.format, context.accept)
    filters, treatment = excluded_runs(parameters.excluded, columns, filters, group, excluded)
    filters = of_studies(context.key, columns, filters)
    return Selection(
        (context.path, tuple(sorted(context.without("format", "escape"))), context.key.scope),
        format_name,
        parameters.escape == FORMULAS,
        filters,
        treatment,
    )
