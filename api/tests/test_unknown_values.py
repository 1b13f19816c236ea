"""A filter value that no row has is said, in every format and in the client; labels are read as their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from sojourn_api.formats import MEDIA_TYPES
from sojourn_api.requests.value_words import WORDS, ColumnValues, labelled_value
from sojourn_api.suggestions import plain

HARM = "/v1/datasets/run_harm/rows"
ADDRESSES = {
    "rows": HARM,
    "groups": f"{HARM}?aggregate=median:harm_ratio",
    "distribution": "/v1/distributions/queuing_delay",
    "outcome": "/v1/outcomes/queuing_delay",
    "comparison": "/v1/comparisons/harm?factor=aqm&baseline=tail-drop",
}


@pytest.mark.parametrize("format_name", MEDIA_TYPES)
@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_value_that_no_row_has_is_named_with_those_that_rows_have(
    client: TestClient, address: str, format_name: str
) -> None:
    response = client.get(address, params={**_query(address), "role": "server", "format": format_name})
    assert response.status_code == 422
    problem = response.json()
    assert problem["type"] == "urn:sojourn:problem:unknown-value"
    assert problem["detail"] == "no row has role=server; values: app, tcp"
    assert (problem["parameter"], problem["known"]) == ("role", ["app", "tcp"])


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
@pytest.mark.parametrize(
    "labels", [{"role": "application"}, {"aqm": ["FQ-CoDel", "Tail drop"]}, {"aqm__in": "FQ-CoDel,tail-drop"}]
)
def test_a_label_is_read_as_its_value(client: TestClient, address: str, labels: dict[str, Any]) -> None:
    values: dict[str, Any] = {"role": "app"} if "role" in labels else {"aqm": ["fq_codel", "tail-drop"]}
    of_label, of_value = (client.get(address, params={**_query(address), **query}) for query in (labels, values))
    assert of_label.status_code == 200
    assert of_label.json()["rows"] == of_value.json()["rows"] != []


@pytest.mark.parametrize(
    ("value", "other"),
    [("tail-drop 1.0 BDP", "tail-drop 10 BDP"), ("-5", "5"), ("delay -5 ms", "delay 5 ms"), (".5", "5"),
     ("1e-5", "1e5"), ("cubic-1-11", "cubic-11-1"), ("cubic-1-11", "cubic-111"), ("<5", ">5"), ("5 %", "5"),
     ("1,5", "15")],
)  # fmt: skip
def test_a_value_is_not_the_label_of_another(value: str, other: str) -> None:
    assert labelled_value(value, ColumnValues([other])) is None
    assert labelled_value(other, ColumnValues([value])) is None


@pytest.mark.parametrize(
    ("label", "value"),
    [("Tail drop (10 BDP)", "tail-drop 10 BDP"), ("CUBIC 1", "cubic-1"), ("BBR 3", "bbr3"), ("BBRv3", "bbr3")],
)
def test_case_and_separators_make_no_other_value(label: str, value: str) -> None:
    assert labelled_value(label, ColumnValues(["other", value])) == value


@pytest.mark.parametrize(("column", "label"), [("run_id", "CODEL-bbr-0"), ("study_id", "S 1")])
def test_an_identifier_has_no_label(client: TestClient, column: str, label: str) -> None:
    assert client.get(HARM, params={column: label}).status_code == 422


def test_one_unknown_value_among_others_is_refused(client: TestClient) -> None:
    response = client.get(HARM, params={"aqm": ["codel", "codl"]})
    assert response.json()["detail"] == "no row has aqm=codl; values: codel, fq_codel, tail-drop"
    assert client.get(HARM, params={"aqm__ne": "codl"}).status_code == 422


def test_numbers_and_truth_are_compared_as_such(client: TestClient) -> None:
    detail = client.get(HARM, params={"bandwidth_bps": 3_000_000}).json()["detail"]
    assert detail == "no row has bandwidth_bps=3000000; values: 1000000, 2000000"
    assert client.get(HARM, params={"synthetic": "true"}).json()["detail"] == "no row has synthetic=true; values: false"


def test_of_many_values_the_closest_are_named(client: TestClient) -> None:
    problem = client.get(HARM, params={"run_id": "codel-bbr-O"}).json()
    assert problem["detail"].startswith("no row has run_id=codel-bbr-O; it has 36 values, close to it: codel-bbr-")
    assert {f"codel-bbr-{number}" for number in range(4)} <= set(problem["known"])


def test_who_asks_for_it_gets_an_answer_without_rows(client: TestClient) -> None:
    response = client.get(HARM, params={"role": "server", "unknown_values": "allow"})
    assert (response.status_code, response.json()["rows"]) == (200, [])


def test_values_that_no_row_has_together_are_an_answer(client: TestClient) -> None:
    response = client.get(HARM, params={"study_id": "s-2", "run_id": "codel-bbr-0"})
    assert (response.status_code, response.json()["rows"]) == (200, [])


def test_a_key_of_some_studies_learns_no_values_of_others(serve: Any) -> None:
    client = serve(api_keys=(f"{'k' * 32};studies=s-2",))
    query = {"run_id__in": "codel-bbr-0,codel-bbr-3"}
    problem = client.get(HARM, params=query, headers={"X-API-Key": "k" * 32}).json()
    assert problem["detail"] == ("no row has run_id=codel-bbr-0; values: " + ", ".join(sorted(problem["known"])))
    assert {run_id[-1] for run_id in problem["known"]} == {"3"}


def test_a_baseline_may_be_a_label(client: TestClient) -> None:
    answers = [
        client.get("/v1/comparisons/harm", params={"factor": "aqm", "baseline": baseline})
        for baseline in ("fq_codel", "FQ-CoDel")
    ]
    assert answers[0].json()["rows"] == answers[1].json()["rows"] != []


def test_every_word_that_dashboards_show_for_a_role_or_order_is_read(repository: Path) -> None:
    look = yaml.safe_load((repository / "dashboards/assets/look.yaml").read_text())
    names = {key: each["name"] for key, each in look["congestion_control"].items()}
    words = look["value_words"]
    shown = {key: words[key] for key in ("app", "app_first", "tcp", "tcp_first", "rival", "rival_first", "solo")}
    for value, label in {**names, **shown}.items():
        assert WORDS.get(label) == value or plain(label) == plain(value), label


def _query(address: str) -> dict[str, str]:
    return dict(part.split("=") for part in address.partition("?")[2].split("&") if part)
