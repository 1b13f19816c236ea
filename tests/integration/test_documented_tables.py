"""The documentation names every mart and column that a build publishes, and every table and column of the lake."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from sojourn_transforms.dbt.compilation import parsed_manifest
from sojourn_transforms.dbt.documentation import LAKE, documented_marts, subject_pages

from .conftest import Service

pytestmark = pytest.mark.integration

Columns = dict[str, list[str]]
#: Views that a build puts beside those of the lake's tables.
NOT_OF_THE_LAKE = frozenset({"models_fingerprint"})


@dataclass(frozen=True)
class Documents:
    """The text of the generated reference: its pages, those of marts before that of the lake."""

    reference: str

    def columns(self, part: str) -> Columns:
        """Return the columns of each table in a part of the reference, ``Marts`` or ``Lake``, in their order."""
        (text,) = re.findall(rf"^## {part}\n(.*?)(?=^## |\Z)", self.reference, re.MULTILINE | re.DOTALL)
        sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
        return {section.split("\n", 1)[0]: re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) for section in sections}


def published(var: Path) -> Columns:
    """Return the columns of each mart of the build that is being served, from its catalogue."""
    build = json.loads((var / "snapshots" / "CURRENT").read_text(encoding="utf-8"))["build_id"]
    catalogue = json.loads((var / "snapshots" / build / "catalog.json").read_text(encoding="utf-8"))
    return {entry["name"]: [column["name"] for column in entry["columns"]] for entry in catalogue["datasets"]}


def lake(var: Path) -> Columns:
    """Return the columns of each table of the lake, as the warehouse of the build saw them."""
    (warehouse,) = (var / "warehouse").glob("*.duckdb")
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        rows = connection.execute(
            "select table_name, column_name from information_schema.columns"
            " where table_schema = 'lake' order by table_name, ordinal_position"
        ).fetchall()
    columns_of_table: Columns = {}
    for table, column in rows:
        if table not in NOT_OF_THE_LAKE:
            columns_of_table.setdefault(table, []).append(column)
    return columns_of_table


def differences(documents: Documents, marts: Columns, tables: Columns) -> list[str]:
    """Return in what the documents differ from what was built."""
    lines = []
    for part, kind, built in (("Marts", "mart", marts), ("Lake", "lake", tables)):
        described = documents.columns(part)
        lines += [f"reference, {kind}: {name}" for name in sorted(set(described) ^ set(built))]
        lines += [
            f"columns of {kind} {name}: {sorted(set(described[name]) ^ set(columns))}"
            for name, columns in built.items()
            if name in described and described[name] != columns
        ]
    return lines


@pytest.fixture(scope="module")
def documents(repository: Path) -> Documents:
    project = repository / "models"
    pages = subject_pages(documented_marts(parsed_manifest(project), project))
    marts = "".join(text for subject, text in pages.items() if subject != LAKE)
    return Documents(f"## Marts\n{marts}\n## Lake\n{pages[LAKE]}")


def test_documents_name_what_a_build_publishes_and_reads(documents: Documents, service: Service) -> None:
    assert differences(documents, published(service.var), lake(service.var)) == [], "run make docs"


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        (r"^### rtt_histogram\n.*?(?=^### )", "reference, mart: rtt_histogram"),
        (r"(?<=^### run_harm\n)(.*?)^\| `harm_ratio` [^\n]*\n", "columns of mart run_harm: ['harm_ratio']"),
        (r"^### queue_packet\n.*?(?=^### )", "reference, lake: queue_packet"),
    ],
)
def test_a_table_or_column_missing_from_the_documents_is_noticed(
    documents: Documents, service: Service, removed: str, expected: str
) -> None:
    def without(text: str) -> str:
        return re.sub(removed, lambda match: match[1] if match.re.groups else "", text, flags=re.M | re.S, count=1)

    changed = Documents(without(documents.reference))
    assert changed != documents
    assert differences(changed, published(service.var), lake(service.var)) == [expected]
