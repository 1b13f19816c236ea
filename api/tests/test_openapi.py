"""The OpenAPI document: what is fixed is an enumeration, and every example in it is a request that succeeds."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pyarrow as pa
import pytest
from api.tests.wild_connections import add_connections, drawn
from fastapi.testclient import TestClient

from sojourn_api.app import create_app
from sojourn_api.distribution_metrics import METRICS
from sojourn_api.distribution_statistics import STATISTICS
from sojourn_api.formats import MEDIA_TYPES
from sojourn_api.openapi import written
from sojourn_api.requests.comparisons import LEVELS
from sojourn_api.responses import ResultDocument
from sojourn_api.settings import Settings
from sojourn_api.share_metrics import SHARE_FACTORS, SHARE_METRICS
from sojourn_client import Answers, parameters
from sojourn_statistics.comparison.metrics import FACTORS
from sojourn_statistics.comparison.metrics import METRICS as COMPARED
from sojourn_statistics.findings.finding import COLUMNS
from sojourn_statistics.significance.multiplicity import CORRECTIONS

DOCUMENT: dict[str, Any] = create_app(Settings()).openapi()
OPERATIONS = {path: methods["get"] for path, methods in DOCUMENT["paths"].items()}
DISTRIBUTIONS, COMPARISONS = "/v1/distributions/{metric}", "/v1/comparisons/{metric}"


def requests_in(path: str) -> dict[str, dict[str, Any]]:
    """The examples of an address as whole requests: by name, the value of each parameter."""
    requests: dict[str, dict[str, Any]] = {}
    for parameter in OPERATIONS[path].get("parameters", []):
        for name, example in parameter.get("examples", {}).items():
            value = example["value"]
            requests.setdefault(name, {}).update(value if isinstance(value, dict) else {parameter["name"]: value})
    return requests


def examples() -> Iterator[tuple[str, str]]:
    """Each example with the address that it is sent to; of addresses without parameters the address itself."""
    for path, operation in OPERATIONS.items():
        in_path = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
        for values in requests_in(path).values():
            address = path
            for name in in_path:
                address = address.replace(f"{{{name}}}", quote(values[name]))
            query = "&".join(f"{name}={quote(value)}" for name, value in values.items() if name not in in_path)
            yield path, f"{address}?{query}"
        if not in_path:
            yield path, path


EXAMPLES = list(examples())
FINDING = {
    "finding_id": "queue/sojourn-sample",
    "question": "queue",
    "study_id": "sojourn-sample",
    "bandwidth_bps": 1_000_000,
    "verdict": "best",
    "sentence": "Run FQ-CoDel.",
    "value": 20.8,
}
OF_STUDY = {"finding_id": "study/tma23-imvca", "question": "study", "study_id": "tma23-imvca", "verdict": "agrees"}


@pytest.fixture(scope="module")
def everything(build: Any, write: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a build of runs, of connections in the wild, and of a finding."""
    made = type(build)(dict(build.tables), dict(build.keys))
    add_connections(made, drawn())
    schema = pa.schema([(column.name, column.type) for column in COLUMNS])
    made.add("finding", ["finding_id"], schema, [FINDING, OF_STUDY])
    folder = write(tmp_path_factory.mktemp("everything"), made, "b1")
    with TestClient(create_app(Settings(snapshots=folder)), raise_server_exceptions=False) as client:
        yield client


def test_the_committed_document_is_what_the_service_answers(everything: TestClient, repository: Path) -> None:
    committed = (repository / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert committed == written(everything.get("/openapi.json").json()), (
        "the API changed; judge the change by docs/api.md#stability, then run make docs"
    )


def test_every_reference_in_the_document_leads_somewhere() -> None:
    references = re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(DOCUMENT))
    assert any(reference.endswith("/Problem") for reference in references)
    for reference in references:
        node: Any = DOCUMENT
        for part in reference.split("/"):
            node = node[part]
        assert node["type"] == "object"


def test_the_client_s_types_are_the_document_s_enumerations() -> None:
    for path, name, alias in (
        (DISTRIBUTIONS, "metric", parameters.DistributionMetric),
        (DISTRIBUTIONS, "statistic", parameters.Statistic),
        (DISTRIBUTIONS, "excluded", parameters.Excluded),
        (DISTRIBUTIONS, "bins_per_octave", parameters.BinsPerOctave),
        (DISTRIBUTIONS, "over", parameters.ReplicationUnit),
        (DISTRIBUTIONS, "escape", parameters.Escape),
        (COMPARISONS, "metric", parameters.ComparedMetric),
        (COMPARISONS, "factor", parameters.Factor),
        (COMPARISONS, "analysis", parameters.Analysis),
        (COMPARISONS, "correction", parameters.Correction),
    ):
        assert [str(value) for value in get_args(alias)] == _parameters(path)[name]["schema"]["enum"], name


def test_the_client_s_methods_take_the_parameters_of_their_address() -> None:
    # A client reads whole answers and chooses the format; how to treat unknown values and formulas is set when it is
    # created.
    own = {"filters", "format", "cursor", "name", "metric", "unknown_values", "escape"}
    for path, method in (
        ("/v1/datasets/{name}/rows", Answers.rows),
        (DISTRIBUTIONS, Answers.distribution),
        (COMPARISONS, Answers.comparisons),
    ):
        taken = inspect.signature(method).parameters.values()
        keywords = {parameter.name for parameter in taken if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
        assert keywords == set(_parameters(path)) - own


def test_every_address_of_data_has_examples() -> None:
    assert all(len(requests_in(path)) >= 2 for path in OPERATIONS if "format" in _parameters(path))
    assert {path for path, _ in EXAMPLES} >= {DISTRIBUTIONS, COMPARISONS, "/v1/datasets/{name}/rows", "/v1/studies"}


@pytest.mark.parametrize(("path", "url"), EXAMPLES, ids=[url for _, url in EXAMPLES])
def test_every_example_is_a_request_that_succeeds(everything: TestClient, path: str, url: str) -> None:
    response = everything.get(url)
    assert response.status_code == 200, response.text
    shown = OPERATIONS[path]["responses"]["200"]["content"].get("application/json", {}).get("example")
    if shown is not None:
        body = response.json()
        assert set(body) == set(shown), "the example of an answer has other members than an answer"
        for answer in (shown, body):
            ResultDocument.model_validate(answer, strict=True)
        assert body["rows"], "an example that finds nothing explains nothing"


def _parameters(path: str) -> dict[str, dict[str, Any]]:
    return {parameter["name"]: parameter for parameter in OPERATIONS[path].get("parameters", [])}


def test_every_parameter_is_described_and_shown() -> None:
    for path in OPERATIONS:
        for name, parameter in _parameters(path).items():
            if parameter["in"] == "query":
                assert parameter["description"], (path, name)
            # A cursor is of one build; the addresses of one dataset without a query need no example of it.
            if name != "cursor" and "format" in _parameters(path):
                assert parameter.get("examples"), (path, name)


@pytest.mark.parametrize(
    ("path", "name", "allowed"),
    [
        (DISTRIBUTIONS, "metric", METRICS),
        (DISTRIBUTIONS, "statistic", STATISTICS),
        (DISTRIBUTIONS, "format", MEDIA_TYPES),
        (COMPARISONS, "metric", (*COMPARED, *SHARE_METRICS)),
        (COMPARISONS, "factor", (*FACTORS, *SHARE_FACTORS)),
        (COMPARISONS, "correction", CORRECTIONS),
        (COMPARISONS, "level", LEVELS),
        (COMPARISONS, "excluded", ("leave_out", "include")),
    ],
)
def test_what_is_fixed_is_an_enumeration(path: str, name: str, allowed: Any) -> None:
    assert _parameters(path)[name]["schema"]["enum"] == list(allowed)


def test_a_whole_number_is_one_in_the_document() -> None:
    schema = _parameters("/v1/datasets/{name}/rows")["limit"]["schema"]
    assert (schema["type"], schema["minimum"]) == ("integer", 1)
