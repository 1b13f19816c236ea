"""What the build writes, a reader gets back; what is damaged is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from sojourn_snapshot.catalogue import Catalogue, Column, Dataset, read_catalogue, write_catalogue
from sojourn_snapshot.documents import BUILD, read_build, write_document
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import MartFile, mart_paths, read_files, sha256_of, write_files
from sojourn_snapshot.pointer import CURRENT, Pointer, read_pointer, write_pointer

RUN = Dataset(
    name="run",
    grain="one run",
    key=("run_id",),
    rows=2,
    columns=(Column(name="run_id", type="VARCHAR", nullable=False), Column(name="rtt_ms", type="DOUBLE", unit="ms")),
)


def with_files(folder: Path, *names: str) -> list[MartFile]:
    files = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        files.append(MartFile(name, 1, len(name), sha256_of(path), None))
    write_files(folder, files)
    return files


def test_a_pointer_is_read_back_and_its_absence_is_none(tmp_path: Path) -> None:
    assert read_pointer(tmp_path) is None
    write_pointer(tmp_path, Pointer(build_id="b1", published_at="2026-11-21T01:02:03Z"))
    assert read_pointer(tmp_path) == Pointer(build_id="b1", published_at="2026-11-21T01:02:03Z")
    assert [path.name for path in tmp_path.iterdir()] == [CURRENT]


@pytest.mark.parametrize("content", ["", "{}", '{"build_id": "../x", "published_at": "now"}', "[1]"])
def test_a_damaged_pointer_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / CURRENT).write_text(content)
    with pytest.raises(DamagedSnapshotError, match="CURRENT cannot be read"):
        read_pointer(tmp_path)


def test_a_catalogue_is_read_back_whatever_a_later_version_adds(tmp_path: Path) -> None:
    write_catalogue(tmp_path, Catalogue(datasets=(RUN,)))
    assert read_catalogue(tmp_path, Catalogue).datasets == (RUN,)
    later = {"datasets": [{**RUN.model_dump(mode="json"), "added": 1}], "also": 2}
    write_document(tmp_path / "catalog.json", later)
    assert read_catalogue(tmp_path, Catalogue).datasets[0].name == "run"


@pytest.mark.parametrize(
    "change", [{"name": "../run"}, {"key": []}, {"key": ["nope"]}, {"columns": [RUN.columns[0], RUN.columns[0]]}]
)
def test_a_catalogue_that_no_reader_could_use_cannot_be_made(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Dataset(**{**RUN.model_dump(), **change})  # type: ignore[arg-type]


def test_build_json_belongs_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "b1"
    folder.mkdir()
    with pytest.raises(DamagedSnapshotError, match=r"build\.json cannot be read"):
        read_build(folder)
    write_document(folder / BUILD, {"build_id": "b1", "engine": "duckdb"})
    assert read_build(folder) == {"build_id": "b1", "engine": "duckdb"}
    write_document(folder / BUILD, {"build_id": "b2"})
    with pytest.raises(DamagedSnapshotError, match="not of this build; expected the build_id b1"):
        read_build(folder)


def test_a_mart_of_several_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    with_files(tmp_path, "one.parquet", "days.parquet/2026-11-02.parquet", "days.parquet/2026-10.parquet")
    assert mart_paths(tmp_path, "one") == [tmp_path / "one.parquet"]
    assert [path.stem for path in mart_paths(tmp_path, "days")] == ["2026-10", "2026-11-02"]
    assert sorted(read_files(tmp_path)) == [
        "days.parquet/2026-10.parquet",
        "days.parquet/2026-11-02.parquet",
        "one.parquet",
    ]


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    with_files(tmp_path, "days.parquet/a.parquet")
    path = tmp_path / "days.parquet" / "a.parquet"
    path.write_bytes(b"")
    with pytest.raises(DamagedSnapshotError, match=r"a\.parquet is missing or not of 22 bytes"):
        mart_paths(tmp_path, "days")
