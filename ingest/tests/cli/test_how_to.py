"""The examples of docs/how-to do what they say."""

import re
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner

from sojourn_ingest.cli import application
from sojourn_ingest.lake import Lake

EXAMPLE = re.compile(
    r"<!-- example: (?P<name>\S+) -->\n(?:```\w+\n(?P<file>.*?)```|(?P<table>(?:\|[^\n]*\n)+))", re.DOTALL
)


def test_the_table_of_ones_own(repository: Path, tmp_path: Path) -> None:
    text = (repository / "docs" / "how-to" / "ingest-connections.md").read_text()
    examples = {match["name"]: match["file"] or match["table"] for match in EXAMPLE.finditer(text)}
    folder = tmp_path / "acme"
    folder.mkdir()
    for name in ("acme.yaml", "connections.csv"):
        (folder / name).write_text(examples[name])
    prefixes = tmp_path / "prefixes.csv"
    prefixes.write_text(examples["prefixes.csv"])
    done = CliRunner().invoke(
        application(), ["ingest", "--prefix-table", str(prefixes), str(folder), "--var", str(tmp_path / "var")]
    )
    assert done.exit_code == 0, done.output
    lake = Lake(tmp_path / "var" / "lake")
    rows = [row for path in lake.files("connection") for row in pq.read_table(path).to_pylist()]
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in examples["result"].splitlines()]
    header, expected = lines[0], lines[2:]
    assert [[str(row[name]) if row[name] is not None else "" for name in header] for row in rows] == expected
    assert all(row["synthetic"] and row["dataset"] == "acme-cdn" for row in rows)
    outcomes = [row for path in lake.files("ingest_outcome") for row in pq.read_table(path).to_pylist()]
    assert {row["refused_by_reason"] for row in outcomes} == {"{}", '{"client_address: not an address": 1}'}
    (dataset,) = [row for path in lake.files("connection_dataset") for row in pq.read_table(path).to_pylist()]
    assert (dataset["dataset"], dataset["licence"], dataset["synthetic"]) == ("acme-cdn", "CC0-1.0", True)
