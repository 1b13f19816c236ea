"""Answers are as large as their JSON, and none is larger than the bound."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from flask import Flask, jsonify
from flask_babel import Babel
from superset.exceptions import QueryObjectValidationError, SupersetErrorException
from superset.utils import json as superset_json
from werkzeug.exceptions import BadRequest

from sojourn_superset import answer_size
from sojourn_superset.answer_size import bound_answers, counted, json_bytes, rows_bytes


def test_an_answer_counts_as_json() -> None:
    labels = ["x", ("a", "ä"), "\U0001f600" * 3, '"\n']
    rows = pd.DataFrame([[1, "text", b"bytes", "ü\n"]] * 2, columns=pd.Index(labels, tupleize_cols=False))
    written = len(json.dumps([{str(label): 0 for label in labels}] * 2))
    assert written <= rows_bytes(rows) <= 2.5 * written + 5 * 4 * 16 + 2 * (4 + 5 * 12 + 10)


@pytest.mark.parametrize(
    "value",
    [
        "text",
        '"\\' * 100,
        "\U0001f600",
        '"\n\x01',
        ["a"] * 1_000,
        [{"label": n, "x": "ü"} for n in range(1_000)],
        {"a": ({"b": ["c"]},)},
    ],
)
def test_the_size_of_a_value_is_that_of_its_json(value: Any) -> None:
    size = json_bytes(value, 10**9)
    written = len(json.dumps(value))
    assert 0.5 * written - 20 <= size <= 2 * written + 20
    assert json_bytes(value, size // 2) > size // 2


def test_no_answer_is_larger_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superset_json, "dumps", superset_json.dumps)
    monkeypatch.setattr(answer_size, "LARGEST_JSON_BYTES", 2**20)
    app = Flask("superset")
    Babel(app)
    bound_answers(app)
    most = ["x" * (2**10 - 8), *["x" * (2**10 - 4)] * (2**10 - 1)]
    with app.app_context():
        for write in (superset_json.dumps, jsonify):
            write(most)
            with pytest.raises(SupersetErrorException, match="the answer has more than 1 MiB") as refused:
                write([*most, "x"])
            assert refused.value.status == 413
            assert isinstance(refused.value, BadRequest)


def test_annotations_count_as_part_of_the_answer() -> None:
    read = counted(lambda *_: ["x" * 2**26])
    with Flask("superset").test_request_context():
        read({}, False)
        with pytest.raises(QueryObjectValidationError, match="the answer would have 128 MiB, more than 128"):
            read({}, False)
