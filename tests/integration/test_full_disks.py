"""Commands on a disk that is full: one line says so, nothing unfinished stays, and the next try completes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_transforms.warehouse import open_warehouse

from .test_faults import fill, small_disk

pytestmark = [pytest.mark.integration, pytest.mark.privileged]

COMPILE = """
import sys
from pathlib import Path
from sojourn_transforms.dbt.compilation import compile_project
from sojourn_transforms.running.statements import ModelError
try:
    compile_project(Path(sys.argv[1]), "duckdb")
except ModelError as error:
    print(error)
"""


def test_models_that_cannot_be_compiled_for_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as project:
        (project / "models").mkdir()
        (project / "models" / "one.sql").write_text("select 1 as one")
        (project / "dbt_project.yml").write_text('name: sojourn\nversion: "1.0.0"\nprofile: sojourn\n')
        (project / "profiles.yml").write_text('sojourn: {target: a, outputs: {a: {type: duckdb, path: ":memory:"}}}\n')
        fill(project)
        done = subprocess.run(
            [sys.executable, "-c", COMPILE, str(project)], check=True, text=True, capture_output=True, cwd=tmp_path
        )
    assert done.stdout.count("\n") == 1
    assert os.strerror(errno.ENOSPC) in done.stdout
    # Which models are compiled, and that it takes a while.
    assert len(done.stderr.splitlines()) == 1, done.stderr


SOJOURN = Path(sys.executable).parent / "sojourn"
PING = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1.1 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=1.2 ms
"""


def leave_free(disk: Path, free_bytes: int) -> None:
    there = os.statvfs(disk)
    (disk / "rest").write_bytes(bytes(there.f_bavail * there.f_frsize - free_bytes))


@pytest.mark.parametrize("free_bytes", [4_096, 100_000, 300_000])
def test_a_build_on_a_full_disk_is_one_line_and_can_be_run_again(tmp_path: Path, free_bytes: int) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    # Several files of a table are copied into the warehouse before any model runs.
    for number in range(2):
        (inputs / f"{number}.txt").write_text(PING.replace("1.2", f"1.{number}"))
    with small_disk(tmp_path / "disk", 2048) as disk:
        subprocess.run([SOJOURN, "ingest", inputs, "--var", disk], check=True, capture_output=True)
        leave_free(disk, free_bytes)
        argv = [SOJOURN, "build", "--force", "--ignore-disk", "--var", disk]
        done = subprocess.run(argv, check=False, text=True, capture_output=True)
        errors = [line for line in done.stderr.splitlines() if not line.startswith("build: ")]
        assert done.returncode == 1
        assert len(errors) == 1, done.stderr
        assert os.strerror(errno.ENOSPC) in errors[0]
        (disk / "rest").unlink()
        # What there is of the warehouse can be opened.
        with open_warehouse(disk / "warehouse" / "warehouse.duckdb", None) as connection:
            connection.execute("show all tables")


def test_a_look_on_a_full_disk_leaves_no_table(tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    with small_disk(tmp_path / "disk", 64) as disk:
        leave_free(disk, 12_288)
        argv = [SOJOURN, "look", tmp_path / "ping.txt", "--out", disk / "page.html", "--parquet", disk / "tables"]
        done = subprocess.run(argv, check=False, text=True, capture_output=True)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert f"{os.strerror(errno.ENOSPC)}; free some space" in done.stderr
        assert [path.name for path in disk.iterdir()] == ["rest"]
