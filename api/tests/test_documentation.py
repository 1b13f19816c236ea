"""docs/api.md, the OpenAPI description and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sojourn_api import problems
from sojourn_api.distribution_metrics import METRICS
from sojourn_api.distribution_statistics import STATISTICS
from sojourn_api.formats import MEDIA_TYPES
from sojourn_api.requests.comparisons import LEVELS
from sojourn_api.requests.rows import AGGREGATES
from sojourn_api.settings import Settings
from sojourn_api.share_metrics import SHARE_FACTORS, SHARE_METRICS
from sojourn_statistics.comparison.metrics import FACTORS
from sojourn_statistics.comparison.metrics import METRICS as COMPARED
from sojourn_statistics.significance.multiplicity import CORRECTIONS

TEXT = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
CODE = set(re.findall(r"`([^`\n]+)`", TEXT))


def test_every_endpoint_is_documented(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert len(paths) >= 9
    missing = [path for path in paths if f"`GET {path}`" not in TEXT]
    assert missing == []


def test_every_documented_endpoint_exists(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    documented = set(re.findall(r"`GET (/[^`]*)`", TEXT))
    assert documented - set(paths) == {"/docs", "/openapi.json"}


SECTIONS = {
    "/v1/datasets/{name}/rows": "## Rows",
    "/v1/distributions/{metric}": "## Distributions",
    "/v1/outcomes/{metric}": "## Outcomes",
    "/v1/comparisons/{metric}": "## Comparisons",
}
SHARED = ("format", "excluded")
"""Documented once, with rows, to which the other sections refer."""


@pytest.mark.parametrize("path", SECTIONS)
def test_every_parameter_has_a_row_in_the_section_of_its_address(client: TestClient, path: str) -> None:
    parameters = client.get("/openapi.json").json()["paths"][path]["get"]["parameters"]
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "query"} - {"filters"}
    section = TEXT.partition(f"\n{SECTIONS[path]}\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    referred = set(re.findall(r"`(\w+)`", section.partition("the parameters are:")[0].rpartition("Besides")[2]))
    assert names - listed - referred == set()


def test_every_problem_setting_format_and_function_is_documented() -> None:
    settings = [f"SOJOURN_{name.upper()}" for name in Settings.model_fields]
    wanted = [*problems.KINDS, *settings, *MEDIA_TYPES, *MEDIA_TYPES.values(), *AGGREGATES, *STATISTICS, *METRICS]
    assert [word for word in wanted if word not in CODE] == []
    for kind, meaning in problems.KINDS.items():
        assert re.search(rf"\| {meaning.status} \| `{kind}` \|", TEXT), kind


def test_every_compared_metric_factor_and_choice_is_documented() -> None:
    wanted = [*COMPARED, *SHARE_METRICS, *FACTORS, *SHARE_FACTORS, *CORRECTIONS, *LEVELS]
    assert [word for word in wanted if word not in CODE] == []


def test_every_endpoint_has_a_summary_a_description_and_its_problems(client: TestClient) -> None:
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        assert set(methods) == {"get"}
        operation = methods["get"]
        assert operation["summary"]
        assert operation["description"]
        assert "422" in operation["responses"], path
        if path.startswith("/v1"):
            assert {"401", "503"} <= set(operation["responses"]), path
