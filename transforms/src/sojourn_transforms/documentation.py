"""The generated parts of the documentation: the table of tables, and the reference of every column.

``python -m sojourn_transforms.documentation`` writes them, ``--check`` only says whether they are current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from sojourn_ingest.schema import TABLES
from sojourn_transforms.catalogue import Mart
from sojourn_transforms.statistics_marts import STATISTICS_MARTS, TYPE_NAMES

BEGIN = "<!-- tables: written by make docs -->"
END = "<!-- tables: end -->"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _meta(entry: dict[str, Any]) -> dict[str, Any]:
    return dict(entry.get("config", {}).get("meta", {}))


def _declaration(mart: Mart) -> dict[str, Any]:
    """Return a mart that the statistics make in the shape of dbt's YAML."""
    columns = [
        {
            "name": column.name,
            "data_type": TYPE_NAMES[mart.name][column.name],
            "description": column.description,
            "config": {"meta": {"unit": column.unit or ""}},
        }
        for column in mart.columns
    ]
    meta = {"grain": mart.grain, "key": list(mart.key), "producer": "statistics"}
    return {"name": mart.name, "description": mart.description, "config": {"meta": meta}, "columns": columns}


def marts(root: Path) -> list[dict[str, Any]]:
    """Return the declarations of the marts, in dbt's YAML and those of the statistics, by name."""
    found: list[dict[str, Any]] = [_declaration(mart) for mart in STATISTICS_MARTS]
    for path in sorted((root / "models" / "marts").glob("*.yml")):
        found += yaml.safe_load(path.read_text(encoding="utf-8")).get("models") or []
    return sorted(found, key=lambda entry: str(entry["name"]))


def table_of_tables(root: Path) -> str:
    """Return the table of every lake table and mart: name, producer, grain, key."""
    lines = ["| table | producer | grain: one row is | key |", "| --- | --- | --- | --- |"]
    lines += [
        f"| lake `{table.name}` | {_cell(table.producer)} | {_cell(table.grain)} | {', '.join(table.key)} |"
        for table in TABLES.values()
    ]
    for mart in marts(root):
        meta = _meta(mart)
        producer = meta.get("producer", "dbt")
        lines.append(f"| mart `{mart['name']}` | {producer} | {_cell(meta['grain'])} | {', '.join(meta['key'])} |")
    return "\n".join(lines)


def _reference(root: Path) -> Iterator[str]:
    yield "# Tables and columns"
    yield ""
    yield "Written by `make docs` from the declarations in `ingest/src/sojourn_ingest/schema/`, `models/marts/` and"
    yield "`transforms/statistics/src/sojourn_statistics/`."
    yield ""
    yield "## Marts"
    yield ""
    yield "What the API serves and the dashboards draw. A snapshot holds each as a Parquet file, or a folder of them."
    for mart in marts(root):
        yield from _section(
            mart["name"],
            mart["description"],
            _meta(mart)["grain"],
            _meta(mart)["key"],
            [
                (column["name"], column.get("data_type", ""), _meta(column).get("unit", ""), column["description"], "")
                for column in mart["columns"]
            ],
        )
    yield ""
    yield "## Lake"
    yield ""
    yield "Facts as decoded, one Parquet file for each source and table. Only dbt's staging reads them."
    for table in TABLES.values():
        yield from _section(
            table.name,
            f"Written by: {table.producer}.",
            table.grain,
            table.key,
            [(c.name, str(c.type), c.unit, c.description, c.source) for c in table.columns],
        )


def _section(
    name: str, text: str, grain: str, key: tuple[str, ...] | list[str], columns: list[tuple[str, str, str, str, str]]
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


def generated(root: Path) -> dict[Path, str]:
    """Return the files that hold generated parts, with the text they should have.

    Raises
    ------
    ValueError
        If ARCHITECTURE.md has lost the marks between which the table of tables stands.
    """
    architecture = root / "ARCHITECTURE.md"
    before, begin, rest = architecture.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{architecture}: the lines {BEGIN!r} and {END!r} are missing")
    return {
        architecture: f"{before}{BEGIN}\n{table_of_tables(root)}\n{END}{after}",
        root / "docs" / "tables.md": "\n".join(_reference(root)) + "\n",
    }


def stale(root: Path) -> list[Path]:
    """Return the files whose generated parts are not current."""
    return [
        path for path, text in generated(root).items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write the generated parts, or check them with ``--check``."""
    root = Path.cwd()
    if "--check" in sys.argv[1:]:
        outdated = stale(root)
        for path in outdated:
            print(f"{path.relative_to(root)} is not current; run make docs", file=sys.stderr)
        return 1 if outdated else 0
    for path, text in generated(root).items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
