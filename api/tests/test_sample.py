"""A sample of rows is the same each time, and has about as many rows as asked for."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from fastapi.testclient import TestClient

BINS = "/v1/datasets/queuing_delay_histogram/rows?select=run_id,role,bin_index&limit=50000"


def sample(client: TestClient, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in client.get(f"{BINS}&{query}").json()["rows"]]


def test_a_sample_is_the_same_each_time_and_part_of_a_larger_one(client: TestClient, build: Any) -> None:
    rows = len(build.rows("queuing_delay_histogram"))
    tenth, half = sample(client, "sample=0.1&seed=1"), sample(client, "sample=0.5&seed=1")
    # Five standard deviations of a binomial count.
    assert abs(len(tenth) - 0.1 * rows) < 5 * (0.09 * rows) ** 0.5
    assert abs(len(half) - 0.5 * rows) < 5 * (0.25 * rows) ** 0.5
    assert set(tenth) < set(half)
    assert sample(client, "sample=0.1&seed=1&order=bin_index") != tenth
    assert set(sample(client, "sample=0.1&seed=1&order=bin_index")) == set(tenth)
    assert set(sample(client, "sample=0.1&seed=2")) != set(tenth)


def test_a_filter_keeps_of_a_sample_what_it_keeps_of_all_rows(client: TestClient) -> None:
    assert sample(client, "sample=0.2&role=app") == [row for row in sample(client, "sample=0.2") if row[1] == "app"]


def test_which_rows_is_a_hash_of_the_key_that_no_version_changes(client: TestClient, build: Any) -> None:
    rows = client.get("/v1/datasets/run/rows?select=study_id,run_id&sample=0.3&seed=1").json()["rows"]
    chosen = [
        {"study_id": row["study_id"], "run_id": row["run_id"]}
        for row in build.rows("run")
        if number(f"1\x1f{row['study_id']}\x1f{row['run_id']}") < 0.3 * 2**64
    ]
    assert rows == chosen != []


def number(text: str) -> int:
    """The last eight bytes of the MD5 of a text, the lowest first."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little")


@pytest.mark.parametrize("share", [1 / 3, 1e-5, 5e-324, 0.1 + 0.2, 1 - 2**-53])
def test_every_share_that_a_program_writes_is_read(client: TestClient, build: Any, share: float) -> None:
    rows = build.rows("run")
    chosen = [row["run_id"] for row in rows if number(f"0\x1f{row['study_id']}\x1f{row['run_id']}") < share * 2**64]
    response = client.get("/v1/datasets/run/rows", params={"select": "run_id", "sample": str(share)})
    assert [row["run_id"] for row in response.json()["rows"]] == chosen


def test_a_share_is_read_to_its_last_digit(client: TestClient) -> None:
    share = f"0.{'9' * 300}"
    rows = client.get("/v1/datasets/run/rows", params={"select": "run_id"}).json()["rows"]
    assert client.get("/v1/datasets/run/rows", params={"select": "run_id", "sample": share}).json()["rows"] == rows
    assert client.get("/v1/datasets/run/rows", params={"sample": "1E-05"}).status_code == 200


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("sample=0", "sample"), ("sample=0.0e5", "sample"), ("sample=1e0", "sample"), ("sample=-0.5", "sample"),
     ("sample=nan", "sample"), ("sample=.", "sample"), ("sample=e-5", "sample"), ("sample=0.%D9%A5", "sample"),
     ("sample=1", "sample"), ("sample=1%25", "sample"), ("seed=1", "seed"),
     ("sample=0.1&seed=x", "seed"), ("sample=0.1&group=role", "sample")],
)  # fmt: skip
def test_what_is_no_share_is_refused(client: TestClient, query: str, parameter: str) -> None:
    response = client.get(f"/v1/datasets/queuing_delay_histogram/rows?{query}")
    assert (response.status_code, response.json()["parameter"]) == (422, parameter)
