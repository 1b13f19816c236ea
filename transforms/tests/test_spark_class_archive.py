"""The classes of one session are the archive of the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn_ingest.paths import Paths
from sojourn_transforms.spark.class_archive import class_archive
from sojourn_transforms.spark.java_runtime import java_home
from sojourn_transforms.spark.session import SparkSettings, spark_session

QUICK = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"}


def java(folder: Path) -> Path:
    (folder / "java").mkdir(parents=True, exist_ok=True)
    (folder / "java" / "release").write_text('JAVA_VERSION="21"')
    return folder / "java"


def test_an_archive_is_written_once_and_then_used(tmp_path: Path) -> None:
    archives = tmp_path / "classes"
    with class_archive(java(tmp_path), archives, is_written=True) as options:
        written = Path(options.rpartition("-XX:ArchiveClassesAtExit=")[2])
        written.write_bytes(b"classes")
    (kept,) = archives.iterdir()
    with class_archive(java(tmp_path), archives, is_written=True) as options:
        assert options.endswith(f"-XX:SharedArchiveFile={kept}")
    assert kept.read_bytes() == b"classes"


def test_an_archive_of_another_java_is_replaced_and_one_that_was_not_finished_is_not_kept(tmp_path: Path) -> None:
    archives = tmp_path / "classes"
    with class_archive(java(tmp_path), archives, is_written=True) as options:
        Path(options.rpartition("=")[2]).write_bytes(b"classes")
    (kept,) = archives.iterdir()
    another = java(tmp_path)
    (another / "release").write_text('JAVA_VERSION="25"')
    with class_archive(another, archives, is_written=True) as options:
        assert "ArchiveClassesAtExit" in options
        assert not kept.exists()
    assert list(archives.iterdir()) == []


def test_a_session_that_is_not_asked_writes_no_archive(tmp_path: Path) -> None:
    with class_archive(java(tmp_path), tmp_path / "classes", is_written=False) as options:
        assert options == ""
    assert not (tmp_path / "classes").exists()


@pytest.mark.integration
@pytest.mark.long
def test_the_second_session_maps_the_archive_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = Paths(tmp_path)
    # Java adds to an archive of its own; the trimmed one that comes with the set-up has none.
    expected = (java_home(tmp_path / "java") / "lib" / "server" / "classes.jsa").exists()
    maps = []
    for _ in range(2):
        with spark_session(paths, SparkSettings("local[1]", QUICK), keeps_classes=True) as session:
            session.sql("select 1").collect()
            process = session._jvm.java.lang.ProcessHandle.current().pid()
            maps.append(Path(f"/proc/{process}/maps").read_text())
    folder = tmp_path / "cache" / "sojourn" / "java-classes"
    assert [f"{folder}/spark-" in text for text in maps] == [False, expected]
    assert len(list(folder.iterdir())) == expected
