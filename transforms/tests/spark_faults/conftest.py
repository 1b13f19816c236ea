"""A cluster of this machine and the lakes that tests of faults compare with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from transforms.tests.spark_faults.commands import finish, start


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[object]:
    """Hold a master and two workers of one core."""
    from infra.spark.standalone_cluster import StandaloneCluster

    with StandaloneCluster(tmp_path / "cluster") as running:
        yield running


def one_block(sample: Path) -> list[Path]:
    """Return one run of each configuration."""
    return sorted(sample.glob("*_rep1"))


@pytest.fixture(scope="module")
def expected(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose lake was made without Spark."""
    var = tmp_path_factory.mktemp("threads")
    finish(start(var, "ingest", *one_block(sample)))
    return var
