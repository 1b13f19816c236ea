"""Addresses that the page on other tools gives to them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import duckdb
import pyarrow.csv
import pyarrow.parquet
import pytest

from .conftest import Service

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def addresses(repository: Path) -> list[str]:
    text = (repository / "docs" / "how-to" / "use-the-api-from-other-tools.md").read_text(encoding="utf-8")
    matches = re.findall(
        r"(?:http://127\.0\.0\.1:8000)?(/v1/(?:datasets|distributions)/\w+[^\s'\"`]*\?[^\s'\"`]*)", text
    )
    assert len(matches) == 4
    return matches


def test_every_address_answers_with_rows(service: Service, addresses: list[str]) -> None:
    for address in addresses:
        answer = service.client.get(address)
        assert answer.status_code == 200, (address, answer.text)
        if "format=csv" in address:
            assert pyarrow.csv.read_csv(io.BytesIO(answer.content)).num_rows > 0, address
        else:
            assert pyarrow.parquet.read_table(io.BytesIO(answer.content)).num_rows > 0, address


def test_duckdb_reads_the_file_of_an_answer(service: Service, addresses: list[str], tmp_path: Path) -> None:
    address = next(address for address in addresses if "format=parquet" in address and "group=" not in address)
    path = tmp_path / "harm.parquet"
    path.write_bytes(service.client.get(address).content)
    rows = duckdb.sql(f"select queue_label, count(*) as runs from '{path}' group by all").fetchall()
    answer = service.rows("run_harm", role="app", group="queue_label", excluded="include")
    assert dict(rows) == {row["queue_label"]: row["n"] for row in answer}
