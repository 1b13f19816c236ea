"""The generated reference of every table and column, docs/tables.md.

It names every lake table that ``sojourn_ingest.schema`` declares, every mart that dbt's manifest has, and every mart
that the statistics make. ``python -m sojourn_transforms.dbt.documentation`` writes it, ``--check`` only says whether
it is current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest.schema import TABLES
from sojourn_transforms.catalogue import Mart
from sojourn_transforms.dbt.compilation import mart_nodes, marts_in, parsed_manifest
from sojourn_transforms.statistics_marts import STATISTICS_MARTS, TYPE_NAMES


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


def _reference(marts: list[DocumentedMart]) -> Iterator[str]:
    yield "# Tables and columns"
    yield ""
    yield "Written by `make docs` from the declarations in `ingest/src/sojourn_ingest/schema/`, `models/marts/` and"
    yield "`transforms/statistics/src/sojourn_statistics/`."
    yield ""
    yield "## Marts"
    yield ""
    yield "What the API serves and the dashboards draw. A snapshot holds each as a Parquet file, or a folder of them."
    for documented in marts:
        mart = documented.mart
        columns = [(c.name, documented.types[c.name], c.unit or "", c.description, "") for c in mart.columns]
        yield from _section(mart.name, mart.description, mart.grain, mart.key, columns)
    yield ""
    yield "## Lake"
    yield ""
    yield "Facts as decoded, one Parquet file for each source and table. Only the staging models read them."
    for table in TABLES.values():
        yield from _section(
            table.name,
            f"Written by: {table.producer}.",
            table.grain,
            table.key,
            [(c.name, str(c.type), c.unit, c.description, c.source) for c in table.columns],
        )


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
        root / "docs" / "tables.md": "\n".join(_reference(marts)) + "\n",
    }


def stale(root: Path, manifest: dict[str, Any]) -> list[Path]:
    """Return the generated files that are not current."""
    return [
        path
        for path, text in generated(root, manifest).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write the generated files, or check them with ``--check``."""
    root = Path.cwd()
    manifest = parsed_manifest(root / "models")
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
