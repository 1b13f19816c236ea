"""Findings are rows of their dataset under an address of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from api.tests.conftest import Build
from fastapi.testclient import TestClient

SCHEMA = pa.schema([(name, pa.string()) for name in ("finding_id", "question", "study_id", "verdict", "sentence")])


def test_a_question_is_answered_by_its_sentence(serve: Callable[..., TestClient], publish: Callable[..., Path]) -> None:
    build = Build()
    rows = [
        {"finding_id": f"{question}/s-1", "question": question, "study_id": "s-1", "verdict": "best", "sentence": text}
        for question, text in (("marks", "CoDel marks most."), ("queue", "Run FQ-CoDel."))
    ]
    build.add("finding", ["finding_id"], SCHEMA, rows)
    client = serve(folder=publish(build))
    answer = client.get("/v1/findings", params={"question": "queue", "study_id": "s-1", "select": "verdict,sentence"})
    assert answer.json()["rows"] == [{"verdict": "best", "sentence": "Run FQ-CoDel."}]
    assert client.get("/v1/findings", params={"question": "weather"}).status_code == 422


def test_a_build_without_findings_says_so(client: TestClient) -> None:
    answer = client.get("/v1/findings")
    assert answer.status_code == 404
    assert "finding" in answer.json()["detail"]
