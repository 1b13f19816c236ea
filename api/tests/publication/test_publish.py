"""`sojourn publish`: the folder, what is chosen of a build, and what is never written over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from sojourn_process.own_folder import MARKER

DOCUMENTS = {
    "CITATION.cff", "LICENCES.md", "SHA256SUMS", "build.json", "catalog.json",
    "figures.json", "files.json", "index.html", "publication.json", "ro-crate-metadata.json", "sojourn.duckdb",
    "views.sql",
}  # fmt: skip


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_has_every_document_and_the_files_of_the_snapshot_byte_for_byte(site: Path, var: Path) -> None:
    assert {path.name for path in site.iterdir()} == DOCUMENTS | {"data"}
    snapshot = var / "snapshots" / "b1"
    for path in (site / "data").iterdir():
        assert path.read_bytes() == (snapshot / path.name).read_bytes()
        assert path.stat().st_ino != (snapshot / path.name).stat().st_ino


def test_the_same_build_gives_the_same_bytes_and_replaces_an_older_publication(
    site: Path, var: Path, commands: Any
) -> None:
    before = content(site)
    commands.run("publish", site, "--var", var)
    assert content(site) == before
    assert sorted(path.name for path in site.parent.iterdir() if path.name.startswith(".")) == []


def test_views_of_a_published_folder_need_no_network_in_it(
    var: Path, commands: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    commands.run("publish", site, "--var", var, "--url", "https://data.example.org/queues")
    monkeypatch.chdir(site)
    with duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    ) as connection:
        connection.execute((site / "views.sql").read_text(encoding="utf-8"))
        assert connection.execute("select count(*) from run").fetchone() == (36,)


def test_every_document_says_the_same_of_columns_units_and_keys(site: Path) -> None:
    catalogue = {one["name"]: one for one in json.loads((site / "catalog.json").read_bytes())["datasets"]}
    with duckdb.connect(str(site / "sojourn.duckdb"), read_only=True) as connection:
        connection.execute("set variable sojourn_url = ?", [str(site)])
        columns = connection.execute("select dataset, column_name, unit from catalogue_column").fetchall()
        comment = connection.execute(
            "select comment from duckdb_columns() where table_name = 'run_harm' and column_name = 'harm_ratio'"
        ).fetchone()
        counted = {name: connection.execute(f'select count(*) from "{name}"').fetchone() for name in catalogue}
    assert comment == ("The harm_ratio of the run_harm. [ratio]",)
    assert {(name, column["name"], column["unit"]) for name, one in catalogue.items() for column in one["columns"]} == {
        *columns
    }
    for name, one in catalogue.items():
        assert counted[name] == (one["rows"],)


def test_chosen_studies_are_the_only_rows_and_what_belongs_to_no_study_is_left_out(
    commands: Any, var: Path, tmp_path: Path, build: Any
) -> None:
    out = tmp_path / "one"
    said = commands.run("publish", out, "--var", var, "--studies", "s-2")
    assert "left out: types: no row of it belongs to a study" in said
    wanted = [row for row in build.rows("run_harm") if row["study_id"] == "s-2"]
    assert pq.read_table(out / "data" / "run_harm.parquet").to_pylist() == wanted
    for path in out.rglob("*"):
        assert path.is_dir() or b"First, with a comma" not in path.read_bytes(), path
    assert not (out / "build.json").exists()
    commands.run("verify", out)


def test_chosen_datasets_are_the_only_ones(commands: Any, var: Path, tmp_path: Path) -> None:
    out = tmp_path / "few"
    left = tmp_path / ".few.new-killed"
    left.mkdir()
    (left / MARKER).write_text(f"temporary folder of sojourn: {left.name}\n")
    commands.run("publish", out, "--var", var, "--datasets", "run,study")
    assert not left.exists()
    assert sorted(path.name for path in (out / "data").iterdir()) == ["run.parquet", "study.parquet"]
    commands.run("verify", out)


def test_a_dry_run_says_rows_and_bytes_and_writes_nothing(commands: Any, var: Path, tmp_path: Path) -> None:
    said = commands.run("publish", tmp_path / "site", "--var", var, "--dry-run")
    size = sum(path.stat().st_size for path in (var / "snapshots" / "b1").glob("*.parquet"))
    assert f"{size:,} bytes of Parquet" in said
    assert "would write build b1" in said
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--studies", "s-9"], "'s-9' is not a study of this build; expected s-1, s-2"),
        (["--datasets", "nothing"], "'nothing' is not a dataset of this build; expected "),
        (["--datasets", "run,studies"], "'studies' is not a dataset of this build; did you mean 'study'"),
        (["--datasets", "types", "--studies", "s-1"], "cannot be combined with --studies"),
    ],
)
def test_what_is_not_in_the_build_is_refused(
    commands: Any, var: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    assert message in commands.run("publish", tmp_path / "site", "--var", var, *options, status=1)
    assert not (tmp_path / "site").exists()


def test_a_folder_that_is_not_an_older_publication_is_never_written_over(
    commands: Any, var: Path, tmp_path: Path, site: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    assert "is not an older publication" in commands.run("publish", mine, "--var", var, status=1)
    (site / "notes.txt").write_text("mine")
    assert "notes.txt, which was not published" in commands.run("publish", site, "--var", var, status=1)
    assert (mine / "thesis.tex").read_text() == "years of work"
    assert (site / "notes.txt").exists()


def test_a_snapshot_without_a_build_says_what_to_do_and_nothing_else(commands: Any, tmp_path: Path) -> None:
    said = commands.run("publish", tmp_path / "new" / "o", "--var", tmp_path / "none", status=1)
    assert "run `sojourn build`" in said
    assert "copying" not in said
    assert not (tmp_path / "new").exists()
