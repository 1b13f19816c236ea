"""A build publishes only what passed its tests, and does nothing when nothing changed."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer
from ingest.tests.connection_tables import write_hosts
from typer.testing import CliRunner

import sojourn_statistics
from sojourn_ingest.cli import application
from sojourn_ingest.forgotten import add_to_list
from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_snapshot.pointer import read_pointer
from sojourn_transforms.build import BuildError, build, inputs_fingerprint, refuse_too_many_files
from sojourn_transforms.engine_options import engine_of
from sojourn_transforms.project import SettingError, find_project, project_fingerprint
from sojourn_transforms.publishing import publish_snapshot
from sojourn_transforms.running.compiled import bundled_name, compiled_project
from sojourn_transforms.warehouse import open_warehouse

SOJOURN = Path(sys.executable).parent / "sojourn"


def test_an_empty_lake_says_what_to_do_first(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="is empty: run `sojourn ingest"):
        build(Paths(tmp_path), lambda _: None)


def test_a_damaged_list_of_forgotten_hosts_stops_a_build_in_words(tmp_path: Path, sample: Path) -> None:
    subprocess.run([SOJOURN, "ingest", "--var", tmp_path, min(sample.iterdir())], check=True)
    Paths(tmp_path).forgotten.write_text("{}\n")
    with pytest.raises(BuildError, match=r"forgotten\.jsonl:1: not an entry of the list of forgotten hosts"):
        build(Paths(tmp_path), lambda _: None)


def test_a_folder_in_the_place_of_the_pointer_stops_a_build_before_it_begins(tmp_path: Path, sample: Path) -> None:
    subprocess.run([SOJOURN, "ingest", "--var", tmp_path, min(sample.iterdir())], check=True)
    (tmp_path / "snapshots" / "CURRENT").mkdir(parents=True)
    with pytest.raises(
        BuildError, match=r"/snapshots/CURRENT is a folder; remove it, then run the same command again$"
    ):
        build(Paths(tmp_path), pytest.fail)


def test_more_small_files_than_the_memory_holds_are_refused_with_the_command(tmp_path: Path) -> None:
    pings = tmp_path / "inputs"
    pings.mkdir()
    for number in range(9):
        text = "".join(f"64 bytes from 192.0.2.1: icmp_seq={n} ttl=64 time={number}.{n} ms\n" for n in range(1, 4))
        (pings / f"{number}.txt").write_text(f"PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n{text}")
    subprocess.run(
        [str(SOJOURN), "ingest", str(pings), "--var", str(tmp_path / "var")], check=True, capture_output=True
    )
    lake = Lake(tmp_path / "var" / "lake")
    refuse_too_many_files(lake, 10 * 2**20)
    with pytest.raises(BuildError, match=r"^table \w+ of the lake is in 9 files, .*; run sojourn maintain compact$"):
        refuse_too_many_files(lake, 4 * 2**20)


def test_project_is_found_from_any_folder_and_its_absence_is_named(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOJOURN_MODELS", raising=False)
    # A dbt project of the user's own is none of ours.
    own = tmp_path / "own"
    (own / "models").mkdir(parents=True)
    (own / "models" / "dbt_project.yml").write_text("name: another")
    monkeypatch.chdir(own)
    assert find_project() == repository / "models"
    with pytest.raises(SettingError, match="set SOJOURN_MODELS to the folder models"):
        find_project(tmp_path / "package")
    monkeypatch.setenv("SOJOURN_MODELS", str(tmp_path / "none"))
    with pytest.raises(SettingError, match=f"no dbt project found in SOJOURN_MODELS={tmp_path}"):
        find_project()


def test_fingerprint_follows_the_models(tmp_path: Path) -> None:
    project = tmp_path / "models"
    (project / "target").mkdir(parents=True)
    (project / "a.sql").write_text("select 1")
    lake = Lake(tmp_path / "lake")
    before = inputs_fingerprint(lake, project)
    (project / "target" / "compiled.sql").write_text("select 1")
    assert inputs_fingerprint(lake, project) == before
    (project / "a.sql").write_text("select 2")
    assert inputs_fingerprint(lake, project) != before


def test_fingerprint_follows_the_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "statistics" / "__init__.py"
    source.parent.mkdir()
    source.write_text("LEVEL = 0.95")
    monkeypatch.setattr(sojourn_statistics, "__file__", str(source))
    lake = Lake(tmp_path / "lake")
    before = inputs_fingerprint(lake, tmp_path / "models")
    source.write_text("LEVEL = 0.9")
    assert inputs_fingerprint(lake, tmp_path / "models") != before


@pytest.fixture
def without_dbt(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process in which dbt cannot be imported."""
    module = tmp_path / "without" / "dbt" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text("raise ModuleNotFoundError('dbt is not installed')")
    return {**os.environ, "PYTHONPATH": str(module.parents[1])}


def write_project(folder: Path, repository: Path, *planted: dict[str, str]) -> None:
    """Write a project as a wheel has it, with its compiled statements and some that are planted."""
    shutil.copytree(repository / "models", folder, ignore=shutil.ignore_patterns("target", "logs"), dirs_exist_ok=True)
    compiled_project(repository / "models", "duckdb")
    document = json.loads((repository / "models" / "target" / bundled_name("duckdb")).read_bytes())
    document |= {"fingerprint": project_fingerprint(folder), "statements": [*document["statements"], *planted]}
    (folder / bundled_name("duckdb")).write_text(json.dumps(document))


@pytest.mark.integration
def test_a_project_of_a_wheel_builds_without_dbt_and_a_failing_test_publishes_nothing(
    tmp_path: Path, repository: Path, sample: Path, without_dbt: dict[str, str]
) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    var, project = tmp_path / "var", tmp_path / "models"
    write_project(project, repository)
    environment = {**without_dbt, "SOJOURN_MODELS": str(project), "SOJOURN_VAR": str(var)}
    subprocess.run([str(SOJOURN), "ingest", str(run)], env=environment, check=True, capture_output=True)
    subprocess.run([str(SOJOURN), "build"], env=environment, check=True, capture_output=True)
    served = read_pointer(var / "snapshots")

    planted = {"name": "planted_failure", "kind": "test", "path": "tests/planted_failure.sql"}
    (project / "tests" / "planted_failure.sql").write_text("select 1 as planted")
    write_project(project, repository, {**planted, "sql": "select 1 as planted", "relation": "tests.planted_failure"})
    failed = subprocess.run([str(SOJOURN), "build"], env=environment, check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "error: planted_failure fails at 1 row: planted 1; nothing was published" in failed.stderr
    assert read_pointer(var / "snapshots") == served

    # Of files that came since, one may be at fault: it can be taken out.
    other = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep2"
    subprocess.run([str(SOJOURN), "ingest", str(other)], env=environment, check=True, capture_output=True)
    failed = subprocess.run([str(SOJOURN), "build"], env=environment, check=False, capture_output=True, text=True)
    assert f"the previous build is still served, without {other}/" in failed.stderr
    assert "and 4 more; to take a file out of the lake, run `sojourn maintain expire --source FILE`" in failed.stderr
    expire = [str(SOJOURN), "maintain", "expire", "--source", os.path.relpath(other)]
    no_path = subprocess.run([*expire[:-1], ""], env=environment, check=False, capture_output=True, text=True)
    assert (no_path.returncode, "give the path of a file or folder" in no_path.stderr) == (2, True)
    of_capture = [*expire[:-1], f"{other}/before.pcap.xz", "--dry-run"]
    capture = subprocess.run(of_capture, env=environment, check=True, capture_output=True, text=True)
    assert f"{other}/before.pcap.xz+after.pcap.xz: " in capture.stdout
    shown = subprocess.run([*expire, "--dry-run"], env=environment, check=True, capture_output=True, text=True)
    assert f"{other}/manifest.json: " in shown.stdout
    assert Lake(var / "lake").values("run", "run_id") == {run.name, other.name}
    subprocess.run([*expire, "--yes"], env=environment, check=True, capture_output=True)
    subprocess.run([str(SOJOURN), "ingest", str(other)], env=environment, check=True, capture_output=True)
    assert Lake(var / "lake").values("run", "run_id") == {run.name}

    # Models that are changed need the compiler.
    (project / "tests" / "planted_failure.sql").write_text("select 2 as planted")
    failed = subprocess.run([str(SOJOURN), "build"], env=environment, check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "are not compiled, and dbt is not installed: pip install 'sojourn[dbt]'" in failed.stderr


@pytest.mark.integration
def test_the_same_files_give_the_same_build_in_another_lake(tmp_path: Path, sample: Path) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    builds = []
    for name in ("first", "second"):
        var = tmp_path / name
        environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one key for both"}
        for command in (["ingest", str(run)], ["build"]):
            subprocess.run([str(SOJOURN), *command], env=environment, check=True, capture_output=True)
        builds.append(read_pointer(var / "snapshots"))
    assert builds[0] is not None
    assert builds[1] is not None
    assert builds[0].build_id == builds[1].build_id


@pytest.mark.integration
def test_a_host_is_forgotten_once_the_build_is_served_and_then_from_warehouse_and_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, copy, app = Paths(tmp_path / "var"), Paths(tmp_path / "copy"), application()
    (tmp_path / "data").mkdir()
    write_hosts(tmp_path / "data", "8.8.8.8", "9.9.9.9")
    arguments = ["forget", "8.8.8.8", "--yes", "--var"]
    assert CliRunner().invoke(app, ["ingest", str(tmp_path / "data"), "--var", str(paths.var)]).exit_code == 0

    def publish(*given: Any, **named: Any) -> tuple[str, bool]:
        refused = CliRunner().invoke(app, [*arguments, str(paths.var)])
        assert refused.exit_code == 1
        assert refused.stderr.startswith("error: another command is reading ")
        return publish_snapshot(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr("sojourn_transforms.build.publish_snapshot", publish)
        before = build(paths, lambda _: None).build_id
    assert not paths.forgotten.exists()
    assert CliRunner().invoke(app, [*arguments, str(paths.var)]).exit_code == 0
    with duckdb.connect(str(paths.warehouse)) as connection:
        connection.execute("create table of_the_host as select 1 as n")
    # In a copy, every snapshot is younger than the list.
    shutil.copytree(paths.var, copy.var)
    future_s = time.time() + 3600
    os.utime(copy.snapshots / before, (future_s, future_s))
    report = build(copy, lambda _: None)
    assert {path.name for path in copy.snapshots.iterdir()} == {"CURRENT", report.build_id}
    assert report.build_id != before
    with duckdb.connect(str(copy.warehouse)) as connection:
        tables = connection.execute("select table_name from duckdb_tables()").fetchall()
    assert ("of_the_host",) not in tables
    add_to_list(copy.forgotten, fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={}, pending="key-1")
    (warning,) = build(copy, lambda _: None).warnings
    assert "rows of this host may be left" in warning
    again = build(copy, lambda _: None)
    assert (again.built, again.warnings) == (False, [warning])


def test_a_bound_of_memory_is_kept_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    def make_a_table(memory: str) -> None:
        with open_warehouse(tmp_path / "warehouse.duckdb", memory) as connection:
            connection.execute("create or replace table numbers as select range as n from range(10000)")

    with pytest.raises(duckdb.OutOfMemoryException):
        make_a_table("1KB")
    make_a_table("1GB")
    with pytest.raises(typer.BadParameter, match="'much' is not an amount of memory; expected one such as 8GB"):
        engine_of("duckdb", Paths(tmp_path), None, None, memory="much")
    with pytest.raises(typer.BadParameter, match=r"spark\.driver\.memory"):
        engine_of("spark", Paths(tmp_path), None, None, memory="8GB")


def test_one_build_at_a_time(tmp_path: Path, sample: Path) -> None:
    var = tmp_path / "var"
    subprocess.run([SOJOURN, "ingest", "--var", var, min(sample.iterdir())], check=True)
    with (var / "build.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(BuildError, match=r"another build in .* is running; wait for it to end"):
            build(Paths(var), lambda _: None)
