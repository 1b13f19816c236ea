"""A cluster of this machine and the lakes that tests of faults compare with."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from transforms.tests.spark_faults.commands import finish, start


def program(repository: Path, name: str) -> ModuleType:
    """Return one of the programs of infra/spark as a module."""
    path = repository / "infra" / "spark" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def standalone(repository: Path) -> ModuleType:
    """Return the program that runs a cluster."""
    return program(repository, "standalone_cluster")


@pytest.fixture(scope="session")
def event_log(repository: Path) -> ModuleType:
    """Return the program that reads event logs."""
    return program(repository, "event_log")


@pytest.fixture
def cluster(standalone: ModuleType, tmp_path: Path) -> Iterator[object]:
    """Hold a master and two workers of one core."""
    with standalone.StandaloneCluster(tmp_path / "cluster") as running:
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
