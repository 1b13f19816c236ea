"""Options of Java by what the user gives and what the kernel has; parts of files by the memory of a task."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn_transforms.spark import session as spark_session_module
from sojourn_transforms.spark.engine import _of_a_small_lake
from sojourn_transforms.spark.java_options import JAVA_VARIABLES, executor_options, local_options, part_mib


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*JAVA_VARIABLES, "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("collector", ["-XX:+UseG1GC", "-Xss4m -XX:+UseZGC", "-XX:+UseSerialGC"])
def test_no_second_collector_is_named(collector: str) -> None:
    assert executor_options(collector) == "-XX:+UseTransparentHugePages"


def test_executors_have_large_pages_and_a_collector_that_stops_all_threads() -> None:
    assert executor_options("-Xss4m") == "-XX:+UseTransparentHugePages -XX:+UseParallelGC"


@pytest.mark.parametrize(
    ("kinds", "has_large_pages"),
    [("always [madvise] never\n", True), ("[always] madvise never\n", True), ("always madvise [never]\n", False)],
)
def test_this_machine_has_large_pages_where_its_kernel_has(tmp_path: Path, kinds: str, has_large_pages: bool) -> None:
    (tmp_path / "enabled").write_text(kinds)
    options = local_options("", tmp_path / "enabled").split()
    assert options == [*["-XX:+UseTransparentHugePages"] * has_large_pages, "-XX:+UseParallelGC"]


def test_a_kernel_without_large_pages_is_not_asked_for_them(tmp_path: Path) -> None:
    assert local_options("", tmp_path / "enabled") == "-XX:+UseParallelGC"


@pytest.mark.parametrize(
    ("memory", "cores", "mib"),
    # Half of 0.6 (heap - 300 MiB) for each core, between 32 and 512 MiB.
    [("4096m", 2, 512), ("2g", 2, 262), ("1G", 1, 217), ("4gb", 64, 32), ("1048576k", 1, 217), (str(2**30), 1, 217)],
)
def test_a_part_is_half_of_what_a_task_has(memory: str, cores: int, mib: int) -> None:
    assert part_mib(memory, cores) == mib


@pytest.mark.parametrize("memory", ["", "much", "4 g", "-1g", "4x"])
def test_what_is_no_size_is_refused(memory: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size such as 8g"):
        part_mib(memory, 2)


@pytest.mark.parametrize("name", JAVA_VARIABLES)
def test_a_collector_of_the_environment_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "-XX:+UseZGC")
    assert local_options("", tmp_path / "enabled") == ""
    assert "GC" not in _of_a_small_lake({})["spark.driver.defaultJavaOptions"]


def test_the_builds_of_small_lakes_leave_the_collector_to_the_user() -> None:
    assert "-XX:+UseSerialGC" in _of_a_small_lake({})["spark.driver.defaultJavaOptions"]
    configuration = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC"}
    assert "GC" not in _of_a_small_lake(configuration)["spark.driver.defaultJavaOptions"]


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"])
def test_where_settings_may_stand_elsewhere_none_of_ours_takes_their_place(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert spark_session_module.is_set_elsewhere()
    assert _of_a_small_lake({}) == {}


@pytest.mark.parametrize(("master", "cores"), [("local[3]", 3), ("local[5,2]", 5), ("local", 1), ("local[*]", None)])
def test_the_master_says_how_many_tasks_run_at_a_time(master: str, cores: int | None) -> None:
    assert spark_session_module._cores(master) == (cores or os.cpu_count())
