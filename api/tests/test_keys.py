"""Keys with limits: which studies and datasets they read, and how often they ask."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sojourn_api.safety.keys import Key, Rates, parse_key
from sojourn_api.settings import Settings

ALL, ONE_STUDY, TWO_DATASETS = "all", "one", "two"
KEYS = f"{ALL},{ONE_STUDY};studies=s-1,{TWO_DATASETS};datasets=run study"


def get(client: Any, address: str, key: str) -> Any:
    return client.get(address, headers={"X-API-Key": key})


def test_a_key_of_a_study_reads_its_rows_everywhere_and_no_others(serve: Any, build: Any) -> None:
    client = serve(api_keys=KEYS)
    expected = [row for row in build.rows("run_harm") if row["study_id"] == "s-1"]
    assert 0 < len(expected) < len(build.rows("run_harm"))
    assert get(client, "/v1/datasets/run_harm/rows", ONE_STUDY).json()["rows"] == expected
    grouped = get(client, "/v1/datasets/run_harm/rows?group=study_id&excluded=include", ONE_STUDY).json()["rows"]
    assert [(row["study_id"], row["n"]) for row in grouped] == [("s-1", len(expected))]
    assert get(client, "/v1/datasets/run_harm/rows?study_id=s-2", ONE_STUDY).json()["detail"] == (
        "no row has study_id=s-2; values: s-1"
    )
    assert [study["study_id"] for study in get(client, "/v1/studies", ONE_STUDY).json()["studies"]] == ["s-1"]
    # The same answers as those of a key for everything that filters by the study.
    for address in (
        "/v1/distributions/queuing_delay?group=aqm",
        "/v1/comparisons/harm?factor=aqm&baseline=tail-drop",
    ):
        limited = get(client, address, ONE_STUDY)
        whole = get(client, address, ALL)
        filtered = get(client, f"{address}&study_id=s-1", ALL)
        assert limited.json()["rows"] == filtered.json()["rows"] != whole.json()["rows"]
        assert limited.headers["etag"] not in (filtered.headers["etag"], whole.headers["etag"])


def test_a_page_goes_on_within_the_study(serve: Any, build: Any) -> None:
    client = serve(api_keys=KEYS)
    rows, cursor = [], ""
    while cursor is not None:
        page = get(client, f"/v1/datasets/run/rows?limit=5{cursor and f'&cursor={cursor}'}", ONE_STUDY).json()
        rows += page["rows"]
        cursor = page["next_cursor"]
    assert rows == [row for row in build.rows("run") if row["study_id"] == "s-1"]


def test_kept_answers_and_etags_are_of_one_scope(serve: Any) -> None:
    client = serve(api_keys=KEYS)
    address = "/v1/datasets/run/rows?limit=100"
    for _ in range(2):  # computed, then kept
        whole, limited = get(client, address, ALL), get(client, address, ONE_STUDY)
        assert (whole.json()["row_count"], limited.json()["row_count"]) == (36, 27)
    headers = {"X-API-Key": ONE_STUDY, "If-None-Match": whole.headers["etag"]}
    assert client.get(address, headers=headers).status_code == 200
    headers["If-None-Match"] = limited.headers["etag"]
    assert client.get(address, headers=headers).status_code == 304
    assert len(client.app.state.kept) == 2


def test_a_key_of_datasets_reads_and_lists_them_only(serve: Any) -> None:
    client = serve(api_keys=KEYS)
    listed = [dataset["name"] for dataset in get(client, "/v1/datasets", TWO_DATASETS).json()["datasets"]]
    assert listed == ["run", "study"]
    assert get(client, "/v1/datasets/run/rows", TWO_DATASETS).status_code == 200
    assert get(client, "/v1/studies", TWO_DATASETS).json()["studies"][1]["study_id"] == "s-2"
    for address in (
        "/v1/datasets/run_harm",
        "/v1/datasets/run_harm/rows",
        "/v1/distributions/queuing_delay",
        "/v1/comparisons/harm?factor=aqm&baseline=codel",
    ):
        refused = get(client, address, TWO_DATASETS)
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:sojourn:problem:forbidden")
        assert get(client, address, ALL).status_code == 200


@pytest.mark.parametrize("key", [ONE_STUDY, TWO_DATASETS])
@pytest.mark.parametrize("address", ["/v1/builds", "/metrics"])
def test_what_is_of_the_whole_build_needs_a_whole_key(serve: Any, key: str, address: str) -> None:
    client = serve(api_keys=KEYS)
    assert get(client, address, key).status_code == 403
    assert get(client, address, ALL).status_code == 200


@pytest.mark.parametrize("query", ["", "?id=1", "?group=id&id=1"])
def test_rows_of_no_study_are_closed_to_a_key_of_studies(serve: Any, query: str) -> None:
    client = serve(api_keys=KEYS)
    refused = get(client, f"/v1/datasets/types/rows{query}", ONE_STUDY)
    assert (refused.status_code, refused.json()["detail"]) == (
        403, "this key has access to only some studies, but rows of this dataset belong to no study",
    )  # fmt: skip


def test_a_key_that_asks_too_often_is_told_when_to_come_again(serve: Any) -> None:
    client = serve(api_keys=f"slow;per-minute=2,{ALL}")
    assert [get(client, "/v1/studies", "slow").status_code for _ in range(3)] == [200, 200, 429]
    refused = get(client, "/v1/studies", "slow")
    assert refused.json()["type"] == "urn:sojourn:problem:rate-exceeded"
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert get(client, "/v1/studies", ALL).status_code == 200
    assert get(client, "/v1/studies", "wrong").status_code == 401


def test_requests_come_back_evenly_over_a_minute_and_no_more_than_its_number() -> None:
    rates, key = Rates(), Key(b"k", per_minute=30)
    assert [rates.wait_s(key, 0.0) for _ in range(31)] == [0] * 30 + [2]
    assert rates.wait_s(key, 1.9) == 1
    assert [rates.wait_s(key, 2.0) for _ in range(2)] == [0, 2]
    assert [rates.wait_s(key, 1000.0) for _ in range(31)] == [0] * 30 + [2]
    assert rates.wait_s(Key(b"other"), 1000.0) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secret;write=yes", "'write' is not a limit of a key"),
        ("secret;studies=", "'studies' is not a limit of a key"),
        ("secret;studies=a;studies=b", "'studies' is not a limit of a key"),
        ("secret;per-minute=0", "per-minute=0 is not a whole number"),
        ("secret;per-minute=1.5", "per-minute=1.5 is not a whole number"),
        (";studies=a", "a key is empty"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_without_the_key(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as refused:
        Settings(api_keys=text)  # type: ignore[arg-type]
    assert "secret" not in refused.value.errors()[0]["msg"]


def test_limits_stand_behind_a_key_or_its_hash() -> None:
    plain = parse_key("secret;studies=b a b;per-minute=600")
    assert (plain.studies, plain.datasets, plain.per_minute) == (("a", "b"), None, 600)
    assert parse_key(f"sha256:{plain.digest.hex()};studies=a b;per-minute=600") == plain
