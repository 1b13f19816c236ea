"""Queries of the page "Which table answers which question", over the bundled sample."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn_transforms.sql.local import connect_local

from .conftest import Service

pytestmark = pytest.mark.integration
#: A question, the tables that answer it, and the query.
QUESTION = re.compile(r"^(?P<question>[A-Z][^\n`]+\?) (?P<tables>`[^\n]+)\n\n```sql\n(?P<query>.*?)^```", re.M | re.S)
#: Questions about inputs that the sample may have none of.
MAY_BE_EMPTY = {"ingest_outcome"}


def test_every_question_is_answered_from_the_table_that_is_named(service: Service, repository: Path) -> None:
    text = (repository / "docs" / "how-to" / "which-table.md").read_text(encoding="utf-8")
    questions = list(QUESTION.finditer(text))
    assert len(questions) == text.count("```sql") >= 20
    with connect_local(service.var, lake=False) as connection:
        there = {row[0] for row in connection.sql("show tables").fetchall()}
        for example in questions:
            tables = re.findall(r"`([a-z_0-9]+)`", example["tables"])
            assert set(tables) <= there, example["question"]
            assert re.search(rf"from {tables[0]}\b", example["query"]), example["question"]
            rows = connection.execute(example["query"]).fetchall()
            assert rows or tables[0] in MAY_BE_EMPTY, example["question"]
