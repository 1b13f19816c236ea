"""Models are compiled on a disk that is full: one line says so, and not the log of dbt for each of its lines."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
