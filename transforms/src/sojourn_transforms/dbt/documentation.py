"""The generated reference of every table and column: a list in docs/tables.md, and a page per subject for the site.

They name every lake table that ``sojourn_ingest.schema`` declares, every mart that dbt's manifest has, and every mart
that the statistics make. ``python -m sojourn_transforms.dbt.documentation`` writes docs/tables.md, ``--check`` only
says whether it is current, and ``--columns`` prints the columns of each table as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest.schema import TABLES
from sojourn_transforms.dbt.compilation import mart_nodes, marts_in, parsed_manifest
from sojourn_transforms.mart import Mart
from sojourn_transforms.statistics_marts import STATISTICS_MARTS, TYPE_NAMES

LAKE = "lake"
_WHERE = """[`GET /v1/datasets/run_harm`](api.md#endpoints) has the columns with their types, units and meaning, and the
first rows; `sojourn sql "from column_description where table_name = 'run_harm'"` prints the same columns. The
documentation site (`make site`) has a page of columns for each subject."""


@dataclass(frozen=True)
class DocumentedMart:
    """A mart, what makes it (dbt or statistics), and the type of each of its columns by name."""

    mart: Mart
    producer: str
    types: dict[str, str]


def documented_marts(manifest: dict[str, Any], project: Path) -> list[DocumentedMart]:
    """Return every mart that a build publishes, by name: those of a dbt manifest and those of the statistics."""
    nodes = mart_nodes(manifest, project)
    types = {
        node["name"]: {column["name"]: str(column["data_type"]) for column in node["columns"].values()}
        for node in nodes
    }
    marts = [DocumentedMart(mart, "dbt", types[mart.name]) for mart in marts_in(nodes)]
    marts += [DocumentedMart(mart, "statistics", TYPE_NAMES[mart.name]) for mart in STATISTICS_MARTS]
    return sorted(marts, key=lambda documented: documented.mart.name)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _by_subject(marts: list[DocumentedMart]) -> dict[str, list[DocumentedMart]]:
    subjects: dict[str, list[DocumentedMart]] = {}
    for documented in sorted(marts, key=lambda one: (one.mart.subject, one.mart.name)):
        subjects.setdefault(documented.mart.subject, []).append(documented)
    return subjects


def index(marts: list[DocumentedMart], linked: bool) -> str:
    """Return the page that lists every table by subject; `linked` to the page of each subject, which the site has."""
    lines = [
        "# Tables and columns",
        "",
        "`make docs` writes this page from the declarations in `ingest/src/sojourn_ingest/schema/`, `models/marts/`",
    ]
    lines += ["and `transforms/statistics/src/sojourn_statistics/`.", "", *_WHERE.splitlines(), "", "## Marts", ""]
    lines += [
        "The API serves these tables, and dashboards draw them. In a snapshot, each is a Parquet file or a folder."
    ]
    for subject, of_subject in _by_subject(marts).items():
        title = f"[{subject}](tables/{subject}.md)" if linked else subject
        lines += ["", f"### {title}", "", "| mart | one row is |", "| --- | --- |"]
        lines += [f"| `{one.mart.name}` | {_cell(one.mart.grain)} |" for one in of_subject]
    title = "[Lake](tables/lake.md)" if linked else "Lake"
    lines += [
        "",
        f"## {title}",
        "",
        "The lake has facts as decoded, in one Parquet file per source and table. Only staging models read them.",
        "",
    ]
    lines += ["| table | one row is |", "| --- | --- |"]
    lines += [f"| `{table.name}` | {_cell(table.grain)} |" for table in TABLES.values()]
    return "\n".join(lines) + "\n"


def subject_pages(marts: list[DocumentedMart]) -> dict[str, str]:
    """Return the page of each subject of marts, and that of the lake: every column with its type, unit and meaning."""
    pages = {}
    for subject, of_subject in _by_subject(marts).items():
        lines = [f"# {subject}"]
        for documented in of_subject:
            mart = documented.mart
            columns = [(c.name, documented.types[c.name], c.unit or "", c.description, "") for c in mart.columns]
            lines += _section(mart.name, mart.description, mart.grain, mart.key, columns)
        pages[subject] = "\n".join(lines) + "\n"
    lines = ["# lake"]
    for table in TABLES.values():
        columns = [(c.name, str(c.type), c.unit, c.description, c.source) for c in table.columns]
        lines += _section(table.name, f"Written by: {table.producer}.", table.grain, table.key, columns)
    return {**pages, LAKE: "\n".join(lines) + "\n"}


def _section(
    name: str, text: str, grain: str, key: tuple[str, ...], columns: list[tuple[str, str, str, str, str]]
) -> Iterator[str]:
    yield ""
    yield f"### {name}"
    yield ""
    yield f"{' '.join(text.split())} One row: {grain}. Key: {', '.join(f'`{part}`' for part in key)}."
    yield ""
    yield "| column | type | unit | meaning |"
    yield "| --- | --- | --- | --- |"
    for column, kind, unit, description, source in columns:
        meaning = f"{description} ({source})" if source else description
        yield f"| `{column}` | {kind} | {unit} | {_cell(meaning)} |"


def generated(root: Path, manifest: dict[str, Any]) -> dict[Path, str]:
    """Return the generated files, with the text they should have.

    ``manifest`` is dbt's of the project ``models`` below ``root``.
    """
    marts = documented_marts(manifest, root / "models")
    return {
        root / "docs" / "tables.md": index(marts, linked=False),
    }


def stale(root: Path, manifest: dict[str, Any]) -> list[Path]:
    """Return the generated files that are not current."""
    return [
        path
        for path, text in generated(root, manifest).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write the generated files, check them with ``--check``, or print columns with ``--columns``."""
    root = Path.cwd()
    manifest = parsed_manifest(root / "models")
    if "--columns" in sys.argv[1:]:
        marts = documented_marts(manifest, root / "models")
        # Where a mart has the name of a lake table, it is the one that is served.
        columns = {table.name: [column.name for column in table.columns] for table in TABLES.values()}
        columns |= {one.mart.name: [column.name for column in one.mart.columns] for one in marts}
        print(json.dumps(columns))
        return 0
    if "--check" in sys.argv[1:]:
        outdated = stale(root, manifest)
        for path in outdated:
            print(f"{path.relative_to(root)} is not current; run make docs", file=sys.stderr)
        return 1 if outdated else 0
    for path, text in generated(root, manifest).items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
