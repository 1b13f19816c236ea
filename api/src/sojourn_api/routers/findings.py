"""Findings: the sentence that answers a question, with its verdict and numbers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.requests.rows import RowsParameters
from sojourn_api.responses import ResultDocument, documented_formats
from sojourn_api.routers import rows
from sojourn_api.safety.authentication import require_key

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

_REQUESTS: Examples = {
    "which queue to run on a link": {
        "question": "queue",
        "study_id": "sojourn-sample",
        "bandwidth_bps": "1000000",
        "select": "verdict,sentence,value,value_lower,value_upper,metric_unit,n",
        "order": "-value",
        "limit": "10",
    },
    "a sample of the findings": {
        "question": "study",
        "sample": "0.9",
        "seed": "1",
    },
    "how often each verdict occurs": {
        "question": "queue",
        "group": "verdict",
        "aggregate": "median:value",
        "excluded": "include",
        "unknown_values": "refuse",
        "escape": "formulas",
        "format": "json",
    },
}
_ANSWER = {
    "build_id": "0f3a5c7e9b1d2f46",
    "dataset": "finding",
    "excluded": "leave_out",
    "columns": [
        {"name": "verdict", "type": "VARCHAR", "unit": None},
        {"name": "sentence", "type": "VARCHAR", "unit": None},
        {"name": "value", "type": "DOUBLE", "unit": None},
        {"name": "value_lower", "type": "DOUBLE", "unit": None},
        {"name": "value_upper", "type": "DOUBLE", "unit": None},
        {"name": "metric_unit", "type": "VARCHAR", "unit": None},
        {"name": "n", "type": "BIGINT", "unit": None},
    ],
    "rows": [
        {
            "verdict": "best",
            "sentence": "Run FQ-CoDel. Whichever TCP competes, 95 % of the application's packets wait at most 21 ms, "
            "against 54 ms with CoDel.",
            "value": 20.8,
            "value_lower": 20.6,
            "value_upper": 21.4,
            "metric_unit": "ms",
            "n": 7,
        }
    ],
    "row_count": 1,
    "next_cursor": None,
}
SHOWN = Shown(_REQUESTS, _ANSWER)


@router.get(
    "/findings",
    summary="Findings: answers to questions, with their numbers",
    response_model=ResultDocument,
    responses={
        **documented_formats("A page of findings, in a total order"),
        **rows.PROBLEMS,
    },
    openapi_extra=WITH_FILTERS,
)
def findings(request: Request, parameters: Annotated[RowsParameters, Query()]) -> Response:
    """Return rows of the dataset `finding`: the verdict on a question for each setting, its sentence and first number.

    `question` is `queue`, `run`, `marks`, `study`, `wild`, `access`, `captures`, `tools` or `trust`; every other
    column filters too. `run_id__null=true` leaves out findings about individual runs. `finding_number` has the other
    numbers.
    """
    return rows.rows(request, "finding", parameters)
